# Operands of every type from the sweep to the table, on the stub driver and the stub cuBLASLt.
need_stub
kernels=(--kernels-dir "$ROOT/tests/gpu/typed" --kernels typed)
t --shape 96x80x64:bf16 "${kernels[@]}" --budget 3 --rows 1
printf '96x80x64\n40x24x32:f32:nt:lda=64\n' > set.txt
for type in bf16 s8; do
    t bench set.txt --dtype $type "${kernels[@]}" --budget 1 --rounds 5 --csv $type.csv -q | grep -v "^  incumbent"
done
cut -d, -f2-8 -- *.csv | grep ',n[nt],'
other() {
    "$TUNE" bench set.txt --dtype "$1" "${kernels[@]}" --budget 1 --rounds 5 --csv "$1.csv" --db other.db -q | grep -oE '^[a-z0-9]+: [0-9] compared'
    cut -d, -f2-8 "$1.csv" | grep ',n[nt],'
}
for type in f16 tf32 e4m3; do
    whole other $type
done
# Other operands while timing: kept as times of another device, and found only there.
t --shape 96x80x64:bf16 "${kernels[@]}" --budget 3 --rows 1 --dist zeros -q | head -n 1
t export --format md | cut -d'|' -f2-3 # which kernel wins is the stub's clock's choice
t export --format shipped | grep -c bf16
t lookup 96x80x64:bf16 --arch sm_90 --kernels-dir "$ROOT/tests/gpu/typed" | grep 'tuned for'
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --device predict:sm_86 --budget 1 -n 1 --dist zeros
t --shape 96x80x64 --dist gaussian

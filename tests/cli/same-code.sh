# Rows of an older text taken over without a GPU where both texts give the same machine code.
need_nvrtc
mkdir -p older/configs/kernels
cp -R "$ROOT/templates" older/templates
cp -R "$ROOT"/configs/{devices,formulas} older/configs/
cp "$ROOT/configs/kernels/"simt_{thread1d,naive}.json older/configs/kernels/
chmod -R u+w older
cp -R older today
export GEMMTUNE_DATA=$PWD/today
template=today/templates/simt/thread1d.cu description=today/configs/kernels/simt_thread1d.json
again() { # today's data folder as it was
    rm -rf today
    cp -R older today
}
table() { t recheck --adopt --same-code older --jobs 1 --system-db rows.csv --output out.csv "$@"; }
short() { table | sed 's/ *simt_thread1d BM=.*//'; }
tier() (
    unset GEMMTUNE_DB # the sweeps above are in it
    t lookup 64x64x64 --arch sm_90 --system-db "$1" --json | grep '"tier"'
)
values=BM=64,BN=64,BK=8,TM=8,MIN_BLOCKS=1
for shape in 64x64x64 96x80x64; do
    t --arch sm_90 --shape $shape --kernels simt_thread1d --strategy exhaustive --values $values -q >/dev/null
done
t --arch sm_90 --shape 32x32x32 --kernels simt_naive --budget 1 -q >/dev/null
t export --format shipped --output rows.csv
t --device predict:h100 --shape 64x64x64 --kernels simt_thread1d --strategy exhaustive --values $values --db h100.db -q >/dev/null
t export --db h100.db --format shipped --output h100.csv
# Nothing has changed.
table
cmp rows.csv out.csv
# A feature that is off.
printf '\n#if 0\nint unused_feature;\n#endif\n' >>$template
tier rows.csv
table
tier out.csv
# A parameter whose default leaves it off.
printf '\n#if FEATURE\nint used_feature;\n#endif\n' >>$template
sed -i 's/^  "params": \[/&\n    {"name": "FEATURE", "values": [0, 1], "default": 0, "kind": "compile", "doc": "a feature"},/' $description
table --json | grep -v '"device"'
grep -c 'FEATURE=0,' out.csv
others() { sed '1,2d; s/"[^"]*"/POINT/' "$1" | cut -d, -f1-5,7-; } # all but the digest and the point
cmp <(others rows.csv) <(others out.csv) && echo "the rest of the rows is as it was"
# A device whose figures the profile of its arch lists beside its own.
cut -d, -f3 h100.csv | tail -1
t recheck --adopt --same-code older --jobs 1 --system-db h100.csv --output out.csv
# One instruction is another; the same code with other launches, with a constraint.
again
sed -i 's/, b_value, /, -b_value, /' $template
short
cmp rows.csv out.csv
again
sed -i 's/"grid": \["/&1 + /' $description
short
again
sed -i 's/"block": \["THREADS"/"shared": "4096", &/' $description
short
again
sed -i 's/^  "constraints": \[/&\n    {"if": "BM * M < 4096", "kind": "must", "why": "few rows"},/' $description
short
again
sed -i 's/^  "constraints": \[/&\n    {"if": "BM * M < 8192", "kind": "must", "why": "rows"},/' $description
short
again
# A tensor map more, which is used or not.
map() { # $1: which operand's, $2: when it is used, $3 and $4: its rows and columns
    echo '{"name": "'$1'", "operand": "'$1'", "when": "'$2'", "dims": ["'$3'", "'$4'", "BATCH"],' \
        '"strides": ["'$3' * SIZE_IN", "'$3' * '$4' * SIZE_IN"], "box": [16, 8, 1]}'
}
maps() { # today's text with these
    again
    sed -i 's|^  "launches": \[|  "tensor_maps": ['"$1"'],\n&|; s|{"entry": "gemm", |&"maps": true, |' $description
}
maps "$(map a 1 K M)"
cp -R today mapped
t --arch sm_90 --shape 64x64x64 --kernels simt_thread1d --strategy exhaustive --values $values --db mapped.db -q >/dev/null
t export --db mapped.db --format shipped --output mapped.csv
for used in 0 1; do
    maps "$(map a 1 K M), $(map b $used N K)"
    t recheck --adopt --same-code mapped --jobs 1 --system-db mapped.csv --output out.csv | sed 's/ *simt_thread1d BM=.*//'
done
again
rm $description
short
again
echo '#error "not to be compiled"' >>$template
short
# A database, whose rows the stub driver has measured.
again
stubbed() (
    need_stub
    t "$@"
)
for shape in 64x64x64 96x80x64; do
    stubbed --shape $shape --kernels simt_thread1d --strategy exhaustive --values $values --db m.db -q >/dev/null
done
printf '\n#if FEATURE\nint used_feature;\n#endif\n' >>$template
sed -i 's/^  "params": \[/&\n    {"name": "FEATURE", "values": [0, 1], "default": 0, "kind": "compile", "doc": "a feature"},/' $description
t recheck --adopt --same-code older --jobs 1 --db m.db
t lookup 64x64x64 --arch sm_90 --db m.db --json | grep -E '"(tier|point|contested)"'
t export --db m.db --format csv | cut -d, -f1,5,9,10
t recheck --adopt --same-code older --jobs 1 --db m.db
# Folders, tables and options that are not right.
t recheck --adopt --same-code nowhere --db m.db
mkdir -p broken/configs/kernels
cp older/configs/kernels/simt_naive.json broken/configs/kernels
t recheck --adopt --same-code broken --db m.db
sed -i 's/"doc"/doc/' broken/configs/kernels/simt_naive.json
t recheck --adopt --same-code broken --db m.db
t recheck --adopt --same-code today --system-db rows.csv --output out.csv | sed 's/ *simt_thread1d BM=.*//'
t recheck --adopt --same-code older --system-db m.db --output out.csv
sed 's/thread1d/thread2d/' rows.csv >damaged.csv
t recheck --adopt --same-code older --system-db damaged.csv --output out.csv
t recheck --adopt --same-code older --system-db rows.csv
t recheck --adopt --same-code older --output out.csv
t recheck --adopt --same-code older --system-db rows.csv --output nowhere/out.csv
t recheck --adopt --same-code older --limit 3
t recheck --same-code older
t recheck --adopt --output out.csv

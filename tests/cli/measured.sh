# The measured path, on a driver, compiler and cuBLASLt that tests/faults builds for the purpose.
need_stub
sweep=(--shape 96x80x64 --kernels simt_thread1d --budget 4)
t "${sweep[@]}" --rows 2
t "${sweep[@]}" --rows 1 --arch sm_90 -q
t "${sweep[@]}" --arch sm_86 --device cuda
t "${sweep[@]}" --device cuda:7
t bench --shape 96x80x64 --rounds 5 --csv bench.csv
cat bench.csv
t bench --shape 64x80x96 --budget 2 --rounds 5 --kernels simt_thread1d -q
rungs() {
    t ladder --shape 96x80x64 --trials 1 --csv ladder.csv --db ladder.db -q | grep -E '^rung|^ .* (simt|blocked)' | grep -v reported
    sed -n 2p ladder.csv
}
whole rungs
t export -q
t lookup 96x80x64 --arch sm_90
t --arch sm_86 --shape 96x80x64 --kernels simt_thread1d --budget 2 --rows 1
t export -q --all --measured | grep -c ',96,80,64,1,simt_thread1d,'
# cuBLASLt's own algorithm as a candidate: look-up tells both, --kernels leaves it out.
fast() { STUB_CUBLASLT_US=0.5 t "$@"; }
fast --shape 40x24x32 --kernels simt_thread1d,cublaslt --budget 4 -q > /dev/null
fast --shape 48x24x32 --kernels simt_thread1d --budget 4 -q > /dev/null
t lookup 40x24x32 48x24x32 --arch sm_90 | grep -E '^[0-9]|kernel|cuBLASLt'
fast bench --rounds 5 --shape 40x24x32 --shape 48x24x32 -q | grep -E '^[0-9]|best of'
t --shape 40x24x32 --kernels cublaslt -q
# A GPU of another arch: what to leave out is named only where it was given and would help.
t recheck --arch sm_86
t --devices all --arch sm_86 --shape 96x80x64 -q

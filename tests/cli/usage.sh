# Words that mean nothing: one sentence that says so, a near word, exit code 2.
t
t sho
t sohw
t frobnicate
t --shap0 64x64x64
t --hlep
t --layout up --shape 64x64x64
t --jobs 0 --shape 64x64x64
t --jobs
t --budget soon --arch sm_86 --shape 64x64x64
t list
t list kernels kernels
t list colours
t show
t merge
t --arch '' --shape 64x64x64
t --arch sm_86 --shape 64x64x64 --kernels ,
t --arch sm_86 --shape 64x64x64 more
t --arch sm_86 --shape "$(printf '64\033[31mx1x1')" 2>&1 | tail -n 2
t 64x64x64 --arch sm_86 --kernels simt_naive --budget 1 -q
# Options that mean nothing without another one; a list on standard input is called so.
for option in --compile-only "--lease 5" --stay "--ahead 3" "--silence 5"; do
    # shellcheck disable=SC2086 # words
    t --arch sm_86 --shape 64x64x64 --kernels simt_naive $option
done
t --arch sm_86 --shapes -
t --arch sm_86 --shapes /dev/null
echo 64x64 | "$TUNE" --arch sm_86 --shapes - 2>&1

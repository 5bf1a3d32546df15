# Calls that were interrupted are made again: file systems in user space and on networks answer EINTR where they like.
need_stub
library=$BUILD/tests/faults/interrupted.so
[[ -e $library ]] || skip "the library that interrupts calls is not built"
ldd "$TUNE" | grep -qE 'lib(a|ub|t)san' && skip "a library cannot be preloaded before a sanitizer's"
cp "$library" again.so # LD_PRELOAD takes no path with a blank
tune() { echo "\$ tune $1"; LD_PRELOAD=$PWD/again.so "$TUNE" "$@" > out 2> said; echo "[exit $?]"; cat said; }
export GEMMTUNE_CACHE=$PWD/cache
tune --shape 64x64x64 --kernels simt_naive --budget 4 --db x.db -q
tune merge x.db --db y.db -q
tune export --db x.db -o x.csv -q
tune export --db x.db --format db -o z.db -q
tune report --db x.db --html x.html -q
tune bench --shape 64x64x64 --db x.db --csv bench.csv -q
tune lookup 64x64x64 --arch sm_90 --db x.db -q
tune list kernels -q
tune doctor --predictor --learn own.ranking --db x.db -q
echo 64x64x64:f32:nn > set.txt
tune capture --merge set.txt -o shapes.txt -q
ls ./*.csv ./*.db ./*.html

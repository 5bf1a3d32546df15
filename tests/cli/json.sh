# The documents of --json, by their keys: on the stub driver, which measures.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export GEMMTUNE_LOCKS=$PWD # the lock of the stub device is this test's own
keys() { grep -oE '"[a-z_0-9]+":|^!.*|^\[exit.*' | LC_ALL=C sort -u | paste -sd' ' | fold -sw 100 | sed 's/ *$//'; }
t --shape 96x80x64 --kernels simt_thread1d --budget 2 --db one.db -q --json | keys
t bench --shape 96x80x64 --shape 32x32x32 --db one.db -q --json | keys
t ladder --shape 96x80x64 --trials 1 --db two.db -q --json | keys
t recheck --db one.db -q --json | keys
t merge one.db --db two.db --json -q | sed 's/"trials":.*/"trials": N/'
t show simt_naive --arch sm_90 --json | keys
t show simt_warptile VEC=4 --problem 1000x1001x1002 --no-compile --json | tail -n 3
cp -r "$ROOT/tests/unit/data/mapped" mapped
t show mapped --kernels-dir mapped --arch sm_90 --no-compile --json | sed -n '/tensor_maps/,$p' | keys

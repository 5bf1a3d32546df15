# Stored winners timed again, on the stub driver: held, lost, failed, absent.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export GEMMTUNE_LOCKS=$PWD # the lock of the stub device is this test's own
t recheck
t --shape 96x80x64 --shape 64x64x64 --kernels simt_thread1d --budget 12 -q >/dev/null
t recheck --csv all.csv
cut -d, -f1-3,5 all.csv
t recheck --limit 1 -q --json | grep -vE '"(point|.*us|margin.*)"'
t recheck --shape 96x80x64 --runners-up 1 -q
t recheck --shape 32x32x32 -q
t recheck --device predict:sm_90 -q
# A driver that makes other kernels fast: of the two winners one has lost, by far.
STUB_MOOD=2 t recheck -q
# A mood of one process only: the claim that a winner has lost is not confirmed by the next.
STUB_MOOD=2 STUB_MOOD_ONCE=$PWD/mood t recheck -q --csv once.csv
cut -d, -f2,3 once.csv && sed 's/.*,//' once.csv

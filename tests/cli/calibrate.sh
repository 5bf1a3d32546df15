# What a GPU reaches, on the stub driver, whose launches of such kernels all take 2 us.
stub=$BUILD/stub
[[ -e $stub/libcuda.so.1 ]] || skip "the stub driver is not built"
GEMMTUNE_LIBCUDA=$PWD/none t doctor --calibrate
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export GEMMTUNE_LOCKS=$PWD # the lock of the stub device is this test's own
export STUB_MEMORY=$((256 << 20))
t doctor --calibrate --device predict:sm_90
t doctor --calibrate
t doctor --calibrate --json | grep -A 3 '"copy"'
t doctor | grep -A 4 calibrated
# Without such instructions.
STUB_CC=75 t doctor --calibrate | grep mma

# What a GPU reaches, on the stub driver, whose launches of such kernels all take 2 us.
need_stub
GEMMTUNE_LIBCUDA=$PWD/none t doctor --calibrate
export STUB_MEMORY=$((256 << 20))
t doctor --calibrate --device predict:sm_90
t doctor --calibrate
t doctor --calibrate --json | grep -A 3 '"copy"'
t doctor | grep -A 4 calibrated
# Without such instructions.
STUB_CC=75 t doctor --calibrate | grep mma

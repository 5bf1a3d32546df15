# tune try takes the nearest valid point where the default or the named one is not valid, and says so.
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
export GEMMTUNE_LIBNVRTC=$PWD/none.so
try() {
    "$TUNE" try "$@" > out 2> log
    echo "[exit $?]"
    grep -oE 'the point is not valid on sm_[0-9]+|nearest valid point is tried|BM=[0-9]+,BN=[0-9]+|verdict .*' log out | sed 's/^[a-z]*://'
}
# Odd sizes: the default point's loads are too wide.
try mma --problem 77x33x19:f16:tn --on cpu
need_stub # the same on a device, which has it in a fiftieth of the time
# What is named stays, if it can.
try mma BM=64,BN=128 --problem 77x33x19:f16:tn --json
python3 -c 'import json; d = json.load(open("out")); print(d["status"], "COPY_C=2" in d["changed"], "BM=64,BN=128" in d["point"])'
# A whole point that is not valid, likewise.
whole=$(sed -E 's/.*"point":\s*"([^"]*)".*/\1/p' -n out)
try mma "${whole/COPY_C=2/COPY_C=16}" --problem 77x33x19:f16:tn -q
# Nothing is changed of a valid one.
try simt_thread1d --problem 16x16x16

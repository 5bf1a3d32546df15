# tune try: one candidate, in the emulator and on the stub driver; kernels that are not right.
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
export GEMMTUNE_LIBNVRTC=$PWD/none.so # what it says does not depend on a compiler for GPUs
awk '/^```/ { inside = !inside; fresh = inside; next }
     inside && fresh { fresh = 0; target = ""; if ($1 == "//" && $2 == "file:") { target = $3; next } }
     inside && target != "" { system("mkdir -p own"); sub(".*/", "own/", target); print > target }' "$ROOT/configs/README.md"
variant() { mkdir "$1" && cp own/* "$1" && sed -i "$2" "$1/rows.cu"; }
variant swapped 's/gt_offset_b(args, k, column)/gt_offset_b(args, column, k)/'
variant beyond 's/gt_offset_b(args, k, column)/gt_offset_b(args, k + 1, column)/'
variant broken 's/fmaf(/fmax3(/'
try=(try rows --problem 512x512x512 --on cpu)
t "${try[@]}" --kernels-dir own
t try rows ROWS=8 --problem 60x70x50:f32:tt:beta=1:epi=relu --on cpu --kernels-dir own
t "${try[@]}" --kernels-dir swapped
t "${try[@]}" --kernels-dir beyond
t "${try[@]}" --kernels-dir broken
mkdir bet && cp own/* bet && sed -i 's/{"if": "THREADS < 2/{"if": "M >= 512", "kind": "bet", "why": "for many rows"}, &/' bet/rows.json
t "${try[@]}" --kernels-dir bet # bets leave no small problem: they do not count
t try rows --problem 8x512x512 --on cpu --kernels-dir bet
t "${try[@]}" --kernels-dir own --json
t "${try[@]}" --kernels-dir own --keep kept -q | tail -n 1
(cd kept && ls)
CXX=/no/compiler t "${try[@]}" --kernels-dir own
t try rows --problem 8x8x8 --on cpu --kernels-dir own
t try rows --problem 8x8x8:f16 --on cpu --kernels-dir own
t try rows --on cpu
t try simt_naive --problem 64x64x64
stub=$BUILD/stub
export GEMMTUNE_LIBCUDA=$stub/libcuda.so.1 GEMMTUNE_LIBNVRTC=$stub/libnvrtc.so.13
export GEMMTUNE_LIBCUBLASLT=$stub/libcublasLt.so.13 GEMMTUNE_LIBNVML=$stub/libnvidia-ml.so.1
export GEMMTUNE_LOCKS=$PWD # the lock of the stub device is this test's own
t try simt_thread1d --problem 96x80x64
t try simt_thread1d --problem 96x80x64 --device predict:sm_86
t try planted FAULT=3 --kernels-dir "$ROOT/tests/faults/kernels" --problem 96x80x64

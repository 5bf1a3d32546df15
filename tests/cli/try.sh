# tune try: one candidate, in the emulator and on the stub driver; kernels that are not right.
[[ -x $BUILD/gemmtune-emulate ]] || skip "the emulator is not built"
export GEMMTUNE_LIBNVRTC=$PWD/none.so # what it says does not depend on a compiler for GPUs
awk '/^```/ { inside = !inside; fresh = inside; next }
     inside && fresh { fresh = 0; target = ""; if ($1 == "//" && $2 == "file:") { target = $3; next } }
     inside && target != "" { system("mkdir -p own"); sub(".*/", "own/", target); print > target }' "$ROOT/configs/README.md"
sed -i '/"THREADS"/s/"default": 128/"default": 32/' own/rows.json # the emulator takes half the time
variant() { mkdir "$1" && cp own/* "$1" && sed -i "$2" "$1/rows.cu"; }
variant swapped 's/gt_offset_b(args, k, column)/gt_offset_b(args, column, k)/'
variant beyond 's/gt_offset_b(args, k, column)/gt_offset_b(args, k + 1, column)/'
variant broken 's/fmaf(/fmax3(/'
# What templates of one's own have: plain __shared__, and a variable that nothing uses.
shared() { variant "$1" 's/^    float acc/    __shared__ float row[THREADS]; int unused;\n&/; s/float value = \(.*\);/row['"$2"'] = \1; float value = row['"$2"'];/'; }
shared plain threadIdx.x
shared outside 'threadIdx.x + 1'
shared clusters threadIdx.x && sed -i 's/"cdiv(M, ROWS) \*.*)"/"2 * cdiv(M, ROWS) * cdiv(N, THREADS)"/; s/"block": /"cluster": [2], &/; s/"min_cc": 75/"min_cc": 90/' clusters/rows.json
try=(try rows --problem 512x512x512 --on cpu)
t "${try[@]}" --kernels-dir own
t try rows ROWS=8 --problem 60x70x50:f32:tt:beta=1:epi=relu --on cpu --kernels-dir own
t "${try[@]}" --kernels-dir swapped
t "${try[@]}" --kernels-dir beyond
t "${try[@]}" --kernels-dir broken
t "${try[@]}" --kernels-dir plain
t "${try[@]}" --kernels-dir outside
t "${try[@]}" --kernels-dir clusters --arch sm_90
variant endless 's/k++/k += 0/'
t "${try[@]}" --kernels-dir endless --deadline 1
mkdir bet && cp own/* bet && sed -i 's/{"if": "THREADS < 2/{"if": "M >= 512", "kind": "bet", "why": "for many rows"}, &/' bet/rows.json
whole t try rows --problem 512x96x96 --on cpu --kernels-dir bet # bets leave no small problem: they do not count
t try rows --problem 8x512x512 --on cpu --kernels-dir bet
# Constraints are those of --arch, whose SMs are more than an emulator's; bets are told of.
mkdir many && cp own/* many && sed -i 's/{"if": "THREADS < 2/{"if": "SMS == 82", "kind": "bet", "why": "for RTX 3090"}, &/' many/rows.json
whole t "${try[@]}" --kernels-dir many
t "${try[@]}" --kernels-dir many --arch sm_90
sed -i 's/"SMS == 82", "kind": "bet"/"SMS >= 128"/' many/rows.json
t "${try[@]}" --kernels-dir many | head -n 2
# No GPU has so much static shared memory.
variant large 's/^    float acc/    __shared__ float row[13000]; row[threadIdx.x] = 0; gt_sync();\n&/; s/float value = \(.*\);/float value = \1 + row[threadIdx.x ^ 1];/'
t "${try[@]}" --kernels-dir large
variant tile 's/^    float acc/    GT_STATIC_SHARED(float, tile, [13000]); tile[threadIdx.x] = 0;\n&/'
t "${try[@]}" --kernels-dir tile | tail -n 3
t "${try[@]}" --kernels-dir own --json
t "${try[@]}" --kernels-dir own --keep kept -q | tail -n 1
touch taken
t "${try[@]}" --kernels-dir own --keep taken
(cd kept && ls)
CXX=/no/compiler t "${try[@]}" --kernels-dir own
t try rows --problem 8x8x8 --on cpu --kernels-dir own
t try rows --problem 8x8x8:f16 --on cpu --kernels-dir own
t try rows --on cpu
# alpha and beta are what kernels get, floats; sums that a float cannot have exactly may be rounded, and no more.
scaled() { t try "$1" --problem "96x96x96:$2" --on cpu "${@:3}" | tail -n 3; }
for scale in alpha=0.7:beta=0.3:epi=bias+gelu alpha=16777217 alpha=3e38:beta=-3e38; do scaled rows "$scale" --kernels-dir own; done
for scale in alpha=0.1 alpha=1e20 alpha=1e-40; do whole scaled rows "$scale" --kernels-dir own; done
whole scaled blocked4090 alpha=0.1:beta=0.3 # alpha goes into A
scaled thin_mma s8:alpha=16777216:beta=-2147483648 # integers wrap around
scaled rows alpha=0.1:beta=0.3 --kernels-dir swapped
# Blocks have many tiles of one stage each, or of none: a warp that is late misses no turn.
turns=CONSUMERS=2,PINGPONG=1,BM=64,BN=64,STORE=0,STAGES=8,SPREAD=0,GROUP=1,VEC_C=2
turns() { t try hopper $turns --problem 512x512x64:bf16:nt:alpha="$1" --on cpu --arch sm_90 | tail -n 4; }
turns 1
whole turns 0
variant close 's/, value, acc/, value * 1.0001f, acc/'
scaled rows alpha=0.1 --kernels-dir close
t try simt_naive --problem 64x64x64
need_stub
t try simt_thread1d --problem 96x80x64
t try simt_thread1d --problem 96x80x64 --device predict:h100
t try rows --problem 96x80x64 --kernels-dir bet # as in the emulator: told of, and tried
t try planted FAULT=3 --kernels-dir "$ROOT/tests/faults/kernels" --problem 96x80x64

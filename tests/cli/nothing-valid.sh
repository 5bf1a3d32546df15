# A kernel that does not serve the problem: finished, nothing valid, exit code 4 or the reason.
need_nvrtc
t --arch sm_86 --shape 64x64x64:f16 --kernels simt_naive
t --arch sm_86 --shape 64x64x64:f16 --shape 64x64x64 --kernels simt_naive --budget 2 --rows 1
t --arch sm_86 --shape 64x64x64:f16 --kernels simt_naive -q --json | grep -v point
t lookup 64x64x64:e4m3:out=e5m2 --arch sm_86
# The reason is one of the kernel as it is now: trials of an earlier text do not speak for it.
mkdir mine
sed 's/"simt_naive"/"mine"/' "$ROOT/configs/kernels/simt_naive.json" > mine/mine.json
sed 's/args.m/args.mm/' "$ROOT/templates/simt/naive.cu" > mine/naive.cu
sed -i 's|templates/simt/naive.cu|naive.cu|' mine/mine.json
try() { t --arch sm_86 --shape 32x32x32 --kernels-dir mine --kernels mine --budget 1 -q; }
try
sed -i 's/args.mm/args.mmm/' mine/naive.cu
try
# Too big for the device.
t --arch sm_86 --shape 131072x131072x131072 --kernels simt_naive -q
# Every kernel says why it stays out; those of the ladder take part where production has nothing valid.
mkdir -p data/configs/kernels
cp -r "$ROOT/templates" data
cp -r "$ROOT/configs/devices" data/configs
cp "$ROOT"/configs/kernels/simt_{naive,thin}.json data/configs/kernels
sed 's/"simt_naive"/"odd"/; s/"ladder"/"production"/; /"rung"/d; s/"constraints": \[/&{"if": "N % 2", "why": "odd ones only"},/' \
    "$ROOT/configs/kernels/simt_naive.json" > data/configs/kernels/odd.json
export GEMMTUNE_DATA=$PWD/data
t --arch sm_86 --shape 64x64x64 --kernels odd,simt_thin -q --json | grep '"nothing"'
t --arch sm_86 --shape 64x64x64 --budget 3 --rows 1

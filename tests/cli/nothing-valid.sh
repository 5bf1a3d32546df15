# A kernel that does not serve the problem: finished, nothing valid, exit code 4 or the reason.
need_nvrtc
t --arch sm_86 --shape 64x64x64:f16 --kernels simt_naive
t --arch sm_86 --shape 64x64x64:f16 --shape 64x64x64 --kernels simt_naive --budget 2 --rows 1
t --arch sm_86 --shape 64x64x64:f16 --kernels simt_naive -q --json | grep -v point
t lookup 64x64x64:e4m3:out=e5m2 --arch sm_86
# What no kernel serves is one short sentence, made of the descriptions, wherever it is asked; the reason of each kernel is told with -v.
for asked in "128x128x128:e4m3 --arch sm_86" "512x512x512:bf16 --arch sm_75" "512x512x512:f16 --accuracy f32 --arch sm_89" \
    "512x512x512:f16 --arch sm_86 --kernels hopper,thin_tma" "512x512x512:f16 --arch sm_120 --kernels hopper"; do
    "$TUNE" $asked -q 2>&1 | grep '^tune:'
done
"$TUNE" 128x128x128:e4m3 --arch sm_86 -v 2>&1 | grep -E '(hopper|mma|simt) takes no part'
t lookup 128x128x128:e4m3 --arch sm_86
t lookup 128x128x128:e4m3 --arch sm_86 --json
t bench 128x128x128:e4m3 --arch sm_86 -q
t show hopper --problem 512x512x512:bf16 --arch sm_75
t --arch sm_86 64x64x64:s8:epi=gelu
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
# Two kernels in production and one of the ladder, in a data folder of their own.
mkdir -p own/configs/kernels
cp -r "$ROOT/templates" own/templates
cp -r "$ROOT/configs/devices" own/configs/devices
cp "$ROOT/configs/kernels/simt_naive.json" own/configs/kernels/
produce() { # produce NAME SED-SCRIPT
    sed -e 's/"simt_naive"/"'"$1"'"/; s/"ladder"/"production"/; /"rung"/d' -e "$2" \
        "$ROOT/configs/kernels/simt_naive.json" > "own/configs/kernels/$1.json"
}
produce deep 's/"constraints": \[/&{"if": "K >= 4096", "why": "a planted one"},/'
produce flat 's/"batch": true/"batch": true, "max_m": 8/'
# Every kernel says why it stays out.
GEMMTUNE_DATA=$PWD/own t --arch sm_86 --shape 64x64x64 --kernels deep,flat -q --json | grep '"nothing"'
# The kernels of the ladder take part where those in production have no valid point.
GEMMTUNE_DATA=$PWD/own t --arch sm_86 --shape 96x64x64 --budget 3 --rows 1

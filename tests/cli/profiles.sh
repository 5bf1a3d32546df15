# Every card with a profile is listed, and one without is said to be computed as another, with both
# ones' numbers.
"$TUNE" list devices > list
for name in "RTX 3090 (profile)" "A10 (profile)" "NVIDIA H100 80GB HBM3 (profile)" "L4 (profile)" "RTX 2080 (profile)"; do
    grep -F " $name " list | sed 's/  */ /g'
done
"$TUNE" list devices --json | python3 -c '
import json, sys
devices = json.load(sys.stdin)
names = [d["name"] for d in devices]
print("each once" if len(set(names)) == len(names) and len(names) > 60 else names)
print(sorted({d["cc"] for d in devices if d["standard"]}) == sorted({d["cc"] for d in devices}))
print(next((d["sms"], round(d["fp32_tflops"], 1), round(d["f16_tflops"], 1)) for d in devices if d["name"] == "L4 (profile)"))
'
# One that somebody adds is listed and taken by its name.
data=$GEMMTUNE_DATA
cp -RL "${data:-$ROOT}"/configs configs && ln -s "$ROOT/templates" templates
sed -i 's/"devices": \[/"devices": [{"device": "My A99 (profile)", "sms": 7, "source": "a test"},/' configs/devices/sm_86.json
GEMMTUNE_DATA=$PWD "$TUNE" list devices | grep A99 | sed 's/  */ /g'
for name in "my a99" "my a98"; do GEMMTUNE_DATA=$PWD "$TUNE" lookup 64x64x64 --arch "$name" 2>&1 | grep -oE '^  tier|unknown arch.*a9.'; done
rm -r configs templates
said() { grep -oE 'there is no profile of .*\), with [^;]*'; }
for name in L20 H800 "RTX 2050" "RTX 5000 Ada Generation" "Quadro RTX 8000" "GTX 1650 Ti" "L2" "RTX 4070 Laptop"; do
    "$TUNE" lookup 64x64x64 --arch "$name" | said
done
"$TUNE" show simt_naive --arch L20 --problem 64x64x64 --no-compile 2>&1 > /dev/null | said
"$TUNE" show simt_naive --arch L4 --problem 64x64x64 --no-compile 2>&1 > /dev/null | said
need_nvrtc
"$TUNE" --arch L20 --shape 64x64x64 --kernels simt_naive --budget 1 2>&1 > /dev/null | said
"$TUNE" --device predict:H800 --shape 64x64x64 --kernels simt_naive --budget 1 2>&1 > /dev/null | said
# What is predicted is told with the model's error for that kind of kernel, with no more digits than
# that leaves, and in per cent of the peak.
sweep() { "$TUNE" --arch sm_86 --shape "$1" --kernels "$2" --budget 1 --db p.db -q --json > out; }
sweep 320x320x320:f16 mma
python3 -c 'import json; row = json.load(open("out"))["problems"][0]["candidates"][0]; print(row["predicted"], 1 < row["peak_percent"] < 100, round(row["tflops"] / 71.2 * 100 - row["peak_percent"]))'
"$TUNE" lookup 320x320x320:f16 --arch sm_86 --db p.db | grep -oE 'time +[0-9]{1,2}(\.[0-9])? us, PREDICTED.*' | sed -E 's/ [0-9.]+ us/ N us/'
"$TUNE" lookup 320x320x320:f16 --arch sm_86 --db p.db --json | grep -cE '"peak_percent":'
sweep 320x320x320:f32 simt
"$TUNE" lookup 320x320x320 --arch sm_86 --db p.db | grep -oE 'PREDICTED.*'
for kernel in mma; do
    "$TUNE" show $kernel --problem 512x512x512:f16 --arch sm_86 2> out | grep -oE '^model: .*' | sed -E 's/model: ([0-9]{1,2}0*|[0-9]\.[0-9]+) us/model: N us/; s/; [0-9]+ % of peak, ([0-9]{1,2}0*|[0-9]\.[0-9]+) TFLOP/; N % of peak, N TFLOP/; s/bound.*//'
done
"$TUNE" show simt --problem 512x512x512 --arch sm_86 2> out | grep -oE '^model: .*' | grep -oE 'FP32 cores took [0-9.]+ to [0-9.]+ times|[0-9]+ % of peak' | sed 's/^[0-9]* %/N %/'

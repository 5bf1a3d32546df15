# The main job without a GPU: compiled, ranked, marked as predicted; again: nothing left to do.
need_nvrtc
t --arch sm_86 --shape 512x512x512 --kernels simt_thread2d --budget 12 --rows 3 | sed '/^= cannot be told/d' # ties depend on what was tried
t --arch sm_86 --shape 512x512x512 --kernels simt_thread2d --budget 12 --rows 1 | sed '/^= cannot be told/d'
t --arch sm_86 --shape 512x512x512 --kernels simt_thread2d --budget 12 --json -q | head -n 12
t --device predict:sm_90 --shape 256x256x256:f32:tn --kernels simt_thread2d --epilogue bias+relu --budget 4 -n 1
echo "# a profile of one's own"
sed 's/"RTX 3090 (profile)"/"RTX 3060 (profile)"/; s/"sms": [0-9]*/"sms": 28/' "$ROOT/configs/devices/sm_86.json" > rtx3060.json
t --device predict:rtx3060.json --shape 4096x4096x64 --kernels simt_naive --budget 1 -n 1 -q
sed 's/"cc": 86/"cc": 85/' rtx3060.json > sm_85.json
t --device predict:sm_85.json --shape 64x64x64
t --device predict:none.json --shape 64x64x64
echo "-- the names that --arch takes"
t --device predict:h100 --shape 64x64x64 --kernels simt_naive --budget 1 -n 1 -q
t --device "predict:RTX 4090" --arch ada --shape 64x64x64 --kernels simt_naive --budget 1 -n 1 -q
t --device predict:gtx1080 --shape 64x64x64
t --device predict:milk --shape 64x64x64
echo "-- what is not predicted"
t --device predict:sm_90 --shape 64x64x64 --kernels simt_naive --budget 1 -n 1 --l2 warm -q
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --budget 1 -n 1 --l2 warm -q 2>&1 | sed 's/tried.*/tried PLACES/'
# The model's known error is that of the table which was measured.
awk -F, 'NR > 1 {
    kind = $3 == "hopper" ? "wgmma" : $3 == "mma" ? "mma" : "cores"; times = 1 / $10
    if (!(kind in least) || times < least[kind]) least[kind] = times
    if (times > most[kind]) most[kind] = times
    if ($11 > spread[kind]) spread[kind] = $11
} END {
    printf "FP32 cores took %.1f to %.1f times\n", least["cores"], most["cores"]
    printf "(mma) took %.1f times; points %.1f to %.1f\n", (least["mma"] + most["mma"]) / 2, least["mma"] / spread["mma"], most["mma"] * spread["mma"]
    printf "(wgmma) took %.2f times; points %.1f to %.1f\n", (least["wgmma"] + most["wgmma"]) / 2, least["wgmma"] / spread["wgmma"], most["wgmma"] * spread["wgmma"]
}' "$ROOT/db/measured/predictor.csv" > table
tr -d '\n' < "$ROOT/tuner/session/model_error.c" | sed -E 's/" +"//g' | grep -oE '(FP32 cores|\(w?g?mma\)) took [0-9.]+( to [0-9.]+)? times|points [0-9.]+ to [0-9.]+' |
    sed -e ':a' -e '$!N;s/\npoints/; points/;ta' -e 'P;D' > said
diff table said && echo "the model's error is the table's"

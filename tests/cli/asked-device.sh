# The device asked about is kept: an answer of another one is near, names it and claims no time.
asked=4096x4096x4096:bf16:nt
shown() {
    grep -oE '^  tier +[a-z]+|tuned for .*|^  time .*|^  slowdown|^  computed' | sed -E 's,[0-9.]+ us,N us,;s, +, ,g'
}
for name in h100 "NVIDIA H100 80GB HBM3" H200 h20 gh200; do
    echo "--arch $name"
    "$TUNE" lookup $asked --arch "$name" | shown
done
for name in h100 nvidia-h200 H800 "H100 PCIe" "H100 NVL"; do
    echo "--device $name"
    "$TUNE" lookup $asked --arch sm_90 --device "$name" | shown
done
echo "--arch sm_90"
"$TUNE" lookup $asked --arch sm_90 | shown
"$TUNE" lookup $asked --arch h20 --json | grep -cE '"us"|estimated_us|expected_loss'
# Names as NVIDIA's tools print them; too old ones are named as such.
for name in "NVIDIA GH200 480GB" "A100 80GB" "NVIDIA RTX PRO 6000 Blackwell Workstation Edition" sm_70 "GTX 1080" 6.1; do
    "$TUNE" lookup 64x64x64 --arch "$name" 2>&1 | grep -oE '^64.*|arch .*'
done
# What was predicted for one card is not another one's, here neither.
need_nvrtc
t --arch "RTX 3090" --shape 256x256x4 --kernels simt_thread1d --budget 4 -q > /dev/null
for name in 3090 "rtx-3090" "RTX A6000"; do
    "$TUNE" lookup 256x256x4 --arch "$name" | grep -E '^  (tier|tuned)'
done

# Look-up, which needs no GPU: own database first, then the shipped table, then a default.
need_nvrtc
t lookup 64x64x64
t lookup 64x64 --arch sm_86
t lookup 64x64x64 --arch sm_12345
t --arch sm_86 --shape 256x256x4 --kernels simt_thread1d --budget 4 -q > /dev/null
t lookup 256x256x4 --arch sm_86
t lookup 250x260x4 --arch sm_86 --json
t lookup 256x256x256:e4m3 --arch sm_86
# Where TF32 is allowed and FP32 costs nothing, the answer is in FP32, and says so.
t lookup 3x3x3:tf32 --arch sm_90 | grep -E '^[0-9$]|arithmetic'
t lookup 3x3x3:tf32 --arch sm_90 --json | grep in_f32
t lookup 4096x4096x4096:tf32:nt --arch sm_90 --device "NVIDIA H200" | grep -E '^[0-9$]|kernel|arithmetic'
t lookup 256x256x256 --arch sm_86 --db none.db
# A prediction, made here without a GPU, does not hide what was measured on another GPU of the arch.
t --arch sm_90 --shape 4096x4096x4096 --kernels simt_naive --budget 1 -q > /dev/null
t lookup 4096x4096x4096 --arch sm_90 --device "NVIDIA H100 PCIe" | grep -E 'tier|tuned for|time|not taken' | sed -E 's,[0-9.]+ us,N us,'
# Nor does a textbook kernel's prediction hide what the model expects to be far faster, near it neither.
t --arch sm_86 --shape 512x512x512 --kernels simt_naive --budget 1 -q > /dev/null
for problem in 512x512x512 500x500x500; do
    t lookup $problem --arch sm_86 | grep -E 'tier|^  kernel|not taken' | sed -E 's,[0-9.]+ us,N us,g'
done

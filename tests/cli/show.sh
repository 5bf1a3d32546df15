# One candidate at every stage.
need_nvrtc
t show simt_thread1d TM=4 --problem 4096x4096x4096:f32:nt --arch sm_86 | grep -vE '^  ok   [^B]'
t show simt_warptile VEC=4 --problem 1000x1001x1002 --no-compile | grep -E "NOT|not valid|exit"
t show simt_naive --source | head -n 12
t show simt_naive --problem 64x64x64:f16
t show mma_scaled --problem 64x64x64:e4m3:nt --arch sm_90
cp -r "$ROOT/tests/unit/data/mapped" mapped
t show mapped L2=64 --kernels-dir mapped --problem 100x96x200:bf16:nn:lda=208:accuracy=strict --arch sm_90 --no-compile | sed -n '/^launches/,$p'
t show hopper_transposed SPLIT=2,SPLITS=4,CONSUMERS=1,BLOCKS=1,WIDTH=64,STAGES=8,VEC_C=4,SPREAD=0 --problem 4096x4096x4096:tf32:nn --arch sm_90 --no-compile | grep -E "NOT|not valid|exit"
# Two points are compared without a GPU by the time that a sweep would rank them by.
"$TUNE" --arch sm_86 --shape 64x64x64 --kernels simt_naive --values BM=8,BN='4|8' --budget 2 -q | awk '$2 == "simt_naive" { print $3 }' > swept
for point in BM=8,BN=4 BM=8,BN=8; do
    "$TUNE" show simt_naive $point --problem 64x64x64 | sed -n 's/^model: \([0-9.]*\) us .*/\1/p'
done > shown
cmp swept shown && wc -l < shown
# A constraint that cannot be computed is named as a sweep names it.
cp -r mapped divides && sed -i 's|"derive"|"constraints": [{"if": "1 / (K - 512) >= 0", "why": "never 512"}], "derive"|' divides/mapped.json
for kind in '' --json; do t show mapped --kernels-dir divides --problem 64x64x512:bf16:accuracy=strict --arch sm_90 --no-compile $kind | tail -n 2; done
t --kernels mapped --kernels-dir divides --shape 64x64x512:bf16:accuracy=strict --arch sm_90 --budget 1 -q
# PTX and the others need no GPU.
t show simt_naive --problem 64x64x64 --ptx --arch rtx4090 | grep -E '^\.target|exit'
t show simt_naive --problem 64x64x64 --arch rtx4090 --keep kept --no-compile 2>&1 | grep -oE 'kept in .*|exit.*' | sed "s,$PWD,HERE,"
(cd kept && ls simt_naive.{cu,ptx,cubin}) && grep -c '^\.target sm_89' kept/simt_naive.ptx
t show simt_warptile VEC=4 --problem 1000x1001x1002 --keep none --no-compile | grep -E 'not valid|exit'
[[ -e none ]] || echo "nothing is kept of what is not valid"
t show simt_naive --keep kept/simt_naive.cu
for word in run sweep compile "lookup 64x64x64 --ptx" "--shape 64x64x64 --keep x"; do
    # shellcheck disable=SC2086 # several words
    t $word 2>&1 | grep -oE 'unknown.*'
done

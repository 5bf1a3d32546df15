# Names of things there are not; each sentence says what there is.
t --arch sm_77 --shape 64x64x64
t --arch ampere --shape 64x64x64
t --arch sm_86 --shape 64x64x64 --kernels simt_wraptile
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --strategy psychic
t --arch sm_86 --shape 64x64x64 --kernels simt_naive --strategy annealing:hot=0.5
t --arch sm_86 --shape 64x64x64 --device tpu
t --shape 64x64x64 --device predict:sm_1
t --arch sm_86 --shape 64x64x64 --device predict:sm_90
t show nonsense
t show simt_warptile WARP=3
t show simt_warptile TM=3
t show simt_warptile TM
t show simt_warptile TM=4,TM=8
t export --format xml
t --arch sm_86 --shape 64x64x64 --device cuda:
t --arch sm_86 --shape 64x64x64 --kernels 'simd*'
t --arch sm_86 --shape 64x64x64 --dtype fp8
t --arch sm_86 --shape 64x64x64 --layout NQ
t --arch sm_86 --shape 64x64x64 --rows 65
echo 64x64x64 >set.txt
t --arch sm_86 --shapes set.txt --dtype fp17
# What people type is taken: names of other programs, capitals, patterns, lists and ranges.
t --arch SM_86 --shape 16,32:48:16x64x64:FP32 --layout NT --kernels 'simt_n*,simt_naive' --budget 1 -q -n 1 | grep PREDICTED

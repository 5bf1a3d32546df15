# Shapes that are no shapes.
t --arch sm_86 --shape 0x64x64
t --arch sm_86 --shape 64x-64x64
t --arch sm_86 --shape 64x64
t --arch sm_86 --shape 64x64x64x64
t --arch sm_86 --shape 64x64xlarge
t --arch sm_86 --shape ''
t --arch sm_86 --shape 99999999999999999999x1x1
t --arch sm_86 --shape 2147483648x1x1
t --arch sm_86 --shape 2147483647x2147483647x2147483647
t --arch sm_86 --shape 64x64x64:f32 --dtype f16
t --arch sm_86 --shape 64x64x64:lda=32
t --arch sm_86 --shape 64x64x64:colour=red
t --arch sm_86 --shape 64x64x64 --batch 0
t --arch sm_86 --shape 64x64x64 --beta much
t show simt_naive --problem 64:64:64
# Lists and ranges that are none, or stand for too much; one problem where several are named.
t --arch sm_86 --shape 1:1000000:1x64x64
t --arch sm_86 --shape 1:101:1x1:100:1x64
t --arch sm_86 --shape 64:512x64x64
t --arch sm_86 --shape 64,x64x64
t lookup 1,2x64x64 --arch sm_90
# alpha and beta that float32, or int32 where D is s32, does not have.
t --arch sm_86 --shape 64x64x64 --beta 1e40
t --arch sm_86 --shape 64x64x64:alpha=1e-50
t --arch sm_86 --shape 64x64x64:s8:alpha=16777217
t --arch sm_86 --shape 64x64x64:s8 --beta 2147483647

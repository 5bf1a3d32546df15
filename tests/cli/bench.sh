# Winners over a set; without a GPU there is nothing to compare with, and it says so.
need_nvrtc
printf '128x128x128\n256x128x64:f32:nt # a remark\n' > set.txt
t bench set.txt --arch sm_86
t bench set.txt --arch sm_86 --budget 4 --kernels simt_naive -q
t bench --shape 64x64x64:f16 --shape 128x128x128 --arch sm_86 --budget 2 --kernels simt_naive -q
t bench --shape 96x96x96 --arch sm_86 -q
t bench set.txt --dtype bf16 --arch sm_86 -q
t bench set.txt --accuracy f32 --arch sm_86 -q
t bench set.txt --dtype half --arch sm_86 -q

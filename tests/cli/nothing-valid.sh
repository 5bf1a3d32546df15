# A kernel that does not serve the problem: finished, nothing valid, exit code 4 or the reason.
need_nvrtc
t --arch sm_86 --shape 64x64x64:f16 --kernels simt_naive
t --arch sm_86 --shape 64x64x64:f16 --shape 64x64x64 --kernels simt_naive --budget 2 --rows 1

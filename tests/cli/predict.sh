# The main job without a GPU: compiled, ranked, marked as predicted; again: nothing left to do.
need_nvrtc
t --arch sm_86 --shape 512x512x512 --kernels simt_thread2d --budget 12 --rows 3 | sed '/^= cannot be told/d' # ties depend on what was tried
t --arch sm_86 --shape 512x512x512 --kernels simt_thread2d --budget 12 --rows 1 | sed '/^= cannot be told/d'
t --arch sm_86 --shape 512x512x512 --kernels simt_thread2d --budget 12 --json -q | head -n 12
t --device predict:sm_90 --shape 256x256x256:f32:tn --kernels simt_thread2d --epilogue bias+relu --budget 4 -n 1

// mapped.cu - a template with tensor maps for the unit tests; only the stub driver runs it.
#ifndef BM
#define BM 64 // rows of D per block
#endif
GT_KERNEL_MAPS_BOUNDS(gemm, 128, 1) {}

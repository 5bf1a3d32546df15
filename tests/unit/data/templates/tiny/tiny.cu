// tiny.cu - a template for the unit tests of the vocabulary; it is never compiled.
#include "common/tiny_base.cuh"
/* #include "common/not_there.cuh"   in a comment: not an include */
#ifndef BM
#define BM 64 // rows of D per block
#endif
#ifndef TM
#define TM 4 // rows of D per thread
#endif
#ifndef GROUP_M
#define GROUP_M 4 // blocks of a raster group
#endif
#ifndef SPLIT
#define SPLIT 1 // parts of K
#endif
extern "C" __global__ void gemm(const int *args) {}
extern "C" __global__ void reduce(const int *args) {}

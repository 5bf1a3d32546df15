/* wgmma_rs.cuh - the product of wgmma.cuh for TF32 with operand a in registers instead of shared
 * memory. An operand that is stored along m or n, where wgmma cannot read it, is transposed by how
 * the threads read it.
 *
 *            8 of k                  Of each 8 of k a thread has four elements of a:
 *          +---------+
 *   warp 0 | 16 rows |                 a[0]  row r,     k c          r = lane / 4, c = lane % 4
 *   warp 1 | 16 rows |                 a[1]  row r + 8, k c
 *   warp 2 | 16 rows |                 a[2]  row r,     k c + 4
 *   warp 3 | 16 rows |                 a[3]  row r + 8, k c + 4
 *          +---------+
 *
 * Sums, operand b and the order of calls are those of wgmma.cuh. a[] too must not change between
 * gt_wgmma_fence and the wait. */
#ifndef GT_WGMMA_RS_CUH
#define GT_WGMMA_RS_CUH

#include "common/wgmma.cuh"

#ifdef GT_EMULATE

template <int n>
GT_DEVICE void gt_wgmma_rs(float *d, const unsigned *a, unsigned long long b, int scale_d)
{
    gt_emu_wgmma_rs(n, d, a, b, scale_d, __FILE__, __LINE__);
}

#else

template <int n> struct gt_wgmma_rs_instruction;

/* p, a, b are the numbers of the operands that follow the sums. */
#define GT_WGMMA_RS(n, words, sums, p, a, b)                                            \
    template <> struct gt_wgmma_rs_instruction<n> {                                     \
        static GT_DEVICE void issue(float *d, const unsigned *x, unsigned long long operand,  \
                                  int scale_d)                                                 \
        {                                                                                   \
            asm volatile("{\n.reg .pred scale_d;\nsetp.ne.b32 scale_d, " p ", 0;\n"               \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k8.f32.tf32.tf32 {" words  \
                         "}, {" a "}, " b ", scale_d, 1, 1;\n}"                                \
                         : sums("+f")                                                       \
                         : "r"(scale_d), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),           \
                           "l"(operand));                                                   \
        }                                                                                   \
    };

GT_WGMMA_RS(16, GT_W8, GT_D8_, "%8", "%9, %10, %11, %12", "%13")
GT_WGMMA_RS(32, GT_W16, GT_D16, "%16", "%17, %18, %19, %20", "%21")
GT_WGMMA_RS(64, GT_W32, GT_D32, "%32", "%33, %34, %35, %36", "%37")
GT_WGMMA_RS(96, GT_W48, GT_D48, "%48", "%49, %50, %51, %52", "%53")
GT_WGMMA_RS(128, GT_W64, GT_D64, "%64", "%65, %66, %67, %68", "%69")
GT_WGMMA_RS(160, GT_W80, GT_D80, "%80", "%81, %82, %83, %84", "%85")
GT_WGMMA_RS(192, GT_W96, GT_D96, "%96", "%97, %98, %99, %100", "%101")
GT_WGMMA_RS(224, GT_W112, GT_D112, "%112", "%113, %114, %115, %116", "%117")
GT_WGMMA_RS(256, GT_W128, GT_D128, "%128", "%129, %130, %131, %132", "%133")

/* Adds the product of 64 x 8 of a and 8 x n of b to d[0 .. n / 2); a has the bits of floats rounded
 * to TF32. Both arrays are indexed by constants only. With scale_d 0 the sums start
 * from this product. n is 16, 32, 64, 96, 128, 160, 192, 224 or 256. */
template <int n>
GT_DEVICE void gt_wgmma_rs(float *d, const unsigned *a, unsigned long long b, int scale_d)
{
    gt_wgmma_rs_instruction<n>::issue(d, a, b, scale_d);
}

#endif
#endif

/* wgmma_rs.cuh - the product of wgmma.cuh with operand a in registers instead of shared memory. An
 * operand along m or n, where wgmma cannot read 32-bit elements, is transposed by how the threads
 * read it; one that is split or converted need not be stored again.
 *
 *           32 bytes of k         Of each 32 bytes of k a thread has four registers of a:
 *          +---------+
 *   warp 0 | 16 rows |                 a[0]  row r,     piece c          r = lane / 4, c = lane % 4
 *   warp 1 | 16 rows |                 a[1]  row r + 8, piece c
 *   warp 2 | 16 rows |                 a[2]  row r,     piece c + 4
 *   warp 3 | 16 rows |                 a[3]  row r + 8, piece c + 4
 *          +---------+
 *
 * A piece is one element of TF32, or two neighbours along k of 16-bit types, the first of them in
 * the lower half of the register.
 *
 * Sums, operand b and the order of calls are those of wgmma.cuh. a[] too must not change between
 * gt_wgmma_fence and the wait. */
#ifndef GT_WGMMA_RS_CUH
#define GT_WGMMA_RS_CUH

#include "common/wgmma.cuh"

#ifdef GT_EMULATE

template <int code, int n, int b_along_mn>
GT_DEVICE void gt_wgmma_rs(float *d, const unsigned *a, unsigned long long b, int scale_d)
{
    gt_emu_wgmma_rs(code, n, b_along_mn, d, a, b, scale_d, __FILE__, __LINE__);
}

#else

template <int code, int n> struct gt_wgmma_rs_instruction;

/* p, a, b, tb are the numbers of the operands that follow the sums. */
#define GT_WGMMA_RS(code, shape, tail, n, words, sums, p, a, b, tb) \
    template <> struct gt_wgmma_rs_instruction<code, n> { \
        template <int b_along_mn> \
        static GT_DEVICE void issue(float *d, const unsigned *x, unsigned long long operand, \
                                  int scale_d) \
        { \
            asm volatile("{\n.reg .pred scale_d;\nsetp.ne.b32 scale_d, " p ", 0;\n" \
                         "wgmma.mma_async.sync.aligned.m64n" #n shape " {" words "}, {" a "}, " b \
                         ", scale_d, 1, 1" tail(tb) ";\n}" \
                         : sums("+f") \
                         : "r"(scale_d), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), \
                           "l"(operand), "n"(b_along_mn)); \
        } \
    };

#define GT_WGMMA_RS_TYPE(...) \
    GT_WGMMA_RS(__VA_ARGS__, 16, GT_W8, GT_D8_, "%8", "%9, %10, %11, %12", "%13", "%14") \
    GT_WGMMA_RS(__VA_ARGS__, 32, GT_W16, GT_D16, "%16", "%17, %18, %19, %20", "%21", "%22") \
    GT_WGMMA_RS(__VA_ARGS__, 64, GT_W32, GT_D32, "%32", "%33, %34, %35, %36", "%37", "%38") \
    GT_WGMMA_RS(__VA_ARGS__, 96, GT_W48, GT_D48, "%48", "%49, %50, %51, %52", "%53", "%54") \
    GT_WGMMA_RS(__VA_ARGS__, 128, GT_W64, GT_D64, "%64", "%65, %66, %67, %68", "%69", "%70") \
    GT_WGMMA_RS(__VA_ARGS__, 160, GT_W80, GT_D80, "%80", "%81, %82, %83, %84", "%85", "%86") \
    GT_WGMMA_RS(__VA_ARGS__, 192, GT_W96, GT_D96, "%96", "%97, %98, %99, %100", "%101", "%102") \
    GT_WGMMA_RS(__VA_ARGS__, 224, GT_W112, GT_D112, "%112", "%113, %114, %115, %116", "%117", "%118") \
    GT_WGMMA_RS(__VA_ARGS__, 256, GT_W128, GT_D128, "%128", "%129, %130, %131, %132", "%133", "%134")

#define GT_RS_TAIL_TF32(tb) ""
#define GT_RS_TAIL_16(tb)   ", " tb

#if WGMMA_TYPE == GT_TF32
GT_WGMMA_RS_TYPE(GT_TF32, "k8.f32.tf32.tf32", GT_RS_TAIL_TF32)
#elif WGMMA_TYPE == GT_BF16
GT_WGMMA_RS_TYPE(GT_BF16, "k16.f32.bf16.bf16", GT_RS_TAIL_16)
#endif

/* Adds the product of 64 rows of a and 32 bytes x n of b to d[0 .. n / 2). code is WGMMA_TYPE:
 * GT_TF32, whose a has the bits of floats rounded to TF32 and whose b lies along k, or GT_BF16.
 * Both arrays are indexed by constants only. With scale_d 0 the sums start from this product. n is
 * 16, 32, 64, 96, 128, 160, 192, 224 or 256. */
template <int code, int n, int b_along_mn>
GT_DEVICE void gt_wgmma_rs(float *d, const unsigned *a, unsigned long long b, int scale_d)
{
    static_assert(code == GT_BF16 || !b_along_mn, "only 16-bit operands may lie along n");
    gt_wgmma_rs_instruction<code, n>::template issue<b_along_mn>(d, a, b, scale_d);
}

#endif
#endif

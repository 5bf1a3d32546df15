/* mma.cuh - products of doubles on tensor cores: mma.sync with 8 or 16 rows, 8 columns and 4, 8 or
 * 16 of k. Each product is an FMA of doubles.
 *
 * Lane 4 g + t has, of every 8 rows, row g of A at the k that are t modulo 4, the same of columns
 * of B, and columns 2 t and 2 t + 1 of row g of the sums. */
#ifndef GT_DOUBLE_MMA_CUH
#define GT_DOUBLE_MMA_CUH

#ifdef GT_EMULATE

#include "mma_emulate.h"

/* ROWS and K of the instruction; sum: of rows g and, of 16 rows, g + 8; a[k / 4][row / 8]. */
template <int ROWS, int K>
GT_DEVICE void mma(double *const (&sum)[ROWS / 8], const double (&a)[K / 4][ROWS / 8],
                   const double (&b)[K / 4])
{
    struct Own {
        double a[K / 4][ROWS / 8], b[K / 4];
    } own;
    __builtin_memcpy(own.a, a, sizeof(own.a));
    __builtin_memcpy(own.b, b, sizeof(own.b));
    const void *all = gt_emu_gather(&own, sizeof(own), __FILE__, __LINE__);
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int k = 0; k < K; k++)
        for (int i = 0; i < ROWS / 8; i++)
            for (int j = 0; j < 2; j++)
                sum[i][j] =
                    fma(gt_emu_of_lane<Own>(all, 4 * g + k % 4)->a[k / 4][i],
                        gt_emu_of_lane<Own>(all, 4 * (2 * t + j) + k % 4)->b[k / 4], sum[i][j]);
}

#else

/* ROWS and K of the instruction; sum: of rows g and, of 16 rows, g + 8; a[k / 4][row / 8]. */
template <int ROWS, int K>
GT_DEVICE void mma(double *const (&sum)[ROWS / 8], const double (&a)[K / 4][ROWS / 8],
                   const double (&b)[K / 4])
{
    if constexpr (ROWS == 8) {
        static_assert(K == 4, "the only depth of 8 rows");
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[0][0]), "+d"(sum[0][1])
            : "d"(a[0][0]), "d"(b[0]));
    } else if constexpr (K == 4) {
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
            "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(sum[0][0]), "+d"(sum[0][1]), "+d"(sum[1][0]), "+d"(sum[1][1])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(b[0]));
    } else if constexpr (K == 8) {
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+d"(sum[0][0]), "+d"(sum[0][1]), "+d"(sum[1][0]), "+d"(sum[1][1])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
    } else {
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
            : "+d"(sum[0][0]), "+d"(sum[0][1]), "+d"(sum[1][0]), "+d"(sum[1][1])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[2][0]), "d"(a[2][1]),
              "d"(a[3][0]), "d"(a[3][1]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    }
}

#endif

#endif

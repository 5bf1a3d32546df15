/* fused_rows.cuh - of f32acc/fused.cu, OWN_ROWS: a consumer's 64 rows of the first operand, which
 * its threads load and split themselves.
 *
 * wgmma reads them from registers (wgmma_rs.cuh). Of 16 values of k it expects of a thread the
 * values 2 * c, 2 * c + 1, 2 * c + 8 and 2 * c + 9 of rows r and r + 8, with r = lane / 4 and c =
 * lane % 4. Which of the operand's these are is free, if the other operand and D's rows agree:
 *
 *   k      the four neighbours from 4 * c on, so that a thread loads 16 bytes where the operand
 *          lies along k. The other operand is stored in this order (k_place).
 *   rows   two neighbours where it lies along m or n, 2 * r and 2 * r + 1 (row_of). */
#ifndef GT_F32ACC_FUSED_ROWS_CUH
#define GT_F32ACC_FUSED_ROWS_CUH

#include "common/wgmma_rs.cuh"

/* The float at `from`, or zero if it is not valid: nothing is read then. It is one predicated load,
 * because a condition in C++ spills 76 to 300 bytes where a stage has 64 of k. */
GT_DEVICE float load_valid(const float *from, bool valid)
{
#ifdef GT_EMULATE
    return valid ? __ldg(from) : 0.0f;
#else
    float value;
    asm volatile("{\n.reg .pred valid;\nsetp.ne.b32 valid, %2, 0;\nmov.f32 %0, 0f00000000;\n"
                 "@valid ld.global.nc.f32 %0, [%1];\n}"
                 : "=f"(value)
                 : "l"(from), "r"((int)valid));
    return value;
#endif
}

struct OwnRows {
    static constexpr int STEPS = BK / 16, VEC = SWAP_AB ? VEC_B : VEC_A;
    static constexpr int ACROSS = VEC < 2 ? VEC : 2; /* floats of a load along m or n */

    const float *first[2]; /* of the stage to load next: where rows r and r + 8 begin */
    long long ld;
    int k;      /* of its first value that the thread has, in a stage */
    int deep;   /* values of k from the stage to load next on; may be 0 or less */
    bool whole; /* every load is within the operand or beyond it */
    float x[STEPS][2][4];
    unsigned part[STEPS][PARTS][4]; /* of the stage before */

    /* Loads the first stage. Beyond the last row the last one is loaded again: what it gives is not
     * stored. */
    GT_DEVICE OwnRows(const gt_args &args, const Ring &, const Work &work, int consumer)
    {
        const float *const matrix =
            SWAP_AB ? gt_matrix_b(args, work.batch) : gt_matrix_a(args, work.batch);
        const int size = (int)(SWAP_AB ? args.n : args.m);
        const int tile = work.row + consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;

        ld = SWAP_AB ? args.ldb : args.lda;
        k = (int)threadIdx.x % 4 * 4;
        deep = work.k_end - work.k;
        whole = ROWS_ALONG_K || size % ACROSS == 0;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = tile + row_of((int)threadIdx.x % 32, half);
            const int last = !ROWS_ALONG_K && whole && ACROSS == 2 ? size - 2 + half : size - 1;
            first[half] = matrix + (ROWS_ALONG_K ? min(row, last) * ld + work.k + k
                                                 : (work.k + k) * ld + min(row, last));
        }
        load_next();
    }

    /* Loads a stage that has BK values of k. */
    GT_DEVICE void load()
    {
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int i = 0; i < (ROWS_ALONG_K ? 2 : 4); i++) {
                if constexpr (ROWS_ALONG_K) {
#pragma unroll
                    for (int u = 0; u < 4; u += VEC)
                        gt_load_global<VEC>(x[step][i] + u, first[i] + step * 16 + u);
                } else {
                    float rows[2];
#pragma unroll
                    for (int u = 0; u < 2; u += ACROSS)
                        gt_load_global<ACROSS>(rows + u, first[u] + (step * 16 + i) * ld);
                    x[step][0][i] = rows[0];
                    x[step][1][i] = rows[1];
                }
            }
    }

    /* Loads any stage: zeros follow its `deep` values of k. */
    GT_DEVICE void load_ragged()
    {
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int half = 0; half < 2; half++)
#pragma unroll
                for (int u = 0; u < 4; u++) {
                    const int at = step * 16 + u;
                    x[step][half][u] =
                        load_valid(first[half] + (ROWS_ALONG_K ? at : at * ld), k + at < deep);
                }
    }

    /* Loads the next stage, if there is one, and goes on. */
    GT_DEVICE void load_next()
    {
        if (deep >= BK && whole)
            load();
        else if (deep > 0)
            load_ragged();
        deep -= BK;
#pragma unroll
        for (int half = 0; half < 2; half++)
            first[half] += ROWS_ALONG_K ? BK : BK * ld;
    }

    /* Splits what was loaded into parts as wgmma takes them. */
    GT_DEVICE void split()
    {
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int half = 0; half < 2; half++)
#pragma unroll
                for (int pair = 0; pair < 2; pair++) {
                    const float *const value = x[step][half] + 2 * pair;
                    unsigned own[PARTS];
                    split_pair(value[0], value[1], own);
#pragma unroll
                    for (int p = 0; p < PARTS; p++)
                        part[step][p][pair * 2 + half] = own[p];
                }
    }

    /* Sets acc to all products with the second operand's parts at b. */
    GT_DEVICE void multiply(unsigned long long b, unsigned, float *acc) const
    {
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
#pragma unroll
            for (int step = 0; step < STEPS; step++)
                gt_wgmma_rs<GT_BF16, BN, !COLUMNS_ALONG_K>(
                    acc, part[step][FIRST_OF >> 4 * p & 15],
                    gt_smem_descriptor_advance(b, (SECOND_OF >> 4 * p & 15) * (COLUMNS_PART / 16) +
                                                      step * k_distance<BN, COLUMNS_ALONG_K>()),
                    p > 0 || step > 0);
    }
};

#endif

/* mma.cuh - tensor cores by warp: matrices of 8 x 8 from shared memory to registers (ldmatrix), and
 * D = A B + D of small matrices (mma.sync), sm_75 and later.
 *
 * All 32 lanes of a warp call a function together, and each holds a part of every matrix. With
 * group = lane / 4, member = lane % 4, and E elements in a 32-bit register (4 of 8 bits, 2 of 16
 * bits, 1 of tf32), for m16n8k(8 E); shapes half as deep have the left half of A and the upper half
 * of B:
 *
 *    A, 16 x K                      register 0: row group,     columns member * E ... + E - 1
 *      +-------+-------+                     1: row group + 8, the same columns
 *      |   0   |   2   | 8 rows              2: row group,     columns 4 E further right
 *      +-------+-------+                     3: row group + 8, 4 E further right
 *      |   1   |   3   | 8 rows     B, K x 8, register 0: rows member * E ... + E - 1, column group
 *      +-------+-------+                              1: rows 4 E further down
 *        4 E     4 E   columns      D, 16 x 8, element 0, 1: row group, columns member * 2, + 1
 *                                              element 2, 3: row group + 8, the same columns
 *
 * D in f16 is two registers: elements 0 and 1, 2 and 3. ldmatrix gives each lane E elements of row
 * `group` of each matrix of 8 rows of 16 bytes, which is a quarter of A; transposed, elements of
 * 16 bits, it gives a quarter of A from the rows of A^T. */
#ifndef GT_MMA_CUH
#define GT_MMA_CUH

#ifdef GT_EMULATE
#include "mma_emulate.h"
#else

/* Loads `count` matrices of 8 rows of 16 bytes from shared memory. Lane i gives the address, a
 * multiple of 16, of row i % 8 of matrix i / 8. Lanes from 8 * count on read nothing, but must give
 * valid addresses too. */
#define GT_LDMATRIX(name, count, operands, outputs)                                          \
    GT_DEVICE void name(unsigned (&to)[count], const void *row)                              \
    {                                                                                        \
        asm volatile("ldmatrix.sync.aligned.m8n8.x" operands                                 \
                     : outputs                                                               \
                     : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row))) : "memory"); \
    }
#define GT_COMMA ,
GT_LDMATRIX(gt_ldmatrix_x1, 1, "1.shared.b16 {%0}, [%1];", "=r"(to[0]))
GT_LDMATRIX(gt_ldmatrix_x1_trans, 1, "1.trans.shared.b16 {%0}, [%1];", "=r"(to[0]))
GT_LDMATRIX(gt_ldmatrix_x2, 2, "2.shared.b16 {%0, %1}, [%2];", "=r"(to[0]) GT_COMMA "=r"(to[1]))
GT_LDMATRIX(gt_ldmatrix_x2_trans, 2, "2.trans.shared.b16 {%0, %1}, [%2];",
            "=r"(to[0]) GT_COMMA "=r"(to[1]))
GT_LDMATRIX(gt_ldmatrix_x4, 4, "4.shared.b16 {%0, %1, %2, %3}, [%4];",
            "=r"(to[0]) GT_COMMA "=r"(to[1]) GT_COMMA "=r"(to[2]) GT_COMMA "=r"(to[3]))
GT_LDMATRIX(gt_ldmatrix_x4_trans, 4, "4.trans.shared.b16 {%0, %1, %2, %3}, [%4];",
            "=r"(to[0]) GT_COMMA "=r"(to[1]) GT_COMMA "=r"(to[2]) GT_COMMA "=r"(to[3]))
#undef GT_COMMA
#undef GT_LDMATRIX

/* D += A B. The name says shape, type of A and B, and type of D; `type` is that of D's elements, or
 * of pairs of them. */
#define GT_MMA_4_4_2(name, text, type, bits)                                              \
    GT_DEVICE void name(type(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2])        \
    {                                                                                     \
        asm volatile("mma.sync.aligned." text                                             \
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                     : "+" bits(d[0]), "+" bits(d[1]), "+" bits(d[2]), "+" bits(d[3])     \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }
#define GT_MMA_4_2_1(name, text, type, bits)                                            \
    GT_DEVICE void name(type(&d)[4], const unsigned(&a)[2], const unsigned(&b)[1])      \
    {                                                                                   \
        asm volatile("mma.sync.aligned." text                                           \
                     " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"             \
                     : "+" bits(d[0]), "+" bits(d[1]), "+" bits(d[2]), "+" bits(d[3])   \
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                \
    }
#define GT_MMA_2_4_2(name, text)                                                              \
    GT_DEVICE void name(unsigned(&d)[2], const unsigned(&a)[4], const unsigned(&b)[2])        \
    {                                                                                         \
        asm volatile("mma.sync.aligned." text " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};" \
                     : "+r"(d[0]), "+r"(d[1])                                                 \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));     \
    }
#define GT_MMA_2_2_1(name, text)                                                       \
    GT_DEVICE void name(unsigned(&d)[2], const unsigned(&a)[2], const unsigned(&b)[1]) \
    {                                                                                  \
        asm volatile("mma.sync.aligned." text " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"   \
                     : "+r"(d[0]), "+r"(d[1])                                          \
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));                               \
    }

/* sm_75 */
GT_MMA_4_2_1(gt_mma_m16n8k8_f16_f32, "m16n8k8.row.col.f32.f16.f16.f32", float, "f")
GT_MMA_2_2_1(gt_mma_m16n8k8_f16_f16, "m16n8k8.row.col.f16.f16.f16.f16")

/* Bytes, 8 x 8 x 16. A lane has row `group` of A, column `group` of B and two elements of D. */
GT_DEVICE void gt_mma_m8n8k16_s8(int (&d)[2], const unsigned (&a)[1], const unsigned (&b)[1])
{
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
}

/* sm_80 */
GT_MMA_4_4_2(gt_mma_m16n8k16_f16_f32, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
GT_MMA_2_4_2(gt_mma_m16n8k16_f16_f16, "m16n8k16.row.col.f16.f16.f16.f16")
GT_MMA_4_2_1(gt_mma_m16n8k8_bf16_f32, "m16n8k8.row.col.f32.bf16.bf16.f32", float, "f")
GT_MMA_4_4_2(gt_mma_m16n8k16_bf16_f32, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
GT_MMA_4_2_1(gt_mma_m16n8k4_tf32_f32, "m16n8k4.row.col.f32.tf32.tf32.f32", float, "f")
GT_MMA_4_4_2(gt_mma_m16n8k8_tf32_f32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
GT_MMA_4_2_1(gt_mma_m16n8k16_s8_s32, "m16n8k16.row.col.s32.s8.s8.s32", int, "r")
GT_MMA_4_4_2(gt_mma_m16n8k32_s8_s32, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")

/* sm_89 */
GT_MMA_4_4_2(gt_mma_m16n8k32_e4m3_f32, "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f")
GT_MMA_4_4_2(gt_mma_m16n8k32_e5m2_f32, "m16n8k32.row.col.f32.e5m2.e5m2.f32", float, "f")

#undef GT_MMA_4_4_2
#undef GT_MMA_4_2_1
#undef GT_MMA_2_4_2
#undef GT_MMA_2_2_1

/* Selects bytes 0..3 of x and 4..7 of y by the digits of `selector`, the lowest first. */
GT_DEVICE unsigned gt_pick_bytes(unsigned x, unsigned y, unsigned selector)
{
    return __byte_perm(x, y, selector);
}

#endif

/* Transposes 4 x 4 bytes: byte j of word i becomes byte i of word j. */
GT_DEVICE void gt_transpose_bytes(unsigned (&word)[4])
{
    unsigned low[2], high[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        low[i] = gt_pick_bytes(word[2 * i], word[2 * i + 1], 0x5140);
        high[i] = gt_pick_bytes(word[2 * i], word[2 * i + 1], 0x7362);
    }
    word[0] = gt_pick_bytes(low[0], low[1], 0x5410);
    word[1] = gt_pick_bytes(low[0], low[1], 0x7632);
    word[2] = gt_pick_bytes(high[0], high[1], 0x5410);
    word[3] = gt_pick_bytes(high[0], high[1], 0x7632);
}

#endif

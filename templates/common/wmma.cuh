/* wmma.cuh - tensor cores by warp, through fragments whose layout only the hardware knows
 * (wmma.load, wmma.mma, wmma.store): 16 x 16 elements of D; f16 on sm_75 and later, bf16 (16 deep)
 * and tf32 (8 deep) on sm_80 and later.
 *
 * All 32 lanes of a warp call a function together with the same arguments. Matrices are in shared
 * memory; the first element is at a multiple of 32 bytes, and rows (columns, if `along_rows` is
 * false) are a multiple of 16 bytes apart. */
#ifndef GT_WMMA_CUH
#define GT_WMMA_CUH

#if GT_TYPE == GT_F16
#define GT_WMMA_DEPTH 16
#define GT_WMMA_REGISTERS 8
#elif GT_TYPE == GT_BF16
#define GT_WMMA_DEPTH 16
#define GT_WMMA_REGISTERS 4
#else
#define GT_WMMA_DEPTH 8
#define GT_WMMA_REGISTERS 4
#endif

/* A lane's part of 16 x GT_WMMA_DEPTH elements of A, or as many of B, or of 16 x 16 sums. */
struct gt_wmma_operand {
#ifdef GT_EMULATE
    float value[GT_WMMA_DEPTH / 2];
#else
    unsigned part[GT_WMMA_REGISTERS];
#endif
};
struct gt_wmma_sum {
    float part[8];
};

#ifdef GT_EMULATE

#include "mma_emulate.h"

/* The place of element e of a lane in a matrix of `columns` columns. */
inline int gt_emu_wmma_row(int e, int each, int columns)
{
    return (GT_EMU_LANE * each + e) / columns;
}
inline int gt_emu_wmma_column(int e, int each, int columns)
{
    return (GT_EMU_LANE * each + e) % columns;
}

template <bool along_rows>
inline void gt_emu_wmma_load(gt_wmma_operand &to, const gt_element<GT_TYPE>::type *from, int ld,
                             int columns, const char *file, int line)
{
    constexpr int EACH = GT_WMMA_DEPTH / 2;
    gt_emu_check_shared(from, 32, file, line);
    gt_emu_check_shared(from + 2 * ld, 16, file, line);
    for (int e = 0; e < EACH; e++) {
        int row = gt_emu_wmma_row(e, EACH, columns), column = gt_emu_wmma_column(e, EACH, columns);
        to.value[e] =
            gt_to_float<GT_TYPE>(from[along_rows ? row * ld + column : column * ld + row]);
        if (GT_TYPE == GT_TF32)
            to.value[e] = __uint_as_float(gt_round_tf32(__float_as_uint(to.value[e])));
    }
    gt_emu_warp_barrier(0xffffffffu, file, line);
}

template <bool along_rows>
inline void gt_wmma_load_a(gt_wmma_operand &to, const gt_element<GT_TYPE>::type *from, int ld)
{
    gt_emu_wmma_load<along_rows>(to, from, ld, GT_WMMA_DEPTH, __FILE__, __LINE__);
}

template <bool along_rows>
inline void gt_wmma_load_b(gt_wmma_operand &to, const gt_element<GT_TYPE>::type *from, int ld)
{
    gt_emu_wmma_load<along_rows>(to, from, ld, 16, __FILE__, __LINE__);
}

template <bool a_along_rows, bool b_along_rows>
inline void gt_wmma_multiply(gt_wmma_sum &d, const gt_wmma_operand &a, const gt_wmma_operand &b)
{
    constexpr int EACH = GT_WMMA_DEPTH / 2;
    struct {
        gt_wmma_operand a, b;
    } own = {a, b};
    typedef decltype(own) part;
    static_assert(sizeof own <= GT_EMU_GATHER_BYTES, "a lane's values fit");
    const void *all = gt_emu_gather(&own, sizeof own, __FILE__, __LINE__);
    for (int e = 0; e < 8; e++) {
        int row = gt_emu_wmma_row(e, 8, 16), column = gt_emu_wmma_column(e, 8, 16);
        float sum = 0;
        for (int k = 0; k < GT_WMMA_DEPTH; k++) {
            int at_a = row * GT_WMMA_DEPTH + k, at_b = k * 16 + column;
            sum += gt_emu_of_lane<part>(all, at_a / EACH)->a.value[at_a % EACH] *
                   gt_emu_of_lane<part>(all, at_b / EACH)->b.value[at_b % EACH];
        }
        d.part[e] += sum;
    }
}

inline void gt_wmma_store(float *to, const gt_wmma_sum &d, int ld)
{
    gt_emu_check_shared(to, 32, __FILE__, __LINE__);
    gt_emu_check_shared(to + 2 * ld, 16, __FILE__, __LINE__);
    for (int e = 0; e < 8; e++)
        to[gt_emu_wmma_row(e, 8, 16) * ld + gt_emu_wmma_column(e, 8, 16)] = d.part[e];
    gt_emu_warp_barrier(0xffffffffu, __FILE__, __LINE__);
}

#else

#if GT_TYPE == GT_F16
#define GT_WMMA_SHAPE "m16n16k16"
#define GT_WMMA_IN    "f16"
#define GT_WMMA_TYPES "f32.f32"
#elif GT_TYPE == GT_BF16
#define GT_WMMA_SHAPE "m16n16k16"
#define GT_WMMA_IN    "bf16"
#define GT_WMMA_TYPES "f32.bf16.bf16.f32"
#else
#define GT_WMMA_SHAPE "m16n16k8"
#define GT_WMMA_IN    "tf32"
#define GT_WMMA_TYPES "f32.tf32.tf32.f32"
#endif

GT_DEVICE unsigned gt_wmma_address(const void *shared)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/* One instruction; the layout is a part of its text. */
#if GT_WMMA_REGISTERS == 8
#define GT_WMMA_LOAD(operand, layout)                                                            \
    asm volatile("wmma.load." operand ".sync.aligned." layout "." GT_WMMA_SHAPE                  \
                 ".shared." GT_WMMA_IN " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"            \
                 : "=r"(to.part[0]), "=r"(to.part[1]), "=r"(to.part[2]), "=r"(to.part[3]),       \
                   "=r"(to.part[4]), "=r"(to.part[5]), "=r"(to.part[6]), "=r"(to.part[7])        \
                 : "r"(gt_wmma_address(from)), "r"(ld)                                           \
                 : "memory")
#define GT_WMMA_MULTIPLY(layouts)                                                                \
    asm volatile("wmma.mma.sync.aligned." layouts "." GT_WMMA_SHAPE "." GT_WMMA_TYPES            \
                 " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15},"    \
                 " {%16, %17, %18, %19, %20, %21, %22, %23},"                                    \
                 " {%0, %1, %2, %3, %4, %5, %6, %7};"                                            \
                 : "+f"(d.part[0]), "+f"(d.part[1]), "+f"(d.part[2]), "+f"(d.part[3]),           \
                   "+f"(d.part[4]), "+f"(d.part[5]), "+f"(d.part[6]), "+f"(d.part[7])            \
                 : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]),               \
                   "r"(a.part[4]), "r"(a.part[5]), "r"(a.part[6]), "r"(a.part[7]),               \
                   "r"(b.part[0]), "r"(b.part[1]), "r"(b.part[2]), "r"(b.part[3]),               \
                   "r"(b.part[4]), "r"(b.part[5]), "r"(b.part[6]), "r"(b.part[7]))
#else
#define GT_WMMA_LOAD(operand, layout)                                                            \
    asm volatile("wmma.load." operand ".sync.aligned." layout "." GT_WMMA_SHAPE                  \
                 ".shared." GT_WMMA_IN " {%0, %1, %2, %3}, [%4], %5;"                            \
                 : "=r"(to.part[0]), "=r"(to.part[1]), "=r"(to.part[2]), "=r"(to.part[3])        \
                 : "r"(gt_wmma_address(from)), "r"(ld)                                           \
                 : "memory")
#define GT_WMMA_MULTIPLY(layouts)                                                                \
    asm volatile("wmma.mma.sync.aligned." layouts "." GT_WMMA_SHAPE "." GT_WMMA_TYPES            \
                 " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15},"  \
                 " {%0, %1, %2, %3, %4, %5, %6, %7};"                                            \
                 : "+f"(d.part[0]), "+f"(d.part[1]), "+f"(d.part[2]), "+f"(d.part[3]),           \
                   "+f"(d.part[4]), "+f"(d.part[5]), "+f"(d.part[6]), "+f"(d.part[7])            \
                 : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]),               \
                   "r"(b.part[0]), "r"(b.part[1]), "r"(b.part[2]), "r"(b.part[3]))
#endif

/* tf32 is rounded after the load, because the instruction would truncate. */
GT_DEVICE void gt_wmma_round(gt_wmma_operand &operand)
{
#if GT_TYPE == GT_TF32
#pragma unroll
    for (int i = 0; i < GT_WMMA_REGISTERS; i++)
        operand.part[i] = gt_round_tf32(operand.part[i]);
#endif
}

template <bool along_rows>
GT_DEVICE void gt_wmma_load_a(gt_wmma_operand &to, const gt_element<GT_TYPE>::type *from, int ld)
{
    if (along_rows)
        GT_WMMA_LOAD("a", "row");
    else
        GT_WMMA_LOAD("a", "col");
    gt_wmma_round(to);
}

template <bool along_rows>
GT_DEVICE void gt_wmma_load_b(gt_wmma_operand &to, const gt_element<GT_TYPE>::type *from, int ld)
{
    if (along_rows)
        GT_WMMA_LOAD("b", "row");
    else
        GT_WMMA_LOAD("b", "col");
    gt_wmma_round(to);
}

/* D += A B, with the layouts that A and B were loaded with. */
template <bool a_along_rows, bool b_along_rows>
GT_DEVICE void gt_wmma_multiply(gt_wmma_sum &d, const gt_wmma_operand &a, const gt_wmma_operand &b)
{
    if (a_along_rows && b_along_rows)
        GT_WMMA_MULTIPLY("row.row");
    else if (a_along_rows)
        GT_WMMA_MULTIPLY("row.col");
    else if (b_along_rows)
        GT_WMMA_MULTIPLY("col.row");
    else
        GT_WMMA_MULTIPLY("col.col");
}

/* Stores the sums row by row, `ld` floats apart. */
GT_DEVICE void gt_wmma_store(float *to, const gt_wmma_sum &d, int ld)
{
    asm volatile("wmma.store.d.sync.aligned.row." GT_WMMA_SHAPE
                 ".shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"(
                     gt_wmma_address(to)),
                 "f"(d.part[0]), "f"(d.part[1]), "f"(d.part[2]), "f"(d.part[3]), "f"(d.part[4]),
                 "f"(d.part[5]), "f"(d.part[6]), "f"(d.part[7]), "r"(ld)
                 : "memory");
}

#undef GT_WMMA_LOAD
#undef GT_WMMA_MULTIPLY

#endif
#endif

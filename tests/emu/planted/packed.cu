/* packed.cu - test: a naive product of operands that templates/pack has copied, read by aligned
 * pieces of 16 bytes.  The padding of rows is added to every sum: it must be zeros; and 1 where rows
 * do not begin at multiples of 16 bytes or, from 512 bytes on, of 128. */
#ifndef PACK_A
#define PACK_A 2 /* A is copied to the workspace first: 0 no, 1 as stored, 2 transposed */
#endif
#ifndef PACK_B
#define PACK_B 2 /* the same for B */
#endif

#include "common/tensor.cuh"
#include "pack/pack.cuh"

#if PACK_A || PACK_B
GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, GT_PACK_BLOCKS)
{
    gt_pack(args);
}
#endif

typedef gt_element<GT_TYPE>::type Element;
constexpr int RUN = 16 / (int)sizeof(Element);

template <bool packed> GT_DEVICE float element(const Element *first, long long at)
{
    if (!packed)
        return gt_to_float<GT_TYPE>(first[at]);
    return gt_to_float<GT_TYPE>(gt_load_vec<Element, RUN>(first + at / RUN * RUN).at[at % RUN]);
}

/* What lies between the end of a row and the next one; 0 in a copy.  1 more where rows begin in the
 * wrong places. */
GT_DEVICE float padding(const Element *first, const gt_packed_place &place, long long row,
                        long long valid)
{
    const long long size = sizeof(Element), apart = valid * size < 512 ? 16 : 128;
    float sum = place.ld * size % apart != 0;
    for (long long at = valid; at < place.ld; at++)
        sum += element<true>(first, row * place.ld + at);
    return sum;
}

GT_KERNEL_BOUNDS(gemm, 64, 1)
{
    const gt_args packed = gt_packed(args);
    long long row = blockIdx.y * 8 + threadIdx.x / 8, column = blockIdx.x * 8 + threadIdx.x % 8;
    if (row >= args.m || column >= args.n)
        return;

    for (long long z = 0; z < args.batch; z++) {
        const Element *a = gt_typed_a(packed, z), *b = gt_typed_b(packed, z);
        gt_element<GT_ACC>::type acc = 0;
        for (long long k = 0; k < gt_depth(args); k++) {
            float x = element<PACK_A != 0>(a, GT_PACKED_TRANS_A ? k * packed.lda + row
                                                                : row * packed.lda + k);
            float y = element<PACK_B != 0>(b, GT_PACKED_TRANS_B ? column * packed.ldb + k
                                                                : k * packed.ldb + column);
            acc += x * y;
        }
        if (PACK_A && gt_depth(args))
            acc += padding(a, gt_packed_a(args), GT_PACKED_TRANS_A ? 0 : row,
                           GT_PACKED_TRANS_A ? args.m : args.k);
        if (PACK_B && gt_depth(args))
            acc += padding(b, gt_packed_b(args), GT_PACKED_TRANS_B ? column : 0,
                           GT_PACKED_TRANS_B ? args.k : args.n);
        gt_typed_output_store<1>(gt_typed_output_of(args, z), row, column, &acc);
    }
}

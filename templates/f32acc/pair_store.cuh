/* pair_store.cuh - of f32acc/pair.cu: which of a consumer's sums count, and how these are stored.
 *
 * Columns come in groups of 32, whose products with a row depend on the same tiles. A group is
 * marked if one of these tiles has no pairs: then `gemm` leaves its sums out (with SPLIT 2 they are
 * stored, but mean nothing), and `again` has them. */
#ifndef GT_F32ACC_PAIR_STORE_CUH
#define GT_F32ACC_PAIR_STORE_CUH

constexpr int GROUP_COLUMNS = 32;

/* In the workspace a word for each consumer of `gemm` follows what `split` writes: whether it has
 * left something out. Then comes a byte for each group of columns, of each 64 rows of each part of
 * the depth: whether it is marked. With SPLIT 1 the sums of these parts come then. */
constexpr int LEFT_BYTES = 4096;

GT_DEVICE int *left_words(const gt_args &args)
{
    return reinterpret_cast<int *>(static_cast<char *>(args.workspace) + split_layout_of(args).end);
}

/* Bytes of 64 rows: those of four groups are a word. */
GT_DEVICE long long group_bytes(const gt_args &args)
{
    return gt_cdiv(args.n, 4 * GROUP_COLUMNS) * 4;
}

/* The byte of a work's group. */
GT_DEVICE unsigned char *group_byte(const gt_args &args, int batch, int split, int row, int column)
{
    const long long plane = SPLIT ? (long long)batch * SPLITS + split : batch;
    return reinterpret_cast<unsigned char *>(left_words(args)) + LEFT_BYTES +
           (plane * gt_cdiv(args.m, 64) + row / 64) * group_bytes(args) + column / GROUP_COLUMNS;
}

GT_DEVICE long long partial_begin(const gt_args &args)
{
    return split_layout_of(args).end + LEFT_BYTES +
           split_round(args.batch * (SPLIT ? (long long)SPLITS : 1) * gt_cdiv(args.m, 64) *
                       group_bytes(args));
}

#include "f32acc/reduce.cuh"
#include "f32acc/store_sums.cuh"

#if SPLIT == 2

/* Each block leaves its sums where the stages were. The rows are a few words longer than the
 * tile's, so that neighbouring rows begin in different banks. */
typedef float Sum;
constexpr int SUMS_ROW = BN + 8;
static_assert(BM * SUMS_ROW * 4 <= BARRIERS_AT, "room for the sums");
#define SWAP_AB 0
#include "hopper/cluster_reduce.cuh"
#undef SWAP_AB

/* Leaves the consumer's sums, as wgmma has them, for the blocks of the cluster. */
GT_DEVICE void leave_sums(const Ring &ring, int consumer, const float *sum)
{
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
    float *const first = reinterpret_cast<float *>(ring.stages) +
                         (consumer * 64 + thread / 32 * 16 + lane / 4) * SUMS_ROW + lane % 4 * 2;

    gt_named_barrier_sync(1, CONSUMERS * 128); /* the other consumer reads stages until here, too */
#pragma unroll
    for (int i = 0; i < BN / 2; i += 2)
        gt_store<2>(first + i % 4 / 2 * 8 * SUMS_ROW + i / 4 * 8, sum + i);
}

#endif

/* Says which of a consumer's groups are marked. */
GT_DEVICE void store_marks(const gt_args &args, const Work &work, int consumer, unsigned marked)
{
    const int row = work.row + consumer * 64, group = (int)threadIdx.x % 128;

    if (row < args.m && group < BN / GROUP_COLUMNS && work.column + group * GROUP_COLUMNS < args.n)
        group_byte(args, work.batch, work.split, row, work.column)[group] = marked >> group & 1;
}

/* Stores groups of a consumer's sums of 64 rows, which are pairs of neighbours as wgmma leaves
 * them: group j if bit j of `groups` is set. */
template <int columns>
GT_DEVICE void store_groups(const gt_args &args, const Target &target, int first_row,
                            int first_column, unsigned groups, const float *sum)
{
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
    const int first = first_column + lane % 4 * 2, left = (int)args.n - first;

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = first_row + thread / 32 * 16 + lane / 4 + half * 8;
        const long long at = row * (SPLIT == 1 ? target.row_length : target.output.ldc) + first;
        if (row >= args.m)
            continue;
#pragma unroll
        for (int j = 0; j < columns / 8; j++) {
            const float *const pair = sum + j * 4 + half * 2;
            if (j * 8 >= left || !(groups >> j * 8 / GROUP_COLUMNS & 1))
                continue;
            if (SPLIT == 1) {
                gt_vec<float, 2> vec;
                vec.at[0] = pair[0];
                vec.at[1] = pair[1];
                gt_store_vec<float, 2>(target.partial + at + j * 8, vec);
            } else {
                store_pair(target.output, target.output.d + at + j * 8,
                           target.output.c + at + j * 8, first + j * 8, left - j * 8, pair);
            }
        }
    }
}

#endif

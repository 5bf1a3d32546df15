/* layout.cuh - of hopper/gemm.cu: sizes that follow from its parameters, and where things lie in
 * shared memory.
 *
 *   0            STAGES * STAGE_BYTES            + CONSUMERS * STORE * SLICE_BYTES
 *   | A B | A B | ... | slices of consumer 0 | of consumer 1 | full[STAGES] empty[STAGES] turn[2]
 *                                                                   and, with STREAM,
 * answer[CONSUMERS]
 */
typedef gt_wgmma_sum<GT_TYPE>::type sum_type;
typedef gt_element<GT_TYPE>::type in_type;

/* What the kernel stores: D, or sums of a part of the depth. */
template <int split> struct stored_as {
    typedef gt_element<GT_OUT>::type type;
};
template <> struct stored_as<1> {
    typedef sum_type type;
};
typedef stored_as<(SPLIT > 0)>::type stored_type;

constexpr int PIECE = 128 / (int)sizeof(in_type); /* k of a piece of a stage: a row is 128 bytes */
constexpr int BK = DEPTH * PIECE;                 /* k of a stage */
constexpr int K_MMA = PIECE / 4;                  /* k of a wgmma */
constexpr int A_ALONG_MN = SWAP_AB ? !GT_TRANS_B : GT_PACKED_TRANS_A;
constexpr int B_ALONG_MN = SWAP_AB ? GT_TRANS_A : !GT_PACKED_TRANS_B;
constexpr int THREADS = 128 * (CONSUMERS + 1);
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N; /* blocks that share operands; SPLIT 2: SPLITS
                                                * times as many are a cluster */
/* Places in the list of tensor maps of the description. */
constexpr int MAP_A = PACK_A ? 4 : SWAP_AB ? 1 : 0, MAP_B = PACK_B ? 5 : SWAP_AB ? 0 : 1;
constexpr int MAP_D = SPLIT ? 3 : 2;
constexpr int MAP_ROW_PHASES = 6; /* A's strands from the second on */
static_assert(ROW_PHASES == 1 || ((STORE > 0) == STORE_ROWS && SPLIT == 0 && !A_ALONG_MN && B_ALONG_MN),
              "rows of B can begin anywhere, and rows of D lie apart");

/* Whether of a tile of A only the rows that D has are loaded: the description's LOADED_M. */
constexpr int A_ENDS_WITH_D = !A_ALONG_MN && CLUSTER_N == 1 && ROW_PHASES == 1;

/* Rows of a tile that a consumer computes, 64 by 64. */
constexpr int ROWS = PINGPONG ? BM : BM / CONSUMERS;
constexpr int BLOCKS_64 = ROWS / 64;
static_assert(ROWS % 64 == 0 && BLOCKS_64 > 0, "wgmma has 64 rows");

/* Arrivals that make a stage free: of the consumers that read it, in each block that is written to
 * by whoever writes here. */
constexpr int RELEASES = (PINGPONG ? 1 : CONSUMERS) * (CLUSTER_M + CLUSTER_N - 1);

/* Columns of a box where an operand lies along m or n: as wide as a swizzle can be. */
GT_DEVICE constexpr int box_width(int extent)
{
    return extent % 64 == 0 ? 64 : extent % 32 == 0 ? 32 : 16;
}

constexpr int A_BYTES = BM * 128, B_BYTES = BN * 128;
constexpr int PIECE_BYTES = A_BYTES + B_BYTES, STAGE_BYTES = DEPTH * PIECE_BYTES;

/* A slice: SLICE_WIDTH bytes of each of a consumer's rows of D, swizzled by as much. They are as
 * wide as fits: the last one overlaps the one before it where that is no divisor. Where C is read
 * it is one, because C may be D and what the slice before stored must not be read again. */
constexpr int SLICE_ROWS = SWAP_AB ? BN : ROWS, TILE_COLUMNS = SWAP_AB ? ROWS : BN;
constexpr int TILE_ROW = TILE_COLUMNS * (int)sizeof(stored_type);
constexpr int SLICE_WIDTH = TILE_ROW % 128 == 0 || (TILE_ROW > 128 && !READ_C) ? 128
                            : TILE_ROW % 64 == 0 || (TILE_ROW > 64 && !READ_C) ? 64
                                                                               : 32;
constexpr int SLICE_COLUMNS = SLICE_WIDTH / (int)sizeof(stored_type);
constexpr int SLICE_BYTES = SLICE_ROWS * SLICE_WIDTH;
constexpr int SLICES = (TILE_COLUMNS + SLICE_COLUMNS - 1) / SLICE_COLUMNS;
constexpr int BUFFERS = STORE > 0 ? STORE : 1; /* of slices, in use with STORE > 0 */
static_assert(TILE_ROW % 32 == 0, "slices are at least 32 bytes wide");

/* The block starts with LAUNCH_REGISTERS for each thread, as __launch_bounds__ makes the compiler
 * choose. The producer needs few; it has what consumers leave, because 32 do not hold its
 * coordinates where it loads parts of a tile in several boxes. */
GT_DEVICE constexpr int at_most(int a, int b)
{
    return a < b ? a : b;
}
constexpr int LAUNCH_REGISTERS = at_most(65536 / (THREADS * MIN_BLOCKS) / 8 * 8, 240);
constexpr int CONSUMER_REGISTERS =
    at_most((LAUNCH_REGISTERS * (CONSUMERS + 1) - 32) / CONSUMERS / 8 * 8, 240);
constexpr int PRODUCER_REGISTERS =
    at_most(LAUNCH_REGISTERS * (CONSUMERS + 1) - CONSUMER_REGISTERS * CONSUMERS, 64);

/* SPLIT 2: where a block of the cluster leaves its sums for the others, in the place of the stages:
 * as D has them, rows a few words apart from each other. */
constexpr int SUMS_ROW = (SWAP_AB ? BM : BN) + 8;
static_assert(SPLIT != 2 || (SWAP_AB ? BN : BM) * SUMS_ROW * 4 <= STAGES * STAGE_BYTES,
              "room for the sums");

struct ring {
    unsigned char *stages, *slices;
    gt_mbarrier *full, *empty, *turn;
    int *answer;

    GT_DEVICE ring(unsigned char *shared)
    {
        stages = shared;
        slices = stages + STAGES * STAGE_BYTES;
        full = (gt_mbarrier *)(slices + CONSUMERS * STORE * SLICE_BYTES);
        empty = full + STAGES;
        turn = empty + STAGES;
        answer = (int *)(turn + 2);
    }
};

/* The next stage to fill or to read, and how often the ring has been gone round, modulo 2. */
struct position {
    int stage = 0;
    unsigned parity = 0;

    GT_DEVICE void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    GT_DEVICE void skip(int steps)
    {
        int ahead = stage + steps;
        parity ^= ahead / STAGES & 1;
        stage = ahead % STAGES;
    }
};

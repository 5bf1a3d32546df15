/* layout.cuh - of hopper_transposed/gemm.cu: sizes that follow from its parameters. Shared memory
 * holds the stages and then the barriers (hopper/ring.cuh). A stage holds DEPTH slabs of 32 k, each
 * of which holds A and then B. */
#ifndef GT_HOPPER_TRANSPOSED_LAYOUT_CUH
#define GT_HOPPER_TRANSPOSED_LAYOUT_CUH

typedef float Sum;
typedef float In;

/* What the kernel stores: elements of D, or the sums of a part of the depth. */
template <int split> struct StoredAs {
    typedef gt_element<GT_OUT>::type type;
};
template <> struct StoredAs<1> {
    typedef Sum type;
};
typedef StoredAs<(SPLIT > 0)>::type Stored;

constexpr int SLAB = 32;         /* k of a slab: 128 bytes */
constexpr int BK = DEPTH * SLAB; /* k of a stage */
constexpr int A_ALONG_MN = GT_PACKED_TRANS_A, B_ALONG_MN = !GT_PACKED_TRANS_B;
static_assert(A_ALONG_MN + B_ALONG_MN == 1,
              "one operand lies along k, the other one is transposed");

/* The length of a tile is ACROSS along the transposed operand, and WIDTH along the other one. */
constexpr int ACROSS = 64 * BLOCKS * CONSUMERS;
constexpr int BM = A_ALONG_MN ? ACROSS : WIDTH, BN = A_ALONG_MN ? WIDTH : ACROSS;
constexpr int THREADS = 128 * (CONSUMERS + 1);
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N; /* blocks that share operands; with SPLIT 2 a
                                                * cluster has SPLITS times as many */
/* Indices in the description's list of tensor maps. */
constexpr int MAP_A = PACK_A ? 2 : 0, MAP_B = PACK_B ? 3 : 1;
constexpr int MAP_ROW_PHASES = 4; /* of A's row phases from the second on */
static_assert(ROW_PHASES == 1 || (SPLIT == 0 && !A_ALONG_MN), "rows of B can begin anywhere");

constexpr int A_ENDS_WITH_D = 0; /* tiles of A are loaded whole */

/* Arrivals that release a stage: one of each warp that reads it, in each block that the stage's
 * producer writes to. */
constexpr int EMPTY_ARRIVALS = 4 * CONSUMERS * (CLUSTER_M + CLUSTER_N - 1);

/* Elements of a box's row of the transposed operand, which lies along m or n. */
GT_DEVICE constexpr int box_width(int)
{
    return 32;
}

constexpr int B_COLUMNS = BN; /* of B in a stage */
enum { LAST_BOX = 0, MAP_LAST = 0 }; /* all boxes of B are of one width */
constexpr int A_BYTES = BM * 128, B_BYTES = BN * 128;
constexpr int SLAB_BYTES = A_BYTES + B_BYTES, STAGE_BYTES = DEPTH * SLAB_BYTES;
constexpr int TRANSPOSED_AT = A_ALONG_MN ? 0 : A_BYTES, OTHER_AT = A_ALONG_MN ? A_BYTES : 0;

constexpr int PRODUCER_LEAST = 32, PRODUCER_MOST = 32; /* bounds on the registers of a producer's
                                                        * thread */

/* SPLIT 2: each block of the cluster leaves its sums for the others where the stages were: BM rows,
 * a few words longer than BN, so that neighbouring rows begin in different banks. */
constexpr int SUMS_ROW = BN + 4;
static_assert(SPLIT != 2 || BM * SUMS_ROW * 4 <= STAGES * STAGE_BYTES, "room for the sums");

constexpr int BARRIERS_AT = STAGES * STAGE_BYTES, TURNS = 0;

constexpr bool PACKS = PACK_A || PACK_B, CLUSTER_SPLIT = SPLIT == 2, EARLY_START = true;
enum { TURN_ARRIVALS = 1 }; /* an enum leaves no symbol in machine code */

#endif

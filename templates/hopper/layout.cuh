/* layout.cuh - of hopper/gemm.cu: sizes that follow from its parameters, and where things are in
 * shared memory:
 *
 *   0            STAGE_BYTES            SUBTILES_AT           BARRIERS_AT
 *   +------------+------------+- ... ---+----------+- ... ----+----------+--------------------+
 *   | A, B of    | A, B of    |         | subtiles of         | barriers | with STREAM: flags |
 *   | stage 0    | stage 1    |         | consumer 0, 1, ...  |          | of consumers       |
 *   +------------+------------+- ... ---+----------+- ... ----+----------+--------------------+
 *
 * With LOAD_C, load_c.cuh's barriers and flags follow. A stage holds DEPTH slabs of 128 bytes along k: BM rows of A, then B_COLUMNS columns of B, then
 * the next slab. ring.cuh shows the barriers. */
#ifndef GT_HOPPER_LAYOUT_CUH
#define GT_HOPPER_LAYOUT_CUH

typedef gt_wgmma_sum<GT_TYPE>::type Sum;
typedef gt_element<GT_TYPE>::type In;

/* What the kernel stores: elements of D, or the sums of a part of the depth. */
template <int split> struct StoredAs {
    typedef gt_element<GT_OUT>::type type;
};
template <> struct StoredAs<1> {
    typedef Sum type;
};
typedef StoredAs<(SPLIT > 0)>::type Stored;

constexpr int SLAB = 128 / (int)sizeof(In); /* k of a slab, whose rows are 128 bytes long */
constexpr int BK = DEPTH * SLAB;            /* k of a stage */
constexpr int K_MMA = SLAB / 4;             /* k of one wgmma */
constexpr int A_ALONG_MN = SWAP_AB ? !GT_TRANS_B : GT_PACKED_TRANS_A;
constexpr int B_ALONG_MN = SWAP_AB ? GT_TRANS_A : !GT_PACKED_TRANS_B;
constexpr int THREADS = 128 * (CONSUMERS + 1);
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N; /* blocks that share operands; with SPLIT 2 a
                                                * cluster has SPLITS times as many */
/* Indices in the description's list of tensor maps. */
constexpr int MAP_A = PACK_A ? 4 : SWAP_AB ? 1 : 0, MAP_B = PACK_B ? 5 : SWAP_AB ? 0 : 1;
constexpr int MAP_D = SPLIT ? 3 : 2;
constexpr int MAP_ROW_PHASES = 6; /* of A's row phases from the second on */
static_assert(ROW_PHASES == 1 ||
                  ((STORE > 0) == STORE_ROWS && SPLIT == 0 && !A_ALONG_MN && B_ALONG_MN),
              "rows of B can begin anywhere, and rows of D lie apart");

/* Whether only those rows of a tile of A are loaded that D has (LOADED_M in the description). */
constexpr int A_ENDS_WITH_D = !A_ALONG_MN && CLUSTER_N == 1 && ROW_PHASES == 1;

/* Rows of a tile that one consumer computes, and blocks of 64 rows among them. */
constexpr int ROWS = PINGPONG ? BM : BM / CONSUMERS;
constexpr int BLOCKS_64 = ROWS / 64;
static_assert(ROWS % 64 == 0 && BLOCKS_64 > 0, "wgmma has 64 rows");

/* Arrivals that release a stage: one of each consumer that reads it, in each block that the stage's
 * producer writes to. */
constexpr int EMPTY_ARRIVALS = (PINGPONG ? 1 : CONSUMERS) * (CLUSTER_M + CLUSTER_N - 1);

/* Elements of a box's row where an operand lies along m or n: as many as the widest swizzle that
 * divides the extent allows. */
GT_DEVICE constexpr int box_width(int extent)
{
    return extent % 64 == 0 ? 64 : extent % 32 == 0 ? 32 : 16;
}

/* Columns of B that a stage holds. With WIDE_BOXES 1 they are whole boxes of 64: wgmma reads as many
 * of the last box's as there are in the tile. With WIDE_BOXES 2 the last box is narrower than those
 * of 64 and has a swizzle of its own: its columns, LAST_N in the tile, are those of a second wgmma.
 * MAP_LAST is that box's tensor map, of A, B or packed B: with them the description has all the maps
 * that it may have. (An enum leaves no symbols in machine code.) */
enum {
    LAST_N = WIDE_BOXES == 2 ? BN % 64 : 0,
    LAST_BOX = (LAST_N + 15) / 16 * 16,
    MAP_LAST = PACK_B ? 15 : SWAP_AB ? 14 : 13
};
constexpr int B_COLUMNS = WIDE_BOXES == 1 ? (BN + 63) / 64 * 64 : BN - LAST_N + LAST_BOX;
static_assert(!WIDE_BOXES || B_ALONG_MN, "boxes of B along k are as wide as a slab");
static_assert(WIDE_BOXES < 2 || (BN > 64 && LAST_N > 0 && LAST_N <= 32), "a last box is narrow");
constexpr int A_BYTES = BM * 128, B_BYTES = B_COLUMNS * 128;
constexpr int SLAB_BYTES = A_BYTES + B_BYTES, STAGE_BYTES = DEPTH * SLAB_BYTES;

/* An epilogue subtile has SUBTILE_WIDTH bytes of a consumer's rows of D, and is swizzled by as much.
 * It has all these rows or, of more than 128 columns of D^T, half of them. Subtiles are as wide as
 * possible. Where a tile is no multiple of its subtiles, the last of them overlap those before.
 * That is not allowed where C is read, because C may be D: what the subtile before has stored must
 * not be read as C. */
constexpr int TILE_ROWS = SWAP_AB ? BN : ROWS, TILE_COLUMNS = SWAP_AB ? ROWS : BN;
constexpr int SUBTILE_ROWS = SWAP_AB && BN > 128 ? (BN + 15) / 16 * 8 : TILE_ROWS;
constexpr int TILE_ROW = TILE_COLUMNS * (int)sizeof(Stored);
constexpr int SUBTILE_WIDTH = TILE_ROW % 128 == 0 || (TILE_ROW > 128 && !READ_C) ? 128
                              : TILE_ROW % 64 == 0 || (TILE_ROW > 64 && !READ_C) ? 64
                                                                                 : 32;
constexpr int SUBTILE_COLUMNS = SUBTILE_WIDTH / (int)sizeof(Stored);
constexpr int SUBTILE_BYTES = SUBTILE_ROWS * SUBTILE_WIDTH;
constexpr int SUBTILES_ACROSS = (TILE_COLUMNS + SUBTILE_COLUMNS - 1) / SUBTILE_COLUMNS;
constexpr int SUBTILES = SUBTILES_ACROSS * (SUBTILE_ROWS < TILE_ROWS ? 2 : 1);
constexpr int BUFFERS = STORE > 0 ? STORE : 1; /* for subtiles; used with STORE > 0 only */
static_assert(STORE == 0 || TILE_ROW % 32 == 0 || (TILE_ROW % 16 == 0 && TILE_ROW > 32 && !READ_C),
              "subtiles are at least 32 bytes wide, and begin at multiples of 16 bytes");
static_assert(STORE == 0 || SUBTILE_COLUMNS % 16 == 0, "sixteen columns are filled at a time");
static_assert(STORE == 0 || !READ_C || TILE_ROWS % SUBTILE_ROWS == 0, "what is stored is not read");
static_assert(B_COLUMNS % 16 == 0 || !B_ALONG_MN, "boxes of B along n are at least 16 elements wide");

/* Bounds on the registers of a producer's thread. Where it loads the parts of a tile in several
 * boxes, 32 registers do not hold its coordinates. So it keeps what the consumers leave, up to 64.
 */
constexpr int PRODUCER_LEAST = 32, PRODUCER_MOST = 64;

/* SPLIT 2: each block of the cluster leaves its sums for the others where the stages were, arranged
 * as in D. The rows are an odd multiple of 8 words long, so that neighbouring rows begin in
 * different banks. */
constexpr int SUMS_COLUMNS = SWAP_AB ? BM : BN;
constexpr int SUMS_ROW = SUMS_COLUMNS + (SUMS_COLUMNS % 16 ? 0 : 8);
static_assert(SPLIT != 2 || (SWAP_AB ? BN : BM) * SUMS_ROW * 4 <= STAGES * STAGE_BYTES,
              "room for the sums");

constexpr int SUBTILES_AT = STAGES * STAGE_BYTES;
constexpr int BARRIERS_AT = SUBTILES_AT + CONSUMERS * STORE * SUBTILE_BYTES;
constexpr int TURNS = PINGPONG ? 2 : 0;

/* LOAD_C: subtiles that a consumer and its carrier hand over at a time, a portion; portions that the
 * consumer's buffers hold, and that its tile has. A whole tile is one portion, because a fence and
 * an arrival take longer than filling a buffer. */
enum {
    PORTION = BUFFERS == SUBTILES ? BUFFERS : 1,
    PORTIONS = BUFFERS / PORTION,
    TILE_PORTIONS = SUBTILES / PORTION
};

/* Whether the launch before this one is waited for: it copies operands or, with DEPENDENT, belongs to
 * the chain's last product. With EARLY, produce_all and consume_all wait for it themselves, when all
 * is ready that needs nothing of it. */
#define FOLLOWS (PACK_A || PACK_B || DEPENDENT)
constexpr bool PACKS = FOLLOWS && !EARLY, CLUSTER_SPLIT = SPLIT == 2, EARLY_START = true;
enum { TURN_ARRIVALS = 4 }; /* of a consumer: each warp; an enum leaves no symbol in machine code */

#endif

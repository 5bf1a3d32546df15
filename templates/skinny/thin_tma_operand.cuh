/* thin_tma_operand.cuh - part of thin_tma.cu, whose parameters it uses: operands from memory to
 * shared memory by TMA, and from there to the registers of tensor cores.
 *
 * A k block of both operands is 128 bytes along k, of ROWS rows of A and of the block's columns of
 * B:
 *
 *    A         128 bytes of k        B along k   128 bytes of k      B along n     box of columns
 *      row 0   +-------------+         column 0  +-------------+         k 0       +-----+-----+
 *      row 1   +-------------+         column 1  +-------------+         k 1       +-----+-----+
 *       ...                             ...                              ...  128 / SIZE of them
 *
 * TMA permutes the 16-byte chunks of a line by a pattern that repeats every eight lines, so that
 * ldmatrix reads all banks if the eight lines that it reads at a time differ modulo 8. An mma takes
 * 32 bytes of k as stored: a step. For lines along k ldmatrix gives exactly that. For lines along n
 * it transposes pairs of bytes. Elements of two bytes need nothing else. For single bytes a lane
 * gets columns 2 * group and 2 * group + 1 at the same k, which are then put into words of one
 * column each; the k that each lane of ldmatrix reads is chosen so that words hold four neighbours
 * along k. Elements of four bytes along n are read one by one, and the columns of two tiles are
 * mixed, so that the lanes of a read use all banks, too. */
#ifndef GT_SKINNY_THIN_TMA_OPERAND_CUH
#define GT_SKINNY_THIN_TMA_OPERAND_CUH

constexpr int SIZE = (int)sizeof(GT_IN);
constexpr int K_BLOCK = 128 / SIZE; /* values of k of a k_block */
constexpr int STEPS = 4;            /* of a k_block */
constexpr int SLOT_K = DEPTH * K_BLOCK;
constexpr int EIGHTS = ROWS / 8;   /* groups of rows of D */
constexpr int WARP_N = 16 * TILES; /* columns of a warp */
constexpr int BLOCK_N = WARPS_N * WARP_N;
constexpr int THREADS = 32 * WARPS_K * WARPS_N;

/* Tiles that have their columns mixed. */
constexpr int MIXED = !GT_TRANS_B && SIZE == 4 ? 2 : 1;
static_assert(TILES % MIXED == 0, "tiles as they are mixed");

/* Boxes of B along n: at most 128 bytes of columns each. */
constexpr int BOX_BYTES = GT_TRANS_B || BLOCK_N * SIZE > 128 ? 128 : BLOCK_N *SIZE;
constexpr int BOXES = GT_TRANS_B ? 1 : BLOCK_N * SIZE / BOX_BYTES;

constexpr int A_BYTES = ROWS * 128, B_BYTES = BLOCK_N * 128;
constexpr int K_BLOCK_BYTES = A_BYTES + B_BYTES, SLOT = DEPTH * K_BLOCK_BYTES;

static_assert(BOXES * BOX_BYTES == BLOCK_N * SIZE || GT_TRANS_B, "whole boxes");
static_assert(ROWS % 8 == 0 && BOX_BYTES >= 32, "lines as TMA swizzles them");

/* The block's first column of D. It has all rows. */
GT_DEVICE int block_column()
{
    return (int)blockIdx.x * BLOCK_N;
}

/* ---- to shared memory ---- */

/* The slots of WARPS_N warps side by side, and the barriers that tell which of them are loaded. */
struct Ring {
    char *slots;
    gt_mbarrier *full;
    int number;
    bool is_producer; /* whether this thread starts the loads */
};

GT_DEVICE Ring make_ring(char *shared)
{
    Ring ring;
    ring.is_producer = threadIdx.x % (32 * WARPS_N) == 0;
    ring.number = (int)threadIdx.x / (32 * WARPS_N);
    ring.slots = shared + ring.number * (RING * SLOT);
    ring.full =
        reinterpret_cast<gt_mbarrier *>(shared + WARPS_K * RING * SLOT) + ring.number * RING;
    return ring;
}

/* Barrier of the warps of a ring. */
GT_DEVICE void ring_sync(const Ring &ring)
{
    if (WARPS_N > 1)
        gt_named_barrier_sync(1 + ring.number, 32 * WARPS_N);
    else
        __syncwarp();
}

/* Starts the loads of slot number `index` of those that k is divided into. Zeros replace what lies
 * outside of the operands. */
GT_DEVICE void load(const gt_maps &maps, const Ring &ring, int slot, int index)
{
    const int column = block_column();
    char *to = ring.slots + slot * SLOT;
    gt_mbarrier *full = ring.full + slot;
    int k = index * SLOT_K;

    gt_mbarrier_arrive_expect_tx(full, SLOT);
#pragma unroll
    for (int k_block = 0; k_block < DEPTH; k_block++, to += K_BLOCK_BYTES, k += K_BLOCK) {
#pragma unroll
        for (int i = 0; i < BOXES; i++) {
            const int along_n = column + i * (BOX_BYTES / SIZE);
            gt_tma_load(to + A_BYTES + i * (K_BLOCK * BOX_BYTES), &maps.map[1], full,
                        GT_TRANS_B ? k : along_n, GT_TRANS_B ? along_n : k, (int)blockIdx.z);
        }
        gt_tma_load(to, &maps.map[0], full, k, 0, (int)blockIdx.z);
    }
}

/* Initialises the ring's barriers and starts the loads of its first slots. */
GT_DEVICE void begin(const gt_maps &maps, const Ring &ring, int index, int last)
{
#pragma unroll
    for (int slot = 0; slot < RING; slot++)
        gt_mbarrier_init(ring.full + slot, 1);
    gt_mbarrier_publish();
#pragma unroll 1
    for (int slot = 0; slot < RING && index < last; slot++, index += WARPS_K)
        load(maps, ring, slot, index);
}

/* ---- to registers ---- */

/* What an mma takes of an operand in a step; of a widened one, two of them. */
struct Taken {
    unsigned word[1 + WIDENED][4];
};

/* Where a lane reads, in the first step of a k block: of the first eight rows of A, and of tile 0
 * of the warp's columns of B. */
struct Places {
    int a, b;
    unsigned even, odd; /* how bytes of two columns become words of one */
};

/* The k of the line along n whose address a lane gives to ldmatrix. Two matrices fill the same
 * words; the lanes of each give, for each member, the lines of two of the four k that it is to
 * have. */
GT_DEVICE int own_k(int matrix, int line)
{
    if (SIZE == 2)
        return matrix / 2 * 8 + line;
    return matrix / 2 * 16 + line / 2 * 4 + ((line / 4 ^ matrix) & 1) * 2 + line % 2;
}

GT_DEVICE Places make_places()
{
    const int lane = (int)threadIdx.x % 32, matrix = lane / 8, line = lane % 8;
    const int column = (int)threadIdx.x / 32 % WARPS_N * WARP_N;
    Places places;

    places.a = line * 128 + (matrix ^ line) * 16;
    if (GT_TRANS_B) {
        places.b = (column + matrix % 2 * 8 + line) * 128 + (matrix / 2 ^ line) * 16;
    } else if (SIZE == 4) {
        const int group = lane / 4, k = lane % 4;
        places.b =
            column / 32 * (K_BLOCK * 128) + k * 128 + (group / 4 * 4 ^ k) * 16 + group % 4 * 4;
    } else {
        const int k = own_k(matrix, line), pattern = k % 8 / (128 / BOX_BYTES);
        const int chunk = column * SIZE % BOX_BYTES / 16 + (SIZE == 2 ? matrix % 2 : 0);
        places.b = column * SIZE / BOX_BYTES * (K_BLOCK * BOX_BYTES) + k * BOX_BYTES +
                   (chunk ^ pattern) * 16;
    }
    places.even = lane % 4 < 2 ? 0x6420 : 0x2064;
    places.odd = lane % 4 < 2 ? 0x7531 : 0x3175;
    return places;
}

/* Words of a step as an mma takes them; of a widened one the first half has the lower two of four
 * neighbours along k in the place of the lower half of k, for both operands. */
template <int words> GT_DEVICE void take(const unsigned *word, Taken &taken)
{
#pragma unroll
    for (int i = 0; i < words; i++)
        if (!WIDENED)
            taken.word[0][i] = word[i];
        else {
            constexpr int across = words / 2;
            unsigned *half = taken.word[i / across % (1 + WIDENED)];
            widen(word[i], half[i % across], half[across + i % across]);
        }
}

/* Steps 2 * pair and 2 * pair + 1 of eight rows of A. */
GT_DEVICE void load_a(const char *k_block, const Places &places, int eight, int pair,
                      Taken (&to)[2])
{
    unsigned word[4];
    gt_ldmatrix_x4(word, k_block + ((places.a + eight * 1024) ^ pair * 64));
    take<2>(word, to[0]);
    take<2>(word + 2, to[1]);
}

/* A step of a tile of B. */
GT_DEVICE void load_b(const char *b, const Places &places, int step, int tile, Taken &to)
{
    unsigned word[4];

    if (GT_TRANS_B) {
        gt_ldmatrix_x4(word, b + ((places.b + tile * (16 * 128)) ^ step * 32));
    } else if (SIZE == 4) {
#pragma unroll
        for (int i = 0; i < 4; i++) /* chunk 2 * tile + i % 2 of k, of k + 4 */
            word[i] = *reinterpret_cast<const unsigned *>(
                b + tile / 2 * (K_BLOCK * 128) + step * 1024 + i / 2 * 512 +
                (places.b ^ ((tile % 2 * 2 + i % 2) ^ i / 2 * 4) * 16));
    } else {
        const int bytes = tile * 16 * SIZE;
        gt_ldmatrix_x4_trans(word, b + step * (32 / SIZE * BOX_BYTES) +
                                       bytes / BOX_BYTES * (K_BLOCK * BOX_BYTES) +
                                       (places.b ^ bytes % BOX_BYTES));
    }
    if (!GT_TRANS_B && SIZE == 1) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const unsigned first = word[2 * half], second = word[2 * half + 1];
            word[2 * half] = gt_pick_bytes(first, second, places.even);
            word[2 * half + 1] = gt_pick_bytes(first, second, places.odd);
        }
    }
    take<4>(word, to);
}

/* Column of a lane's sums in a tile, or in two mixed ones: row `group` of the mma (half 0) or row
 * group + 8 (half 1). */
GT_DEVICE int column_of(int tile, int group, int half)
{
    if (MIXED == 2)
        return group / 4 * 16 + (tile % 2 * 2 + half) * 4 + group % 4;
    return !GT_TRANS_B && SIZE == 1 ? group * 2 + half : half * 8 + group;
}

#endif

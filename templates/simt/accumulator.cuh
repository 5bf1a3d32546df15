/* accumulator.cuh - of gemm.cu and tma.cu, whose parameters it uses: loads from shared memory to
 * registers, and the products. They define X and Y, the operands' tiles in shared memory: SIZE
 * floats in lines of LINE, which lie along k if ALONG_K, and then swizzled(row, chunk) is where
 * piece `chunk` of 16 bytes of row `row` stands in its line. */
#ifndef GT_SIMT_ACCUMULATOR_CUH
#define GT_SIMT_ACCUMULATOR_CUH

/* The part of an operand's tile that a lane multiplies: T elements, of L lanes' worth. They are
 * loaded in vectors of four; if T is no multiple of four, the last vector has VECTOR of them. */
template <class OPERAND, int T, int L> struct Fragment {
    static_assert(T % 4 != 3, "no load has three elements");
    static constexpr int VECTOR = T % 4 ? T % 4 : 4; /* the elements of all vectors divide by it */
    static constexpr bool ALONG_K = OPERAND::ALONG_K;
    static constexpr int DEPTH = ALONG_K ? 4 : 1; /* k steps of one load */
    static constexpr int BUFFERS = REG_DOUBLE ? 2 : 1;
    float value[BUFFERS][T][DEPTH];

    /* Place of element e of a lane in the warp tile. */
    static GT_DEVICE int at(int e, int lane)
    {
        if (ALONG_K)
            return e * L + lane;
        constexpr int whole = T / 4 * 4;
        if (whole == 0 || whole == T) /* vectors of one size */
            return e / VECTOR * (L * VECTOR) + lane * VECTOR + e % VECTOR;
        return e < whole ? e / 4 * (L * 4) + lane * 4 + e % 4
                         : whole * L + lane * VECTOR + e % 4;
    }

    static constexpr int LOADS = ALONG_K ? T : (T + 3) / 4;

    /* Load number `load` of the LOADS that step k of a stage needs, unless an earlier step has done
     * it. `origin`: the first element of the warp tile along m or n. */
    GT_DEVICE void load(const float *stage, int origin, int lane, int first, int k, int load)
    {
        int buffer = k / DEPTH % BUFFERS;
        if constexpr (ALONG_K) {
            if (k % DEPTH == 0) {
                int row = origin + at(load, lane), chunk = OPERAND::swizzled(row, (first + k) / 4);
                gt_load<4>(value[buffer][load], stage + row * OPERAND::LINE + chunk * 4);
            }
        } else {
            constexpr int most = T < 4 ? T : 4;
            const int count = T % 4 == 0 || load < T / 4 ? most : VECTOR;
            const float *from = stage + (first + k) * OPERAND::LINE + origin + at(load * 4, lane);
            float vector[most];
            if (count == most)
                gt_load<most>(vector, from);
            else
                gt_load<VECTOR>(vector, from);
#pragma unroll
            for (int u = 0; u < count; u++)
                value[buffer][load * 4 + u][0] = vector[u];
        }
    }
    /* The same of an operand across k, from where the lane's first element of step 0 stands. */
    GT_DEVICE void load_from(const float *first, int k, int load)
    {
        static_assert(T % 4 == 0, "vectors of one size");
        float vector[4];
        gt_load<4>(vector, first + k * OPERAND::LINE + at(load * 4, 0));
#pragma unroll
        for (int u = 0; u < 4; u++)
            value[k % BUFFERS][load * 4 + u][0] = vector[u];
    }
    GT_DEVICE float get(int e, int k) const
    {
        return value[k / DEPTH % BUFFERS][e][k % DEPTH];
    }
};

constexpr int STAGE = X::SIZE + Y::SIZE; /* floats */

/* Which warp tile and slice of k a thread works on, and where in the warp tile its lane stands. */
struct Position : gt_warp_tile {
    int lane_row, lane_column;
};

GT_DEVICE Position position()
{
    const int lane = threadIdx.x % 32;
    Position p;
    static_cast<gt_warp_tile &>(p) = gt_warp_tile_of<BM, BN, WM, WN>();
    p.lane_row = lane / LANES_N;
    p.lane_column = lane % LANES_N;
    return p;
}

struct Accumulator {
    Fragment<X, TM, LANES_M> x;
    Fragment<Y, TN, LANES_N> y;
    float sum[TM][TN];

    GT_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0.0f;
    }
    static constexpr int LOADS = Fragment<X, TM, LANES_M>::LOADS + Fragment<Y, TN, LANES_N>::LOADS;

    /* Load number `load` of LOADS for step k of the body that starts at step `body` of the tile. */
    GT_DEVICE void load(const float *stage, const Position &p, int body, int k, int load)
    {
        constexpr int FIRST = Fragment<X, TM, LANES_M>::LOADS;
        if (load < FIRST)
            x.load(stage, p.row, p.lane_row, p.slice * STEPS + body, k, load);
        else
            y.load(stage + X::SIZE, p.column, p.lane_column, p.slice * STEPS + body, k,
                   load - FIRST);
    }
    GT_DEVICE void load(const float *stage, const Position &p, int body, int k)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            load(stage, p, body, k, i);
    }
    GT_DEVICE void fma(int i, int j, int k)
    {
        sum[i][j] = fmaf(x.get(i, k), y.get(j, k), sum[i][j]);
    }
    /* Row `line` of the products of step k, or column in the orders by columns. The order of the
     * products decides which operands the register reuse cache holds. */
    static constexpr int LINES = FMA_ORDER < 2 ? TM : TN;
    GT_DEVICE void multiply(int k, int line)
    {
        constexpr int LENGTH = FMA_ORDER < 2 ? TN : TM;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) {
            int at = FMA_ORDER % 2 && line % 2 ? LENGTH - 1 - e : e;
            fma(FMA_ORDER < 2 ? line : at, FMA_ORDER < 2 ? at : line, k);
        }
    }
    GT_DEVICE void multiply(int k)
    {
#pragma unroll
        for (int line = 0; line < LINES; line++)
            multiply(k, line);
    }
    /* The products of step k with the loads of another step between their lines. */
    GT_DEVICE void multiply_and_load(int k, const float *stage, const Position &p, int body,
                                     int k_load)
    {
#pragma unroll
        for (int line = 0; line < LINES; line++) {
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                if (i * LINES / LOADS == line)
                    load(stage, p, body, k_load, LOAD_ORDER ? LOADS - 1 - i : i);
            multiply(k, line);
        }
    }
};

#endif

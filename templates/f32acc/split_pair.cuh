/* split_pair.cuh - of f32acc/pair.cu: writes a tile's floats as pairs of FP16 numbers.
 *
 * A factor of the tile, a power of two, brings its largest magnitude to 2^14 or more, below 2^15.
 * Of a scaled value x the pair is
 *
 *     high = x rounded to 11 bits     low = (x - high) * 2^11 rounded to 11 bits
 *
 * so that x = high + low * 2^-11 up to 2^-23 |x|, one bit of the float's 24; three quarters of all
 * floats lose nothing. Below 2^-12 low is subnormal, and its last bit stays 2^-35 of x's unit, which
 * is half of it too much below 2^-13, where a value is 2^-27 of the tile's largest. low * low, which
 * is left out, is 2^-22 of a product at most.
 *
 * The tile's word is the factor's exponent, which consumers divide by, or has the bit NO_PAIRS:
 * where the tile has an infinity or NaN, where factors of two tiles might leave the exponents of
 * float, where a value is smaller still, and where a row has some nonzeros but fewer than FEW along
 * the tile's k. FP32 multiply-adds may give products of such rows exactly (of an identity, say, or
 * of a permutation), and these are not to lose a bit. A tile that has less than FEW of k counts
 * those of the tile before it, too. */
#ifndef GT_F32ACC_SPLIT_PAIR_CUH
#define GT_F32ACC_SPLIT_PAIR_CUH

constexpr unsigned NO_PAIRS = 1u << 16; /* far above the exponents, and their sums */
constexpr unsigned WORD_BIAS = 64;      /* added to the exponent, so that words are not negative */
constexpr unsigned LARGEST_AT = 14, RANGE = 27;                         /* exponents of the above */
constexpr unsigned LEAST_EXPONENT = 127 - 40, MOST_EXPONENT = 127 + 60; /* of a tile's largest */
constexpr int FEW = 8;

/* What of a tile's values decides about its word; of zeros `least` is the largest number. */
struct PairFacts {
    unsigned largest, least; /* bits of magnitudes; of the least nonzero, minus 1 */
    int few;                 /* 1: a row has few nonzeros */

    GT_DEVICE void see(float x)
    {
        const unsigned magnitude = __float_as_uint(x) & 0x7fffffffu;
        largest = max(largest, magnitude);
        least = min(least, magnitude - 1);
    }

    GT_DEVICE unsigned word() const
    {
        const unsigned exponent = largest >> 23;
        if (largest == 0)
            return WORD_BIAS;
        if (few || exponent < LEAST_EXPONENT || exponent >= MOST_EXPONENT ||
            least + 1 < (exponent - RANGE) << 23)
            return NO_PAIRS;
        return WORD_BIAS + exponent - 127 - LARGEST_AT;
    }
};

/* Two floats rounded to FP16, x in the lower half. */
GT_DEVICE unsigned half_pair(float x, float y)
{
    unsigned both;
#ifdef GT_EMULATE
    both = gt_from_float<GT_F16>(x).bits | (unsigned)gt_from_float<GT_F16>(y).bits << 16;
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
#endif
    return both;
}

/* Makes the facts those of all the block's threads. */
GT_DEVICE void share_facts(PairFacts &facts, int thread)
{
    constexpr int WARPS = GT_PACK_THREADS / 32;
    GT_STATIC_SHARED(PairFacts, found, [WARPS]);

#pragma unroll
    for (int bits = 16; bits > 0; bits /= 2) {
        facts.largest = max(facts.largest, __shfl_xor_sync(0xffffffffu, facts.largest, bits));
        facts.least = min(facts.least, __shfl_xor_sync(0xffffffffu, facts.least, bits));
        facts.few |= __shfl_xor_sync(0xffffffffu, facts.few, bits);
    }
    if (thread % 32 == 0)
        found[thread / 32] = facts;
    gt_sync();
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        facts.largest = max(facts.largest, found[w].largest);
        facts.least = min(facts.least, found[w].least);
        facts.few |= found[w].few;
    }
}

/* Of a tile that has less than FEW of k: 1 if a row has nonzeros there, but with those of the tile
 * before fewer than FEW. There is a tile before, because K is 32 at least. Four threads have a row. */
template <int way> GT_DEVICE int few_at_end(const SplitTile &tile, int thread)
{
    constexpr int SIDE = GT_PACK_THREADS / PACK_TILE, OWN = 1 << 16;
    const long long row = tile.row + thread / SIDE, step = way == TRANSPOSED ? tile.from.ld : 1;
    const unsigned *at = tile.from.first + (way == TRANSPOSED ? row : row * tile.from.ld) +
                         (tile.k - PACK_TILE + thread % SIDE) * step;
    int left = row < tile.rows ? PACK_TILE + (int)(tile.depth - tile.k) - thread % SIDE : 0;
    int nonzeros = 0; /* OWN for each that is the tile's own, and 1 for each of both tiles */

#pragma unroll 1 /* rarely run */
    for (; left > 0; left -= SIDE, at += SIDE * step)
        if (*at << 1)
            nonzeros += left > (int)(tile.depth - tile.k) ? 1 : OWN + 1;
#pragma unroll
    for (int bits = SIDE / 2; bits > 0; bits /= 2)
        nonzeros += __shfl_xor_sync(0xffffffffu, nonzeros, bits);
    return nonzeros >= OWN && nonzeros % OWN < FEW;
}

/* The facts of the thread's values of a tile. */
template <int way> GT_DEVICE PairFacts facts_of(const SplitTile &tile, int thread)
{
    typedef SplitPiece<way> piece_type;
    /* The lanes that have a row together, in one round or (transposed) in all of them. */
    constexpr int SIDE = way == TRANSPOSED ? 4 : 8;
    static_assert(SIDE * 8 * (way == TRANSPOSED ? piece_type::rounds : 1) == PACK_TILE, "a row");
    const bool ends = way != DIRECT && tile.depth - tile.k < FEW;
    PairFacts facts = {0, 0xffffffffu, 0};
    int nonzeros = 0;

#pragma unroll 1
    for (int i = 0; i < piece_type::rounds; i++) {
        const piece_type piece(i, thread);
        float x[8];
        tile.load<way>(x, piece.row, piece.column);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            facts.see(x[j]);
            nonzeros += x[j] != 0.0f;
        }
        if (way == TRANSPOSED && i + 1 < piece_type::rounds)
            continue;
#pragma unroll
        for (int bits = SIDE / 2; bits > 0; bits /= 2)
            nonzeros += __shfl_xor_sync(0xffffffffu, nonzeros, bits);
        facts.few |= !ends && nonzeros > 0 && nonzeros < FEW;
        nonzeros = 0;
    }
    if (ends)
        facts.few = few_at_end<way>(tile, thread);
    return facts;
}

/* Stores the pairs of the thread's values, multiplied by `factor`. */
template <int way> GT_DEVICE void store_pairs(const SplitTile &tile, float factor, int thread)
{
    typedef SplitPiece<way> piece_type;

#pragma unroll 1
    for (int i = 0; i < piece_type::rounds; i++) {
        const piece_type piece(i, thread);
        gt_vec<unsigned, 4> high, low;
        float x[8];
        tile.load<way>(x, piece.row, piece.column);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float one = x[2 * j] * factor, other = x[2 * j + 1] * factor;
            const unsigned both = half_pair(one, other);
            high.at[j] = both;
            low.at[j] = half_pair((one - gt_f16_value(both & 0xffff)) * 2048.0f,
                                  (other - gt_f16_value(both >> 16)) * 2048.0f);
        }
        if (tile.has(piece.row)) {
            tile.store(0, piece.row, piece.column, high);
            tile.store(1, piece.row, piece.column, low);
        }
    }
}

/* Values are read twice, the second time from shared memory or from the SM's cache. */
template <int way> GT_DEVICE void split_store(const SplitTile &tile, int thread)
{
    PairFacts facts = facts_of<way>(tile, thread);

    share_facts(facts, thread);
    const unsigned word = facts.word();
    if (thread == 0)
        *tile.word = (int)word;
    store_pairs<way>(tile, __uint_as_float((127 + WORD_BIAS - word % NO_PAIRS) << 23), thread);
}

#endif

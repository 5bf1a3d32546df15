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
 * where the tile has an infinity (a pair holds NaN), where factors of two tiles might leave the
 * exponents of float, where a value is smaller still, and where a row has some nonzeros but fewer
 * than FEW along the tile's k. FP32 multiply-adds may give products of such rows exactly (of an
 * identity, say, or of a permutation), and these are not to lose a bit. A tile that has less than
 * FEW of k counts those of the tile before it, too. */
#ifndef GT_F32ACC_SPLIT_PAIR_CUH
#define GT_F32ACC_SPLIT_PAIR_CUH

constexpr unsigned NO_PAIRS = 1u << 16; /* far above the exponents, and their sums */
constexpr unsigned WORD_BIAS = 64;      /* added to the exponent, so that words are not negative */
constexpr unsigned LARGEST_AT = 14, RANGE = 27;                         /* exponents of the above */
constexpr unsigned LEAST_EXPONENT = 127 - 40, MOST_EXPONENT = 127 + 60; /* of a tile's largest */
constexpr int FEW = 8;

/* What of a tile's values decides about its word, found by all threads of the block together. */
struct PairFacts {
    unsigned largest, least; /* bits of the largest magnitude, and of the least one but 0 */
    int few;                 /* 1: a row has few nonzeros */
    int nonzeros[PACK_TILE]; /* of a row; used where the tile has zeros */

    GT_DEVICE unsigned word() const
    {
        const unsigned exponent = largest >> 23;
        if (largest == 0)
            return WORD_BIAS;
        if (few || exponent < LEAST_EXPONENT || exponent >= MOST_EXPONENT ||
            least < (exponent - RANGE) << 23)
            return NO_PAIRS;
        return WORD_BIAS + exponent - 127 - LARGEST_AT;
    }
};

GT_DEVICE PairFacts &pair_facts()
{
    GT_STATIC_SHARED(PairFacts, facts, );
    return facts;
}

GT_DEVICE void split_begin(const SplitTile &)
{
    pair_facts().largest = 0;
    pair_facts().least = 0xffffffffu;
    pair_facts().few = 0;
}

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

/* The largest (the least) of all lanes. */
GT_DEVICE unsigned largest_lane(unsigned value)
{
#ifdef GT_EMULATE
    for (int bits = 16; bits > 0; bits /= 2)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, bits));
    return value;
#else
    return __reduce_max_sync(0xffffffffu, value);
#endif
}

GT_DEVICE unsigned least_lane(unsigned value)
{
    return ~largest_lane(~value);
}

/* Of a tile that has less than FEW of k: 1 if a row has nonzeros there, but with those of the tile
 * before fewer than FEW. There is a tile before, because K is 32 at least. SIDE neighbouring
 * threads have a row. */
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

/* Finds the largest magnitude of the tile and the least, which may be 0. NaN is neither: max and
 * min keep what they had. */
template <int way> GT_DEVICE void find_range(const SplitValues<way> &values, int thread)
{
    float largest = 0.0f, least = __uint_as_float(0x7f800000u);

#pragma unroll
    for (int i = 0; i < SplitValues<way>::ROUNDS; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            largest = max(largest, fabsf(values.x[i][j]));
            least = min(least, fabsf(values.x[i][j]));
        }
    const unsigned most = largest_lane(__float_as_uint(largest));
    const unsigned fewest = least_lane(__float_as_uint(least));
    if (thread % 32 == 0) {
        atomicMax(&pair_facts().largest, most);
        atomicMin(&pair_facts().least, fewest);
    }
    gt_sync();
}

/* The same of a tile that has zeros: finds the least magnitude but 0, and whether a row has few
 * nonzeros. */
template <int way>
GT_DEVICE void find_few(const SplitTile &tile, const SplitValues<way> &values, int thread)
{
    const SplitPlace<way> place(thread);
    PairFacts &facts = pair_facts();
    unsigned least = 0xffffffffu; /* less 1, of which 0 is the largest */

    gt_sync(); /* the others know that there are zeros */
    if (thread < PACK_TILE)
        facts.nonzeros[thread] = 0;
    if (thread == 0)
        facts.least = 0xffffffffu;
    gt_sync();
#pragma unroll
    for (int i = 0; i < SplitValues<way>::ROUNDS; i++) {
        int nonzeros = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            least = min(least, (__float_as_uint(values.x[i][j]) & 0x7fffffffu) - 1);
            nonzeros += values.x[i][j] != 0.0f;
        }
        atomicAdd(&facts.nonzeros[place.row + SplitPlace<way>::down(i)], nonzeros);
    }
    least = least_lane(least);
    if (thread % 32 == 0)
        atomicMin(&facts.least, least + 1 > 0 ? least + 1 : 0xffffffffu);
    gt_sync();
    if (way != DIRECT && tile.depth - tile.k < FEW) {
        if (few_at_end<way>(tile, thread))
            facts.few = 1;
    } else if (thread < PACK_TILE && facts.nonzeros[thread] > 0 && facts.nonzeros[thread] < FEW) {
        facts.few = 1;
    }
    gt_sync();
}

/* Stores the pairs of the thread's values, multiplied by `factor`. */
template <int way>
GT_DEVICE void store_pairs(const SplitTile &tile, const SplitValues<way> &values, float factor,
                           int thread)
{
    const SplitStores<way> stores(tile, thread);

#pragma unroll
    for (int i = 0; i < SplitValues<way>::ROUNDS; i++) {
        const float *const x = values.x[i];
        gt_vec<unsigned, 4> part[STORED];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float one = x[2 * j] * factor, other = x[2 * j + 1] * factor;
            const unsigned high = half_pair(one, other);
            part[0].at[j] = high;
            part[1].at[j] = half_pair((one - gt_f16_value(high & 0xffff)) * 2048.0f,
                                      (other - gt_f16_value(high >> 16)) * 2048.0f);
        }
        stores.store(i, part);
    }
}

template <int way> GT_DEVICE void split_store(const SplitTile &tile, int thread)
{
    const SplitValues<way> values(tile, thread);

    find_range<way>(values, thread);
    if (pair_facts().least == 0)
        find_few<way>(tile, values, thread);
    const unsigned word = pair_facts().word();
    if (thread == 0)
        *tile.word = (int)word;
    store_pairs<way>(tile, values, __uint_as_float((127 + WORD_BIAS - word % NO_PAIRS) << 23),
                     thread);
}

#endif

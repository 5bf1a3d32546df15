/* mma_emulate.h - the functions of mma.cuh for the emulator (tests/emu): plain C++ over the
 * values that the lanes of a warp hand to each other.
 *
 * More severe than the hardware: every lane's row address must be a multiple of 16 inside shared
 * memory, a lane's row is read when that lane arrives, so that what other lanes store needs a
 * barrier, and what the lanes together are given must come from all 32. */
#ifndef GT_MMA_EMULATE_H
#define GT_MMA_EMULATE_H

/* What one lane hands to the others. */
#define GT_EMU_GATHER_BYTES 128

extern "C" {
/* Hands `bytes` (at most GT_EMU_GATHER_BYTES) to the warp; of lane i they are found at the result
 * plus i * GT_EMU_GATHER_BYTES until the lane gathers again. */
const void *gt_emu_gather(const void *mine, int bytes, const char *file, int line);
/* Ends the launch unless `bytes` at an address lie in shared memory, at a multiple of `bytes`. */
void gt_emu_check_shared(const void *address, int bytes, const char *file, int line);
/* As in tests/emu/numbers.h. */
float gt_emu_f8_sum(float sum, const double *products, int count);
}

template <class T> inline const T *gt_emu_of_lane(const void *gathered, int lane)
{
    return reinterpret_cast<const T *>(static_cast<const char *>(gathered) +
                                       lane * GT_EMU_GATHER_BYTES);
}

template <int count, bool trans>
inline void gt_emu_ldmatrix(unsigned (&to)[count], const void *row, const char *file, int line)
{
    unsigned short own[8];
    gt_emu_check_shared(row, 16, file, line);
    __builtin_memcpy(own, row, 16);
    const void *rows = gt_emu_gather(own, 16, file, line);
    int group = GT_EMU_LANE / 4, member = GT_EMU_LANE % 4;
    for (int i = 0; i < count; i++) {
        unsigned part[2];
        for (int e = 0; e < 2; e++)
            part[e] = trans ? gt_emu_of_lane<unsigned short>(rows, i * 8 + member * 2 + e)[group]
                            : gt_emu_of_lane<unsigned short>(rows, i * 8 + group)[member * 2 + e];
        to[i] = part[0] | part[1] << 16;
    }
}

#define GT_EMU_LDMATRIX(name, count, trans)                         \
    inline void name(unsigned(&to)[count], const void *row)         \
    {                                                               \
        gt_emu_ldmatrix<count, trans>(to, row, __FILE__, __LINE__); \
    }
GT_EMU_LDMATRIX(gt_ldmatrix_x1, 1, false)
GT_EMU_LDMATRIX(gt_ldmatrix_x1_trans, 1, true)
GT_EMU_LDMATRIX(gt_ldmatrix_x2, 2, false)
GT_EMU_LDMATRIX(gt_ldmatrix_x2_trans, 2, true)
GT_EMU_LDMATRIX(gt_ldmatrix_x4, 4, false)
GT_EMU_LDMATRIX(gt_ldmatrix_x4_trans, 4, true)

/* The value of a binary floating-point number of 1 + exponent + fraction bits.  Only IEEE formats
 * have infinities; e4m3 has NaN where all bits are set. */
template <int exponent, int fraction, bool ieee> inline float gt_emu_decode(unsigned bits)
{
    int power = (int)(bits >> fraction & ((1u << exponent) - 1)), top = (1 << exponent) - 1;
    int bias = (1 << (exponent - 1)) - 1;
    float sign = bits >> (exponent + fraction) & 1 ? -1.0f : 1.0f;
    unsigned digits = bits & ((1u << fraction) - 1);
    if (ieee && power == top)
        return digits ? __builtin_nanf("") : sign * __builtin_inff();
    if (!ieee && power == top && digits == (1u << fraction) - 1)
        return __builtin_nanf("");
    if (power == 0)
        return sign * __builtin_ldexpf((float)digits, 1 - bias - fraction);
    return sign * __builtin_ldexpf((float)(digits | 1u << fraction), power - bias - fraction);
}

/* float -> f16, to nearest even. */
inline unsigned gt_emu_encode_f16(float value)
{
    unsigned bits = gt_emu_bits(value), sign = bits >> 16 & 0x8000u;
    float size = __builtin_fabsf(value);
    if (value != value)
        return 0x7fffu;
    if (size >= 65520.0f)
        return sign | 0x7c00u;
    if (size < 6.103515625e-5f) /* below the least normal number: steps of 2^-24 */
        return sign | (unsigned)__builtin_rintf(size * 16777216.0f);
    unsigned rounded = (bits & 0x7fffffffu) + 0xfffu + (bits >> 13 & 1);
    return sign | ((rounded >> 13) - (112u << 10));
}

/* How the registers of A and B hold elements: E of them, each a VALUE. */
struct gt_emu_f16 {
    typedef float value;
    static constexpr int E = 2;
    static float get(unsigned bits, int e)
    {
        return gt_emu_decode<5, 10, true>(bits >> 16 * e & 0xffffu);
    }
};
struct gt_emu_bf16 {
    typedef float value;
    static constexpr int E = 2;
    static float get(unsigned bits, int e)
    {
        return gt_emu_from_bits<float>((bits >> 16 * e) << 16);
    }
};
struct gt_emu_tf32 {
    typedef float value;
    static constexpr int E = 1;
    static float get(unsigned bits, int)
    {
        return gt_emu_from_bits<float>(bits & 0xffffe000u);
    }
};
struct gt_emu_s8 {
    typedef int value;
    static constexpr int E = 4;
    static int get(unsigned bits, int e)
    {
        return (signed char)(bits >> 8 * e);
    }
};
struct gt_emu_e4m3 {
    typedef float value;
    static constexpr int E = 4;
    static float get(unsigned bits, int e)
    {
        return gt_emu_decode<4, 3, false>(bits >> 8 * e & 0xffu);
    }
};
struct gt_emu_e5m2 {
    typedef float value;
    static constexpr int E = 4;
    static float get(unsigned bits, int e)
    {
        return gt_emu_decode<5, 2, true>(bits >> 8 * e & 0xffu);
    }
};

/* The part of A and B that a lane holds: IN_A and IN_B registers, element by element. */
template <class IN, int IN_A, int IN_B> struct gt_emu_mma_part {
    typename IN::value a[IN_A * IN::E], b[IN_B * IN::E];
};

/* Adds A B to the lane's elements of D, from what every lane has handed over.  Not watched by the
 * sanitizers, because it would be half of all the emulator's time; it touches nothing of the
 * kernel's but d. */
template <class IN, int rows, int IN_A, int IN_B, class D>
__attribute__((no_sanitize("address", "undefined"))) inline void
gt_emu_mma_add(D *d, const void *gathered, int lane)
{
    constexpr int E = IN::E, HALF = 4 * E; /* columns of a register of A across the warp */
    constexpr long APART = GT_EMU_GATHER_BYTES;
    typedef gt_emu_mma_part<IN, IN_A, IN_B> part;
    const char *of_row = static_cast<const char *>(gathered) + lane / 4 * 4 * APART;
    for (int i = 0; i < rows / 4; i++) {
        int column = lane % 4 * 2 + i % 2, lower = i / 2; /* of the two halves of the rows */
        const char *of_column = static_cast<const char *>(gathered) + column * 4 * APART;
        D sum = 0, product;
        double products[IN_B * HALF];
        for (int half = 0; half < IN_B; half++)
            for (int k = 0; k < HALF; k++) {
                product =
                    reinterpret_cast<const part *>(of_row + k / E * APART)
                        ->a[(half * (rows / 8) + lower) * E + k % E] *
                    reinterpret_cast<const part *>(of_column + k / E * APART)->b[half * E + k % E];
                products[half * HALF + k] = product;
                sum += product;
            }
        if (IN::E == 4 && D(0.5f) != 0) /* 8-bit floats */
            d[i] = gt_emu_f8_sum(d[i], products, IN_B * HALF);
        else
            d[i] += sum;
    }
}

/* Adds A B to the lane's elements of D: two of row `group` and, if A has 16 rows, two of group + 8.
 * IN_A, IN_B: registers of A and of B. */
template <class IN, int rows, int IN_A, int IN_B, class D>
inline void gt_emu_mma(D *d, const unsigned *a, const unsigned *b, const char *file, int line)
{
    gt_emu_mma_part<IN, IN_A, IN_B> own;
    static_assert(sizeof own <= GT_EMU_GATHER_BYTES, "a lane's values fit");
    for (int i = 0; i < IN_A * IN::E; i++)
        own.a[i] = IN::get(a[i / IN::E], i % IN::E);
    for (int i = 0; i < IN_B * IN::E; i++)
        own.b[i] = IN::get(b[i / IN::E], i % IN::E);
    gt_emu_mma_add<IN, rows, IN_A, IN_B>(d, gt_emu_gather(&own, sizeof own, file, line),
                                         GT_EMU_LANE);
}

#define GT_EMU_MMA(name, in, rows, in_a, in_b, type)                                         \
    inline void name(type(&d)[rows / 4], const unsigned(&a)[in_a], const unsigned(&b)[in_b]) \
    {                                                                                        \
        gt_emu_mma<in, rows, in_a, in_b>(d, a, b, __FILE__, __LINE__);                       \
    }
/* D in f16: sums are rounded once an instruction. */
#define GT_EMU_MMA_F16(name, in_a, in_b)                                                      \
    inline void name(unsigned(&d)[2], const unsigned(&a)[in_a], const unsigned(&b)[in_b])     \
    {                                                                                         \
        float wide[4];                                                                        \
        for (int i = 0; i < 4; i++)                                                           \
            wide[i] = gt_emu_f16::get(d[i / 2], i % 2);                                       \
        gt_emu_mma<gt_emu_f16, 16, in_a, in_b>(wide, a, b, __FILE__, __LINE__);               \
        for (int i = 0; i < 2; i++)                                                           \
            d[i] = gt_emu_encode_f16(wide[2 * i]) | gt_emu_encode_f16(wide[2 * i + 1]) << 16; \
    }
GT_EMU_MMA(gt_mma_m16n8k8_f16_f32, gt_emu_f16, 16, 2, 1, float)
GT_EMU_MMA_F16(gt_mma_m16n8k8_f16_f16, 2, 1)
GT_EMU_MMA(gt_mma_m8n8k16_s8, gt_emu_s8, 8, 1, 1, int)
GT_EMU_MMA(gt_mma_m16n8k16_f16_f32, gt_emu_f16, 16, 4, 2, float)
GT_EMU_MMA_F16(gt_mma_m16n8k16_f16_f16, 4, 2)
GT_EMU_MMA(gt_mma_m16n8k8_bf16_f32, gt_emu_bf16, 16, 2, 1, float)
GT_EMU_MMA(gt_mma_m16n8k16_bf16_f32, gt_emu_bf16, 16, 4, 2, float)
GT_EMU_MMA(gt_mma_m16n8k4_tf32_f32, gt_emu_tf32, 16, 2, 1, float)
GT_EMU_MMA(gt_mma_m16n8k8_tf32_f32, gt_emu_tf32, 16, 4, 2, float)
GT_EMU_MMA(gt_mma_m16n8k16_s8_s32, gt_emu_s8, 16, 2, 1, int)
GT_EMU_MMA(gt_mma_m16n8k32_s8_s32, gt_emu_s8, 16, 4, 2, int)
GT_EMU_MMA(gt_mma_m16n8k32_e4m3_f32, gt_emu_e4m3, 16, 4, 2, float)
GT_EMU_MMA(gt_mma_m16n8k32_e5m2_f32, gt_emu_e5m2, 16, 4, 2, float)
#undef GT_EMU_LDMATRIX
#undef GT_EMU_MMA
#undef GT_EMU_MMA_F16

/* ---- mma_block.cuh ---- */

/* A factor that is a byte: an exponent, or e4m3 without its sign. */
inline float gt_emu_block_factor(unsigned word, int byte, bool exponent)
{
    const unsigned bits = word >> 8 * byte & 0xffu;
    if (!exponent)
        return gt_emu_decode<4, 3, false>(bits & 0x7fu);
    return bits == 255 ? __builtin_nanf("") : __builtin_ldexpf(1, (int)bits - 127);
}

/* What a lane holds; of FP4 twice the numbers. */
template <class IN> struct gt_emu_block_part {
    typename IN::value a[4 * IN::E], b[2 * IN::E];
    unsigned factor_a, factor_b;
};

/* Pairs of e2m1 in a byte, the lower half first; a value is twice the number. */
struct gt_emu_e2m1 {
    typedef signed char value;
    static constexpr int E = 8;
    static signed char get(unsigned bits, int e)
    {
        static const signed char twice[8] = {0, 1, 2, 3, 4, 6, 8, 12};
        const unsigned digits = bits >> 4 * e & 15u;
        return (signed char)(digits & 8 ? -twice[digits & 7] : twice[digits & 7]);
    }
};

/* Adds A B, multiplied by the factors of 32 of k (FP4: 16), to the lane's elements of D. */
template <class IN, class Words>
__attribute__((no_sanitize("address", "undefined"))) inline void
gt_emu_mma_block(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], const Words &by,
                 const char *file, int line)
{
    constexpr int E = IN::E, of_k = 8 * E;
    typedef gt_emu_block_part<IN> part;
    part own;
    static_assert(sizeof own <= GT_EMU_GATHER_BYTES, "a lane's values fit");
    for (int i = 0; i < 4 * E; i++)
        own.a[i] = IN::get(a[i / E], i % E);
    for (int i = 0; i < 2 * E; i++)
        own.b[i] = IN::get(b[i / E], i % E);
    own.factor_a = by.a;
    own.factor_b = by.b;
    const void *all = gt_emu_gather(&own, sizeof own, file, line);
    const int group = GT_EMU_LANE / 4, member = GT_EMU_LANE % 4;
    for (int i = 0; i < 4; i++) {
        const int column = member * 2 + i % 2, lower = i / 2;
        const unsigned of_a = gt_emu_of_lane<part>(all, group * 4 + by.pair * 2 + lower)->factor_a;
        const unsigned of_b = gt_emu_of_lane<part>(all, column * 4 + by.quarter)->factor_b;
        double products[of_k], factor = 1;
        for (int k = 0; k < of_k; k++) {
            const int lane = k % (4 * E) / E, half = k / (4 * E), byte = E == 4 ? by.byte : k / 16;
            if (k % 16 == 0)
                factor = (double)gt_emu_block_factor(of_a, byte, E == 4) *
                         gt_emu_block_factor(of_b, byte, E == 4) * (E == 4 ? 1 : 0.25);
            products[k] =
                gt_emu_of_lane<part>(all, group * 4 + lane)->a[(half * 2 + lower) * E + k % E] *
                gt_emu_of_lane<part>(all, column * 4 + lane)->b[half * E + k % E] * factor;
        }
        d[i] = gt_emu_f8_sum(d[i], products, of_k);
    }
}

#define GT_EMU_MMA_BLOCK(type)                                                                  \
    template <class Words>                                                                      \
    inline void gt_mma_block_##type(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2], \
                                    const Words &by)                                            \
    {                                                                                           \
        gt_emu_mma_block<gt_emu_##type>(d, a, b, by, __FILE__, __LINE__);                       \
    }
GT_EMU_MMA_BLOCK(e4m3)
GT_EMU_MMA_BLOCK(e5m2)
GT_EMU_MMA_BLOCK(e2m1)
#undef GT_EMU_MMA_BLOCK

inline unsigned gt_pick_bytes(unsigned x, unsigned y, unsigned selector)
{
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned picked = 0;
    for (int i = 0; i < 4; i++)
        picked |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return picked;
}

#endif

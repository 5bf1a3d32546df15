/* types.cuh - element types: how each is stored, and conversions to float and back.
 *
 * Floating-point types narrower than 32 bits are structs that hold bits: distinct types without
 * arithmetic. TF32 operands are stored as floats. Conversions from float round to nearest, ties to
 * even. f16 and bf16 overflow to infinity; e4m3, e5m2 and the integers become their largest values,
 * for infinities too. NaN stays NaN, or becomes 0 as an integer. On the GPU the conversions are
 * PTX's cvt where the architecture has it; elsewhere, and in the emulator, they are integer
 * arithmetic that gives the same bits (gt_narrow, proved by tests/emu/conversions.c). */
#ifndef GT_TYPES_CUH
#define GT_TYPES_CUH

/* Codes of types, as in enum gt_dtype of src/gemmtune.h. They are macros, so that #if can compare
 * them. */
#define GT_F32  0
#define GT_TF32 1
#define GT_F16  2
#define GT_BF16 3
#define GT_E4M3 4
#define GT_E5M2 5
#define GT_S8   6
#define GT_S32  7

/* The rendered source defines these; the values here let a template compile alone. */
#ifndef GT_TYPE
#define GT_TYPE GT_F32 /* of A and B */
#endif
#ifndef GT_OUT
#define GT_OUT GT_F32 /* of C, D and bias */
#endif
#ifndef GT_ACC
#define GT_ACC (GT_TYPE == GT_S8 ? GT_S32 : GT_F32) /* of sums: GT_F32 or GT_S32 */
#endif

struct gt_f16 {
    unsigned short bits;
};
struct gt_bf16 {
    unsigned short bits;
};
struct gt_e4m3 {
    unsigned char bits;
};
struct gt_e5m2 {
    unsigned char bits;
};

template <int code> struct gt_element;
template <> struct gt_element<GT_F32> {
    typedef float type;
};
template <> struct gt_element<GT_TF32> {
    typedef float type;
};
template <> struct gt_element<GT_F16> {
    typedef gt_f16 type;
};
template <> struct gt_element<GT_BF16> {
    typedef gt_bf16 type;
};
template <> struct gt_element<GT_E4M3> {
    typedef gt_e4m3 type;
};
template <> struct gt_element<GT_E5M2> {
    typedef gt_e5m2 type;
};
template <> struct gt_element<GT_S8> {
    typedef signed char type;
};
template <> struct gt_element<GT_S32> {
    typedef int type;
};

/* The problem's types: an element of A and B, an element of C, D and bias, and a sum. */
#define GT_IN          typename gt_element<GT_TYPE>::type
#define GT_RESULT      typename gt_element<GT_OUT>::type
#define GT_ACCUMULATOR typename gt_element<GT_ACC>::type

/* ---- from float to a narrow type, by integer arithmetic ---- */

/* The bits of the number with `exponent` exponent bits and `mantissa` mantissa bits that is nearest
 * to the float with these bits. Magnitudes beyond `largest` become `largest`, NaN becomes `nan`. */
template <int exponent, int mantissa, unsigned largest, unsigned nan>
GT_DEVICE unsigned gt_narrow(unsigned bits)
{
    constexpr int drop = 23 - mantissa;                       /* mantissa bits that are dropped */
    constexpr int rebias = 127 - ((1 << (exponent - 1)) - 1); /* the float's exponent bias minus
                                                               * that of the narrow type */
    const unsigned sign = bits >> 31 << (exponent + mantissa);
    unsigned magnitude = bits & 0x7fffffffu, kept, rest, half;
    int shift = drop, field = (int)(magnitude >> 23);

    if (magnitude > 0x7f800000u)
        return nan;
    if (field > rebias) {
        magnitude -= (unsigned)rebias << 23;
    } else { /* subnormal in the narrow type: the leading one is written out */
        magnitude = (magnitude & 0x7fffffu) | (field > 0 ? 0x800000u : 0);
        shift += rebias + 1 - (field > 0 ? field : 1);
        if (shift > 25) /* below half of the least number */
            return sign;
    }
    kept = magnitude >> shift;
    rest = magnitude & ((1u << shift) - 1);
    half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1)); /* a carry goes on to the exponent */
    return sign | (kept < largest ? kept : largest);
}

GT_DEVICE unsigned gt_f16_bits(unsigned float_bits)
{
    return gt_narrow<5, 10, 0x7c00, 0x7fff>(float_bits);
}

/* A bfloat16 is the upper half of a float, also when it is subnormal. */
GT_DEVICE unsigned gt_bf16_bits(unsigned float_bits)
{
    if ((float_bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (float_bits + 0x7fff + (float_bits >> 16 & 1)) >> 16;
}

GT_DEVICE unsigned gt_e4m3_bits(unsigned float_bits)
{
    return gt_narrow<4, 3, 0x7e, 0x7f>(float_bits);
}

GT_DEVICE unsigned gt_e5m2_bits(unsigned float_bits)
{
    return gt_narrow<5, 2, 0x7b, 0x7f>(float_bits);
}

/* ---- from one element to float ---- */

GT_DEVICE float gt_f16_value(unsigned bits)
{
#ifdef GT_EMULATE
    unsigned field = bits >> 10 & 31, mantissa = bits & 0x3ff, sign = bits >> 15 << 31;
    if (field == 0) /* zero or subnormal: units of 2^-24 */
        return __uint_as_float(sign | __float_as_uint((float)mantissa * 0x1p-24f));
    return __uint_as_float(sign | (field == 31 ? 255u : field + 112) << 23 | mantissa << 13);
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
    return value;
#endif
}

GT_DEVICE float gt_bf16_value(unsigned bits)
{
    return __uint_as_float(bits << 16);
}

/* The fields of an e4m3 are those of an f16, three bits further up; the f16's value is 2^8 times
 * too small. */
GT_DEVICE float gt_e4m3_value(unsigned bits)
{
    if ((bits & 0x7f) == 0x7f)
        return __uint_as_float(0x7fffffffu);
    return gt_f16_value((bits & 0x80) << 8 | (bits & 0x7f) << 7) * 256.0f;
}

/* An e5m2 is the upper half of an f16. */
GT_DEVICE float gt_e5m2_value(unsigned bits)
{
    return gt_f16_value(bits << 8);
}

/* gt_to_float<code>(x) is the number x. An s32 becomes one of the two nearest floats. */
template <int code> GT_DEVICE float gt_to_float(typename gt_element<code>::type x);
template <> GT_DEVICE float gt_to_float<GT_F32>(float x)
{
    return x;
}
template <> GT_DEVICE float gt_to_float<GT_TF32>(float x)
{
    return x;
}
template <> GT_DEVICE float gt_to_float<GT_F16>(gt_f16 x)
{
    return gt_f16_value(x.bits);
}
template <> GT_DEVICE float gt_to_float<GT_BF16>(gt_bf16 x)
{
    return gt_bf16_value(x.bits);
}
template <> GT_DEVICE float gt_to_float<GT_E4M3>(gt_e4m3 x)
{
#if !defined(GT_EMULATE) && __CUDA_ARCH__ >= 890
    unsigned pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)x.bits));
    return gt_f16_value(pair & 0xffff);
#else
    return gt_e4m3_value(x.bits);
#endif
}
template <> GT_DEVICE float gt_to_float<GT_E5M2>(gt_e5m2 x)
{
    return gt_e5m2_value(x.bits);
}
template <> GT_DEVICE float gt_to_float<GT_S8>(signed char x)
{
    return (float)x;
}
template <> GT_DEVICE float gt_to_float<GT_S32>(int x)
{
    return (float)x;
}

/* Rounds the bits of a float to TF32, of which tensor cores would cut off the lower 13: to nearest,
 * ties to even, as TMA and cuBLASLt do it on sm_90. Before sm_90 the instruction has ties away from
 * zero only. */
GT_DEVICE unsigned gt_round_tf32(unsigned bits)
{
#ifdef GT_EMULATE
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return bits & 0x7fffffu ? 0x7fffe000u : bits;
    return (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
#else
    unsigned rounded;
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(bits));
#else
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(bits));
#endif
    return rounded;
#endif
}

/* ---- from float to one element ---- */

template <int code> GT_DEVICE typename gt_element<code>::type gt_from_float(float f);
template <> GT_DEVICE float gt_from_float<GT_F32>(float f)
{
    return f;
}
template <> GT_DEVICE float gt_from_float<GT_TF32>(float f)
{
    return f;
}
template <> GT_DEVICE gt_f16 gt_from_float<GT_F16>(float f)
{
#ifdef GT_EMULATE
    return gt_f16{(unsigned short)gt_f16_bits(__float_as_uint(f))};
#else
    gt_f16 x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(f));
    return x;
#endif
}
template <> GT_DEVICE gt_bf16 gt_from_float<GT_BF16>(float f)
{
#if !defined(GT_EMULATE) && __CUDA_ARCH__ >= 800
    gt_bf16 x;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x.bits) : "f"(f));
    return x;
#else
    return gt_bf16{(unsigned short)gt_bf16_bits(__float_as_uint(f))};
#endif
}
template <> GT_DEVICE gt_e4m3 gt_from_float<GT_E4M3>(float f)
{
#if !defined(GT_EMULATE) && __CUDA_ARCH__ >= 890
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(f));
    return gt_e4m3{(unsigned char)pair};
#else
    return gt_e4m3{(unsigned char)gt_e4m3_bits(__float_as_uint(f))};
#endif
}
template <> GT_DEVICE gt_e5m2 gt_from_float<GT_E5M2>(float f)
{
#if !defined(GT_EMULATE) && __CUDA_ARCH__ >= 890
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(f));
    return gt_e5m2{(unsigned char)pair};
#else
    return gt_e5m2{(unsigned char)gt_e5m2_bits(__float_as_uint(f))};
#endif
}
template <> GT_DEVICE signed char gt_from_float<GT_S8>(float f)
{
    return (signed char)min(127, max(-128, __float2int_rn(f)));
}
template <> GT_DEVICE int gt_from_float<GT_S32>(float f)
{
    return __float2int_rn(f);
}

/* ---- vectors: neighbouring elements that one instruction moves ---- */

template <int bytes> struct gt_word;
template <> struct gt_word<1> {
    typedef unsigned char type;
};
template <> struct gt_word<2> {
    typedef unsigned short type;
};
template <> struct gt_word<4> {
    typedef unsigned type;
};
template <> struct gt_word<8> {
    typedef uint2 type;
};
template <> struct gt_word<16> {
    typedef uint4 type;
};

/* count elements of type E in registers, together 1, 2, 4, 8 or 16 bytes. */
template <class E, int count> union gt_vec {
    typedef typename gt_word<(int)sizeof(E) * count>::type word_type;
    word_type word;
    E at[count];
};

/* A vector from shared or global memory; its address is a multiple of its size. */
template <class E, int count> GT_DEVICE gt_vec<E, count> gt_load_vec(const E *from)
{
    gt_vec<E, count> vec;
    vec.word = *reinterpret_cast<const typename gt_vec<E, count>::word_type *>(from);
    return vec;
}

/* The same through the read-only path: global memory that no thread writes during the launch. */
template <class E, int count> GT_DEVICE gt_vec<E, count> gt_load_vec_global(const E *from)
{
    gt_vec<E, count> vec;
    vec.word = __ldg(reinterpret_cast<const typename gt_vec<E, count>::word_type *>(from));
    return vec;
}

/* The first `valid` elements of a vector of global memory, zeros for the rest; `valid` may be below
 * 0 and above count. Only where the whole vector is valid its address must be a multiple of its
 * size. */
template <class E, int count>
GT_DEVICE gt_vec<E, count> gt_load_vec_masked(const E *from, long long valid)
{
    gt_vec<E, count> vec;
    if (valid >= count)
        return gt_load_vec_global<E, count>(from);
    vec.word = typename gt_vec<E, count>::word_type();
#pragma unroll
    for (int i = 0; i < count; i++)
        if (i < valid)
            vec.at[i] = gt_load_vec_global<E, 1>(from + i).at[0];
    return vec;
}

/* All elements of a vector as floats. Eight-bit floats are converted in pairs where there is an
 * instruction for it. */
template <int code, int count>
GT_DEVICE void gt_vec_to_floats(float *to,
                                const gt_vec<typename gt_element<code>::type, count> &vec)
{
#if !defined(GT_EMULATE) && __CUDA_ARCH__ >= 890
    if constexpr (code == GT_E4M3 && count % 2 == 0) {
#pragma unroll
        for (int i = 0; i < count; i += 2) {
            unsigned pair;
            unsigned short both = (unsigned short)(vec.at[i].bits | vec.at[i + 1].bits << 8);
            asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(both));
            to[i] = gt_f16_value(pair & 0xffff);
            to[i + 1] = gt_f16_value(pair >> 16);
        }
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] = gt_to_float<code>(vec.at[i]);
}

/* Stores a vector to shared or global memory; its address is a multiple of its size. */
template <class E, int count> GT_DEVICE void gt_store_vec(E *to, const gt_vec<E, count> &vec)
{
    *reinterpret_cast<typename gt_vec<E, count>::word_type *>(to) = vec.word;
}

#endif

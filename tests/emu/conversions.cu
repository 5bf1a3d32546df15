/* conversions.cu - test: the conversions of common/types.cuh as functions that tests/emu calls. */
#include "common/tensor.cuh"

#define CONVERSION(name, code)                   \
    extern "C" float name##_value(unsigned bits) \
    {                                            \
        gt_element<code>::type x;                \
        x.bits = (decltype(x.bits))bits;         \
        return gt_to_float<code>(x);             \
    }                                            \
    extern "C" unsigned name##_bits(float value) \
    {                                            \
        return gt_from_float<code>(value).bits;  \
    }

CONVERSION(f16, GT_F16)
CONVERSION(bf16, GT_BF16)
CONVERSION(e4m3, GT_E4M3)
CONVERSION(e5m2, GT_E5M2)

extern "C" float tf32_of(float value)
{
    return __uint_as_float(gt_round_tf32(__float_as_uint(value)));
}

extern "C" int s8_of(float value)
{
    return gt_from_float<GT_S8>(value);
}

extern "C" int s32_of(float value)
{
    return gt_from_float<GT_S32>(value);
}

/* numbers.c - test: elements of every type as numbers (numbers.h). */
#include "numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/problem.h"

const struct gt_emu_format *gt_emu_format(enum gt_dtype type)
{
    static const struct gt_emu_format formats[] = {
        [GT_F32] = {8, 23, true, false},  [GT_TF32] = {8, 23, true, false},
        [GT_F16] = {5, 10, true, false},  [GT_BF16] = {8, 7, true, false},
        [GT_E4M3] = {4, 3, false, true},  [GT_E5M2] = {5, 2, false, false},
        [GT_F64] = {11, 52, true, false},
    };
    return type == GT_S8 || type == GT_S32 || type == GT_E2M1 ? NULL : &formats[type];
}

unsigned gt_emu_sign_bit(const struct gt_emu_format *format)
{
    return 1u << (format->exponent + format->mantissa);
}

unsigned gt_emu_greatest(const struct gt_emu_format *format)
{
    unsigned last = gt_emu_sign_bit(format) - 1;
    return format->dense ? last - 1 : last - (1u << format->mantissa);
}

double gt_emu_magnitude(const struct gt_emu_format *format, unsigned magnitude)
{
    int bias = (1 << (format->exponent - 1)) - 1, field = (int)(magnitude >> format->mantissa);
    double fraction = magnitude & ((1u << format->mantissa) - 1);
    if (field == 0)
        return ldexp(fraction, 1 - bias - format->mantissa);
    return ldexp(fraction + (1u << format->mantissa), field - bias - format->mantissa);
}

static unsigned pattern(const void *from, int64_t size)
{
    unsigned bits = 0;
    memcpy(&bits, from, (size_t)size); /* both this machine and a GPU are little endian */
    return bits;
}

static double floating(const struct gt_emu_format *format, unsigned bits)
{
    unsigned sign = gt_emu_sign_bit(format), magnitude = bits & (sign - 1);
    unsigned greatest = gt_emu_greatest(format);
    double value = magnitude <= greatest ? gt_emu_magnitude(format, magnitude)
                   : !format->dense && magnitude == greatest + 1 ? INFINITY
                                                                 : NAN;
    return bits & sign ? -value : value;
}

/* Magnitudes of e2m1. */
static const double of_e2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

double gt_emu_get(enum gt_dtype type, const void *base, int64_t at)
{
    if (type == GT_E2M1) {
        const int digits = ((const unsigned char *)base)[at / 2] >> at % 2 * 4 & 15;
        return digits & 8 ? -of_e2m1[digits & 7] : of_e2m1[digits];
    }
    if (type == GT_F64)
        return ((const double *)base)[at];
    int64_t size = gt_dtype_size(type);
    unsigned bits = pattern((const char *)base + at * size, size);
    if (type == GT_S8)
        return (signed char)bits;
    return type == GT_S32 ? (double)(int)bits : floating(gt_emu_format(type), bits);
}

/* Pattern of the number, infinity or NaN, which the format has. */
static unsigned encode(const struct gt_emu_format *format, double number)
{
    int bias = (1 << (format->exponent - 1)) - 1, exponent;
    double fraction = frexp(fabs(number), &exponent); /* in [0.5, 1) */
    int field = exponent - 1 + bias;
    unsigned sign = signbit(number) ? gt_emu_sign_bit(format) : 0, mantissa;
    if (number == 0)
        return sign;
    if (isnan(number))
        return gt_emu_sign_bit(format) - 1;
    if (isinf(number))
        return sign | (gt_emu_greatest(format) + 1);
    if (field < 1) /* subnormal */
        return sign | (unsigned)ldexp(fabs(number), bias - 1 + format->mantissa);
    mantissa = (unsigned)ldexp(fraction, format->mantissa + 1) - (1u << format->mantissa);
    return sign | (unsigned)field << format->mantissa | mantissa;
}

static void set_e2m1(unsigned char *pair, int64_t half, double number)
{
    int digits = 0;
    while (digits < 8 && of_e2m1[digits] != fabs(number))
        digits++;
    if (digits == 8)
        abort(); /* the caller's number is none of this type */
    digits |= number < 0 ? 8 : 0;
    *pair = (unsigned char)((*pair & (half ? 15 : 240)) | digits << half * 4);
}

void gt_emu_set(enum gt_dtype type, void *base, int64_t at, double number)
{
    if (type == GT_E2M1) {
        set_e2m1((unsigned char *)base + at / 2, at % 2, number);
        return;
    }
    if (type == GT_F64) {
        ((double *)base)[at] = number;
        return;
    }
    const struct gt_emu_format *format = gt_emu_format(type);
    int64_t size = gt_dtype_size(type);
    unsigned bits = format ? encode(format, number) : (unsigned)(int)number;
    memcpy((char *)base + at * size, &bits, (size_t)size);
    double stored = gt_emu_get(type, base, at);
    if (stored != number && !(isnan(stored) && isnan(number)))
        abort(); /* the caller's number is none of this type */
}

/* The types that factors have but for ue8m0, which is an exponent alone. */
static enum gt_dtype type_of_factor(enum gt_scale_type type)
{
    static const enum gt_dtype types[] = {[GT_SCALE_F32] = GT_F32,
                                          [GT_SCALE_UE4M3] = GT_E4M3,
                                          [GT_SCALE_BF16] = GT_BF16,
                                          [GT_SCALE_F16] = GT_F16};
    return types[type];
}

double gt_emu_factor_get(enum gt_scale_type type, const void *base, int64_t at)
{
    if (type != GT_SCALE_UE8M0)
        return gt_emu_get(type_of_factor(type), base, at);
    return ((const unsigned char *)base)[at] == 255
               ? NAN
               : ldexp(1, ((const unsigned char *)base)[at] - 127);
}

void gt_emu_factor_set(enum gt_scale_type type, void *base, int64_t at, int power)
{
    if (type == GT_SCALE_UE8M0)
        ((unsigned char *)base)[at] = (unsigned char)(127 + power);
    else
        gt_emu_set(type_of_factor(type), base, at, ldexp(1, power));
}

double gt_emu_round(enum gt_dtype type, double number)
{
    const struct gt_emu_format *format = gt_emu_format(type);
    double most, unit, rounded;
    int exponent, least;
    if (!format) {
        most = type == GT_S8 ? 127 : 2147483647;
        return isnan(number) ? 0 : fmax(-most - 1, fmin(most, nearbyint(number)));
    }
    if (type == GT_F64 || number == 0 || isnan(number))
        return number;
    most = gt_emu_magnitude(format, gt_emu_greatest(format));
    if (isinf(number))
        return format->infinite ? number : copysign(most, number);
    least = 2 - (1 << (format->exponent - 1)); /* exponent of the least normal number */
    frexp(number, &exponent);
    unit = ldexp(1, (exponent - 1 > least ? exponent - 1 : least) - format->mantissa);
    rounded = nearbyint(number / unit) * unit;
    if (fabs(rounded) > most)
        return copysign(format->infinite ? INFINITY : most, number);
    return rounded;
}

float gt_emu_tf32(float number)
{
    uint32_t bits;
    if (!isfinite(number))
        return number;
    memcpy(&bits, &number, 4);
    bits = (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
    memcpy(&number, &bits, 4);
    return number;
}

/* The number without its digits below those of the unit, a power of two. */
static double cut(double number, double unit)
{
    return (double)(int64_t)(number / unit) * unit;
}

float gt_emu_f8_sum(float sum, const double *products, int count)
{
    double exact = sum, most = fabsf(sum), aligned, unit;

    for (int i = 0; i < count; i++) {
        exact += products[i];
        most = fmax(most, fabs(products[i]));
    }
    if (most == 0 || !isfinite(exact))
        return (float)exact;
    unit = ldexp(1, ilogb(most) - 13);
    aligned = cut(sum, unit);
    for (int i = 0; i < count; i++)
        aligned += cut(products[i], unit);
    return aligned == 0 ? 0 : (float)cut(aligned, ldexp(1, ilogb(aligned) - 13));
}

int gt_emu_poison(enum gt_dtype type)
{
    return gt_emu_format(type) ? 0xff : type == GT_E2M1 ? 0x77 : 0x80;
}

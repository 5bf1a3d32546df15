/* conversions.c - test program: the element types of templates/common/types.cuh: each of their
 * values, and what floats at, around and half way between their values are rounded to, against the
 * definition of the formats worked out in double.  Prints TAP. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "build.h"
#include "kernel/kernel.h"
#include "numbers.h"
#include "problem/problem.h"

struct functions {
    float (*value)(unsigned bits);
    unsigned (*bits)(float value);
};

static bool same(float got, double want)
{
    return (isnan(want) && isnan(got)) || (got == want && !signbit(got) == !signbit(want));
}

/* Every pattern has its value. */
static int wrong_values(const struct gt_emu_format *f, const struct functions *call)
{
    int wrong = 0;
    for (unsigned bits = 0; bits < 2 * gt_emu_sign_bit(f); bits++) {
        unsigned magnitude = bits & (gt_emu_sign_bit(f) - 1);
        double want = magnitude <= gt_emu_greatest(f) ? gt_emu_magnitude(f, magnitude)
                      : !f->dense && magnitude == gt_emu_greatest(f) + 1 ? INFINITY
                                                                         : NAN;
        wrong += !same(call->value(bits), bits & gt_emu_sign_bit(f) ? -want : want);
    }
    return wrong;
}

/* Both signs of a float between the numbers of patterns `low` and `low + 1` must become `want`. */
static int wrong_roundings_of(const struct gt_emu_format *f, const struct functions *call,
                              float from, unsigned want)
{
    return (call->bits(from) != want) + (call->bits(-from) != (want | gt_emu_sign_bit(f)));
}

/* Each number becomes itself; half way goes to the even one, next to half way to the nearer. */
static int wrong_roundings(const struct gt_emu_format *f, const struct functions *call)
{
    unsigned most = gt_emu_greatest(f);
    int wrong = 0;
    for (unsigned low = 0; low <= most; low++) {
        double half = (gt_emu_magnitude(f, low) + gt_emu_magnitude(f, low + 1)) / 2;
        float below = nextafterf((float)half, 0), above = nextafterf((float)half, INFINITY);
        unsigned high = low < most || f->infinite ? low + 1 : most;
        wrong += wrong_roundings_of(f, call, (float)gt_emu_magnitude(f, low), low);
        if ((double)(float)half != half) /* bfloat16's last one is beyond float */
            continue;
        wrong += wrong_roundings_of(f, call, below, low);
        wrong += wrong_roundings_of(f, call, (float)half, low % 2 ? high : low);
        wrong += wrong_roundings_of(f, call, above, high);
    }
    wrong += wrong_roundings_of(f, call, INFINITY, f->infinite ? most + 1 : most);
    wrong += wrong_roundings_of(f, call, 1e-45f, 0);
    return wrong + !isnan(call->value(call->bits(NAN)));
}

static int failed, tests;

static void report(const char *what, const char *name, int wrong)
{
    printf("%s %d - %s %s: %d wrong\n", wrong ? "not ok" : "ok", ++tests, name, what, wrong);
    failed += wrong != 0;
}

static void *function(void *object, const char *name, const char *suffix)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
    void *found = dlsym(object, symbol);
    if (!found) {
        printf("Bail out! no function %s\n", symbol);
        exit(1);
    }
    return found;
}

static void test_format(void *object, enum gt_dtype type)
{
    const struct gt_emu_format *f = gt_emu_format(type);
    const char *name = gt_dtype_name(type);
    struct functions call;
    *(void **)&call.value = function(object, name, "_value");
    *(void **)&call.bits = function(object, name, "_bits");
    report("values", name, wrong_values(f, &call));
    report("roundings", name, wrong_roundings(f, &call));
}

/* Around ties, in every binade: the nearest of the neighbours that have 10 bits of mantissa, by the
 * rules of gt_emu_round. */
static void test_tf32(void *object)
{
    static const double steps[] = {0, 1, 3, 4, 5, 7, 8, 11, 12, 13, 4092, 4093}; /* of 2^-12 */
    float (*of)(float value);
    int wrong = 0;
    *(void **)&of = function(object, "tf32", "_of");
    for (int e = -126; e < 127; e++)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            float from = ldexpf(1 + (float)steps[i] / 4096, e);
            double want = ldexp(nearbyint(ldexp((double)from, 10 - e)), e - 10);
            wrong += !same(of(from), want) + !same(of(-from), -want);
            wrong += !same(gt_emu_tf32(from), want);
        }
    wrong += of(1 + 3.0f / 4096) != 1 + 1.0f / 1024;
    wrong += !isinf(of(INFINITY)) + !isnan(of(NAN));
    report("roundings", "tf32", wrong);
}

static void test_integer(void *object, const char *name, double least, double most)
{
    const double from[] = {0.5,   1.5, 2.5,  -0.5, -1.5,  -2.5, 126.5,
                           127.4, 1e9, -1e9, 1e30, -1e30, 0};
    int (*of)(float value);
    int wrong = 0;
    *(void **)&of = function(object, name, "_of");
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        wrong += of((float)from[i]) != fmin(most, fmax(least, nearbyint((float)from[i])));
    report("roundings", name, wrong + (of(NAN) != 0));
}

int main(void)
{
    char folder[256], include[4096], source[4200], path[512];
    const char *build = getenv("BUILD");
    char *data_dir = NULL;
    struct gt_err err;
    void *object;

    if (gt_data_dir(&data_dir, &err)) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    snprintf(folder, sizeof folder, "%s/emu", build ? build : "build");
    mkdir(folder, 0777);
    snprintf(include, sizeof include, "%s/templates", data_dir);
    snprintf(source, sizeof source, "%s/tests/emu/conversions.cu", data_dir);
    snprintf(path, sizeof path, "%s/conversions.so", folder);
    if (gt_emu_open(&object, include, source, path, true, &err)) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    for (int type = GT_F16; type <= GT_E5M2; type++)
        test_format(object, (enum gt_dtype)type);
    test_tf32(object);
    test_integer(object, "s8", -128, 127);
    test_integer(object, "s32", -2147483648.0, 2147483647.0);
    printf("1..%d\n# %d passed, %d failed\n", tests, tests - failed, failed);
    dlclose(object);
    free(data_dir);
    return failed != 0;
}

/* test_problem.c - the text form of problems, their check, sizes and alignment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "problem/problem.h"

/* What is read, and its canonical text. */
static void test_round_trip(void **state)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"4096x4096x4096", "4096x4096x4096:f32:nn"},
        {"4096x4096x4096:f32:nn", "4096x4096x4096:f32:nn"},
        {"1x2x3:tt", "1x2x3:f32:tt"},
        {"1x2x3:tn:f16", "1x2x3:f16:tn"},
        {"0x0x0", "0x0x0:f32:nn"},
        {"8x0x3:nt", "8x0x3:f32:nt"},
        {"8x9x10:lda=10:ldb=9:ldc=9", "8x9x10:f32:nn"},
        {"8x9x10:lda=12", "8x9x10:f32:nn:lda=12"},
        {"8x9x10:tn:lda=8", "8x9x10:f32:tn"},
        {"8x9x10:batch=1:sa=5:sb=0:sc=1", "8x9x10:f32:nn"},
        {"8x9x10:batch=4", "8x9x10:f32:nn:batch=4"},
        {"8x9x10:batch=4:lda=12:sa=96", "8x9x10:f32:nn:lda=12:batch=4"},
        {"8x9x10:batch=4:sa=0:sb=0", "8x9x10:f32:nn:batch=4:sa=0:sb=0"},
        {"8x9x10:alpha=1:beta=0", "8x9x10:f32:nn"},
        {"8x9x10:alpha=0.1:beta=-2.5e-3", "8x9x10:f32:nn:alpha=0.1:beta=-0.0025"},
        {"8x9x10:beta=0.5", "8x9x10:f32:nn:beta=0.5"},
        /* what float32 rounds keeps its text: databases have it as a key */
        {"8x9x10:alpha=16777217:beta=0.123456789012",
         "8x9x10:f32:nn:alpha=16777217:beta=0.123456789012"},
        {"8x9x10:alpha=3.4028235e38:beta=-1e-45", "8x9x10:f32:nn:alpha=3.4028235e+38:beta=-1e-45"},
        {"8x9x10:s8:alpha=-2147483648:beta=2147483520",
         "8x9x10:s8:nn:alpha=-2147483648:beta=2.14748352e+09"},
        {"8x9x10:epi=bias+gelu:beta=1", "8x9x10:f32:nn:beta=1:epi=bias+gelu"},
        {"8x9x10:epi=none", "8x9x10:f32:nn"},
        {"8x9x10:accuracy=f32", "8x9x10:f32:nn:accuracy=f32"},
        {"8x9x10:accuracy=strict:align=16", "8x9x10:f32:nn"},
        {"8x9x10:align=4", "8x9x10:f32:nn:align=4"},
        {"8x9x10:tf32", "8x9x10:tf32:nn"},
        {"8x9x10:tf32:out=f32:acc=f32:accuracy=tf32", "8x9x10:tf32:nn"},
        {"8x9x10:bf16:out=f32", "8x9x10:bf16:nn:out=f32"},
        {"8x9x10:s8", "8x9x10:s8:nn"},
        {"8x9x10:f16:acc=f16", "8x9x10:f16:nn:acc=f16"},
        {"2147483647x1x1", "2147483647x1x1:f32:nn"},
        {"8x9x10:f64:alpha=1e300:beta=0.1", "8x9x10:f64:nn:alpha=1e+300:beta=0.1"},
        {"8x9x10:c64:beta=0,1:conj=ab", "8x9x10:c64:nn:beta=0,1:conj=ab"},
        {"8x9x10:e4m3:b=e4m3:sums=fast", "8x9x10:e4m3:nn"},
        {"8x9x10:e4m3:b=e5m2:sums=promoted", "8x9x10:e4m3:nn:b=e5m2:sums=promoted"},
        {"8x9x10:e4m3:scale_a=tensor/f32:sums=promoted", "8x9x10:e4m3:nn:scale_a=tensor"},
        {"8x9x10:e4m3:scale_b=vector:sums=fast", "8x9x10:e4m3:nn:scale_b=vector:sums=fast"},
        {"200x9x300:e4m3:scale_a=1x128/mn:lsa=200:scale_b=128x128/k:lsb=4",
         "200x9x300:e4m3:nn:scale_a=1x128:scale_b=128x128:lsb=4"},
        {"8x9x64:e4m3:scale_a=1x32/ue8m0/k:lsa=2:scale_b=1x32/ue8m0:sums=fast",
         "8x9x64:e4m3:nn:scale_a=1x32/ue8m0/k:scale_b=1x32/ue8m0"},
        {"200x9x300:e4m3:scale_a=1x32/ue8m0/tiled+tensor",
         "200x9x300:e4m3:nn:scale_a=1x32/ue8m0/tiled+tensor"},
        {"8x9x10:bf16:b=u4:scale_b=1x64/f16/k:zero_b=1",
         "8x9x10:bf16:nn:b=u4:scale_b=1x64/f16/k:zero_b=1"},
        {"8x10x10:bf16:epi=swiglu:gate=interleaved:ldc=5",
         "8x10x10:bf16:nn:epi=swiglu:gate=interleaved"},
        {"8x9x10:bf16:epi=bias:bias=f32", "8x9x10:bf16:nn:epi=bias:bias=f32"},
        {"8x9x10:bf16:groups=4:sa=3", "8x9x10:bf16:nn:groups=4"},
        {"8x9x10:bf16:groups=4:by=k:sc=72:sb=9", "8x9x10:bf16:nn:groups=4:by=k"},
        {"8x9x10:bf16:groups=4:sizes=masked:sb=96", "8x9x10:bf16:nn:sb=96:groups=4:sizes=masked"},
        {"8x8x10:f16:symmetric=lower:same_bits=1", "8x8x10:f16:nn:symmetric=lower:same_bits=1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem, again;
        char text[GT_PROBLEM_TEXT_MAX], twice[GT_PROBLEM_TEXT_MAX];
        struct gt_err err = {0};

        if (gt_problem_parse(&problem, cases[i].text, &err))
            fail_msg("%s: %s", cases[i].text, err.msg);
        gt_problem_format(&problem, text);
        assert_string_equal(text, cases[i].canonical);
        assert_int_equal(gt_problem_parse(&again, text, &err), GT_OK);
        gt_problem_format(&again, twice);
        assert_string_equal(twice, text);
        assert_memory_equal(&problem, &again, sizeof(problem));
    }
}

/* Names that other programs have, and capitals. */
static void test_names_that_people_type(void **state)
{
    static const char *const cases[][2] = {
        {"1x2x3:FP16:NT", "1x2x3:f16:nt"},
        {"1X2X3", "1x2x3:f32:nn"},
        {"1*2*3:half", "1x2x3:f16:nn"},
        {"1,2,3", "1x2x3:f32:nn"},
        {"1\u00d72\u00d73:tn", "1x2x3:f32:tn"},
        {"1x2x3:half", "1x2x3:f16:nn"},
        {"1x2x3:bfloat16:tN:out=float32", "1x2x3:bf16:tn:out=f32"},
        {"1x2x3:float", "1x2x3:f32:nn"},
        {"1x2x3:Float32:accuracy=TF32", "1x2x3:f32:nn:accuracy=tf32"},
        {"1x2x3:int8:epi=RELU:out=float32", "1x2x3:s8:nn:out=f32:epi=relu"},
        {"1x2x3:float8_e4m3fn:out=half", "1x2x3:e4m3:nn:out=f16"},
        {"1x2x3:E5M2", "1x2x3:e5m2:nn"},
        {"1x2x3:double:accuracy=f64", "1x2x3:f64:nn:accuracy=f64"},
        {"1x2x3:complex128:alpha=1,-2", "1x2x3:c128:nn:alpha=1,-2"},
        {"1x2x3:e4m3:scale_a=RowWise:scale_b=OUTER_VEC_32F",
         "1x2x3:e4m3:nn:scale_a=vector:scale_b=vector"},
        {"1x2x3:e4m3:scale_a=BlockWise1x128:scale_b=BLK128x128_32F",
         "1x2x3:e4m3:nn:scale_a=1x128:scale_b=128x128"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[GT_PROBLEM_TEXT_MAX];
        struct gt_problem problem;
        struct gt_err err = {0};

        if (gt_problem_parse(&problem, cases[i][0], &err))
            fail_msg("%s", err.msg);
        gt_problem_format(&problem, text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void test_longest_text_fits(void **state)
{
    const char *longest =
        "20000001x2000002x3:e4m3:tt:acc=f16:out=e5m2:lda=2147483646:ldb=2147483645"
        ":ldc=2147483644:batch=10:sa=100000000000000000:sb=100000000000000001"
        ":sc=100000000000000002:alpha=-1.2345678901234567e-30:beta=-1.2345678901234567e+30"
        ":epi=bias+gelu_tanh:accuracy=strict:align=8:b=e5m2:scale_a=128x128/ue8m0/tiled+tensor"
        ":scale_b=128x128/ue8m0/mn+tensor:lsb=2147483641:scale_d=1x128:bias=f16:same_bits=1";
    struct gt_problem problem;
    struct gt_err err = {0};
    char text[GT_PROBLEM_TEXT_MAX];

    (void)state;
    if (gt_problem_parse(&problem, longest, &err))
        fail_msg("%s", err.msg);
    gt_problem_format(&problem, text);
    assert_string_equal(text, longest);
}

struct refusal {
    const char *text;
    int code;
    const char *words;
};

static void check_refusals(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gt_problem problem;
        struct gt_err err = {0};

        assert_int_equal(gt_problem_parse(&problem, cases[i].text, NULL), cases[i].code);
        assert_int_equal(gt_problem_parse(&problem, cases[i].text, &err), cases[i].code);
        if (!strstr(err.msg, cases[i].words) || strncmp(err.msg, "problem \"", 9))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].text, err.msg, cases[i].words);
    }
}

static void test_refused(void **state)
{
    static const struct refusal cases[] = {
        {"", GT_ESYNTAX, "write MxNxK"},
        {"4096", GT_ESYNTAX, "write MxNxK"},
        {"4096x4096", GT_ESYNTAX, "write MxNxK"},
        {"1x2x3x4", GT_ESYNTAX, "write MxNxK"},
        {"x2x3", GT_ESYNTAX, "whole number"},
        {"1xx3", GT_ESYNTAX, "whole number"},
        {"ax2x3", GT_ESYNTAX, "\"a\" is not a whole number"},
        {"1 x2x3", GT_ESYNTAX, "whole number"},
        {"+1x2x3", GT_ESYNTAX, "whole number"},
        {"-1x2x3", GT_ERANGE, "\"-1\" is outside the allowed sizes 0 to 2147483647"},
        {"1x2147483648x3", GT_ERANGE, "outside the allowed sizes"},
        {"1x2x99999999999999999999", GT_ERANGE, "does not fit 64 bits"},
        {"1x2x3:", GT_ENOTFOUND, "neither a type"},
        {"1x2x3:f33", GT_ENOTFOUND, "\"f33\" is neither a type"},
        {"1x2x3:fp8", GT_ENOTFOUND, "did you mean e4m3 or e5m2?"},
        {"1x2x3:bf17", GT_ENOTFOUND, "did you mean bf16?"},
        {"1x2x3:half:fp16", GT_ESYNTAX, "a second type"},
        {"1x2x3:f32:f32", GT_ESYNTAX, "second type"},
        {"1x2x3:nn:tt", GT_ESYNTAX, "second layout"},
        {"1x2x3:s32", GT_ERANGE, "s32 is not a type of A and B"},
        {"1x2x3:out=tf32", GT_ERANGE, "tf32 is not a type of C and D"},
        {"1x2x3:acc=bf16", GT_ERANGE, "it must be f32, f16, s32 or f64"},
        {"1x2x3:out=f99", GT_ENOTFOUND, "is not a type"},
        {"1x2x3:ldd=4", GT_ENOTFOUND, "\"ldd\" is not a key; there are acc out"},
        {"1x2x3:lda=4:lda=5", GT_ESYNTAX, "\"lda\" is given twice"},
        {"1x2x3:lda=", GT_ESYNTAX, "whole number"},
        {"1x2x3:lda=2", GT_ERANGE, "lda is 2, less than a row of 3"},
        {"4x2x3:tn:lda=3", GT_ERANGE, "lda is 3, less than a row of 4"},
        {"1x2x3:ldb=1", GT_ERANGE, "ldb is 1, less than a row of 2"},
        {"1x2x3:ldc=1", GT_ERANGE, "ldc is 1, less than a row of 2"},
        {"1x2x3:lda=0", GT_ERANGE, "lda is 0; it must lie between 1"},
        {"1x2x3:lda=9223372036854775807", GT_ERANGE, "lda is 9223372036854775807; it must"},
        {"1x2x3:batch=0", GT_ERANGE, "batch is 0"},
        {"1x2x3:batch=-3", GT_ERANGE, "batch is -3"},
        {"1x2x3:batch=2:sa=-1", GT_ERANGE, "sa is -1"},
        {"4x4x4:batch=2:sc=15", GT_ERANGE, "matrices of D overlap"},
        {"4x4x4:batch=1000:sa=9000000000000000000", GT_ERANGE, "more bytes than can be addressed"},
        {"1x2x3:alpha=x", GT_ESYNTAX, "decimal number"},
        {"1x2x3:alpha=", GT_ESYNTAX, "decimal number"},
        {"1x2x3:alpha=nan", GT_ESYNTAX, "decimal number"},
        {"1x2x3:alpha=0x10", GT_ESYNTAX, "decimal number"},
        {"1x2x3:beta=1e999", GT_ERANGE, "beta is inf; it must be 0 or a finite float32"},
        {"1x2x3:beta=1e40", GT_ERANGE, "beta is 1e+40; it must be 0 or a finite float32"},
        {"1x2x3:alpha=-3.4028236e38", GT_ERANGE, "alpha is -3.4028236e+38; it must be"},
        {"1x2x3:alpha=1e-50", GT_ERANGE, "alpha is 1e-50; it must be 0 or a finite float32"},
        {"1x2x3:s8:alpha=2147483647", GT_ERANGE, "alpha is 2147483647; where D is s32"},
        {"1x2x3:s8:alpha=16777217", GT_ERANGE, "alpha is 16777217; where D is s32"},
        {"1x2x3:s8:beta=2147483648", GT_ERANGE, "from -2147483648 to 2147483520"},
        {"1x2x3:s8:beta=-2147483904", GT_ERANGE, "beta is -2147483904; where D is s32"},
        {"1x2x3:s8:beta=0.5", GT_ERANGE, "beta is 0.5; where D is s32 it must be a whole number"},
        {"1x2x3:s8:epi=gelu", GT_ERANGE, "D of s32 takes no epilogue, such as gelu"},
        {"1x2x3:s8:epi=bias", GT_ERANGE, "D of s32 takes no epilogue, such as bias"},
        {"1x2x3:s8:out=s32:acc=f32", GT_ERANGE, "cannot be summed in f32"},
        {"1x2x3:beta=1.2.3", GT_ESYNTAX, "decimal number"},
        {"1x2x3:epi=relu+gelu", GT_ENOTFOUND, "is not an epilogue"},
        {"1x2x3:accuracy=exact", GT_ENOTFOUND, "is not an accuracy"},
        {"1x2x3:align=3", GT_ERANGE, "align is 3"},
        {"1x2x3:align=32", GT_ERANGE, "is not an alignment"},
        {"1x2x3:align=0", GT_ERANGE, "is not an alignment"},
    };

    (void)state;
    check_refusals(cases, sizeof(cases) / sizeof(*cases));
}

/* Words of operands that have no meaning, or none beside another one. */
static void test_refused_words(void **state)
{
    static const struct refusal cases[] = {
        {"1x2x3:zero_a=1", GT_ERANGE, "integers only"},
        {"1x2x3:s8:zero_a=1", GT_ERANGE, "zero_a with scale_a"},
        {"1x2x3:s8:scale_a=tensor", GT_ERANGE, "D of s32 takes no scale_a; with out=bf16"},
        {"1x2x3:conj=a", GT_ERANGE, "c64 and c128"},
        {"1x2x3:c64:conj=c", GT_ENOTFOUND, "is not a, b or ab"},
        {"1x2x3:c64:epi=relu", GT_ERANGE, "no meaning for complex numbers"},
        {"1x2x3:c64:out=f32", GT_ERANGE, "D of f32 does not fit c64"},
        {"1x2x3:alpha=1,2", GT_ERANGE, "the operands are real"},
        {"1x2x3:f64:acc=f32", GT_ERANGE, "products of f64 cannot be summed in f32"},
        {"1x2x3:f64:alpha=1e999", GT_ERANGE, "alpha is inf; it must be a finite number"},
        {"1x2x3:f64:scale_a=tensor", GT_ERANGE, "no meaning for f64"},
        {"1x2x3:f64:b=f32", GT_ERANGE, "there is no product of f64 and f32"},
        {"1x2x3:s8:b=bf16", GT_ERANGE, "there is no product of s8 and bf16"},
        {"1x2x3:bf16:sums=promoted", GT_ERANGE, "e4m3, e5m2 and e2m1 only"},
        {"1x2x3:e4m3:scale_a=1x128:sums=fast", GT_ERANGE, "always promoted"},
        {"1x2x3:e4m3:sums=slow", GT_ENOTFOUND, "no value of sums; there are fast promoted"},
        {"1x2x3:e4m3:scale_a=2x128", GT_ENOTFOUND, "is not a scale"},
        {"1x2x3:e4m3:scale_a=1x100", GT_ENOTFOUND, "is not a scale"},
        {"1x2x3:e4m3:scale_a=vector/k", GT_ENOTFOUND, "is not a scale"},
        {"1x2x3:e4m3:scale_a=tensor+tensor", GT_ERANGE, "two factors"},
        {"1x2x3:e4m3:scale_a=1x128:lsa=0", GT_ERANGE, "lsa is 0; a line of the scale's factors"},
        {"1x2x3:e4m3:lsa=4", GT_ERANGE, "lsa is 4"},
        {"1x2x3:e4m3:scale_d=tensor", GT_ERANGE, "scale_d quantises D"},
        {"1x2x3:f16:bias=f32", GT_ERANGE, "bias is f32, and the epilogue adds none"},
        {"1x3x3:bf16:epi=swiglu", GT_ERANGE, "an even n"},
        {"1x2x3:bf16:epi=swiglu:beta=1", GT_ERANGE, "beta=0"},
        {"1x2x3:bf16:gate=second", GT_ERANGE, "epi=swiglu"},
        {"1x2x3:groups=2:batch=2", GT_ERANGE, "give one"},
        {"1x2x3:by=k", GT_ERANGE, "belong to groups=E"},
        {"5x2x3:groups=2:sizes=masked", GT_ERANGE, "most rows of a group"},
        {"4x2x3:groups=2:by=k:sizes=masked", GT_ERANGE, "sizes=offsets"},
        {"1x2x3:same_bits=2", GT_ENOTFOUND, "no value of same_bits"},
        {"1x2x3:symmetric=lower", GT_ERANGE, "as many rows as columns"},
    };

    (void)state;
    check_refusals(cases, sizeof(cases) / sizeof(*cases));
}

/* Fields changed by a program rather than read from text. */
static void test_check(void **state)
{
    struct gt_problem good, bad;
    struct gt_err err = {0};

    (void)state;
    gt_problem_init(&good, 10, 20, 30);
    assert_int_equal(gt_problem_check(&good, &err), GT_OK);
#define REFUSED(change, words)                                     \
    do {                                                           \
        bad = good;                                                \
        change;                                                    \
        assert_int_equal(gt_problem_check(&bad, &err), GT_ERANGE); \
        assert_non_null(strstr(err.msg, words));                   \
    } while (0)
    REFUSED(bad.m = -1, "m is -1");
    REFUSED(bad.k = GT_MAX_EXTENT + 1, "k is 2147483648");
    REFUSED(bad.trans_a = 2, "must be 0 or 1");
    REFUSED(bad.trans_b = 1, "ldb is 20, less than a row of 30");
    REFUSED(bad.epilogue = GT_EPILOGUE_COUNT, "an activation that there is not");
    REFUSED(bad.epilogue = 200, "epilogue 200");
    REFUSED(bad.scale_a.rows = 1, "parts without a block");
    REFUSED(bad.scale_a.kind = 9, "scale_a is none that there is");
    REFUSED(bad.scale_b.tensor = 1, "parts without a block");
    REFUSED(bad.groups = -1, "groups is -1");
    REFUSED(bad.groups = 2; bad.batch = 2, "give one");
    REFUSED(bad.by = 1, "belong to groups=E");
    REFUSED(bad.type_b = (enum gt_dtype)77, "not a type of A and B");
    REFUSED(bad.sums = 2, "fast or promoted");
    REFUSED(bad.symmetric = 1, "as many rows as columns");
    REFUSED(bad.align = 12, "align is 12");
    REFUSED(bad.alpha = 1e300 * 1e300, "finite");
    REFUSED(bad.type = (enum gt_dtype)77, "not a type of A and B");
    REFUSED(bad.out = (enum gt_dtype)77, "not a type of C and D");
    REFUSED(bad.accuracy = (enum gt_accuracy)9, "accuracy is 9");
#undef REFUSED
    gt_problem_init(&bad, -5, 1, 1);
    assert_int_equal(gt_problem_check(&bad, NULL), GT_ERANGE);
    gt_problem_init(&bad, INT64_MAX, INT64_MAX, INT64_MAX);
    assert_int_equal(gt_problem_check(&bad, NULL), GT_ERANGE);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t a, b, c;
        int align_a, align_b, align_c;
    } cases[] = {
        {"4x8x16", 64, 128, 32, 16, 16, 16},
        {"4x8x16:lda=20", 76, 128, 32, 16, 16, 16},
        {"4x8x16:lda=21:ldb=10", 79, 158, 32, 4, 8, 16},
        {"4x8x16:tt", 64, 128, 32, 16, 16, 16},
        {"3x8x16:tn", 48, 128, 24, 4, 16, 16},
        {"4x8x16:align=8", 64, 128, 32, 8, 8, 8},
        {"4x8x16:align=1", 64, 128, 32, 1, 1, 1},
        {"4x8x16:batch=3", 192, 384, 96, 16, 16, 16},
        {"4x8x16:batch=3:sa=66:sb=0:sc=33", 196, 128, 98, 8, 16, 4},
        {"4x8x17:f16", 68, 136, 32, 2, 16, 16},
        {"4x8x0", 0, 0, 32, 4, 16, 16},
        {"0x8x3:batch=5", 0, 120, 0, 4, 16, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem p;

        assert_int_equal(gt_problem_parse(&p, cases[i].text, NULL), GT_OK);
        assert_int_equal(gt_problem_elements(&p, GT_OPERAND_A), cases[i].a);
        assert_int_equal(gt_problem_elements(&p, GT_OPERAND_B), cases[i].b);
        assert_int_equal(gt_problem_elements(&p, GT_OPERAND_C), cases[i].c);
        assert_int_equal(gt_problem_alignment(&p, GT_OPERAND_A), cases[i].align_a);
        assert_int_equal(gt_problem_alignment(&p, GT_OPERAND_B), cases[i].align_b);
        assert_int_equal(gt_problem_alignment(&p, GT_OPERAND_C), cases[i].align_c);
        assert_int_equal(gt_problem_bytes(&p, GT_OPERAND_A), cases[i].a * gt_dtype_size(p.type));
    }
}

/* A word that kernels of plain products do not know makes a problem that is not plain, so that they
 * do not get it. */
static void test_words_of_no_plain_problem(void **state)
{
    static const char *const cases[][2] = {
        {"8x8x8:bf16:epi=swiglu:gate=second", "gate=second"},
        {"8x8x8:bf16:b=e4m3", "b=e4m3"},
        {"8x8x8:e4m3:scale_a=1x128", "scale_a=1x128"},
        {"8x8x8:e4m3:sums=promoted", "sums=promoted"},
        {"8x8x8:s8:out=bf16:scale_b=vector:zero_b=1", "scale_b=vector"},
        {"8x8x8:c64:conj=b", "conj=b"},
        {"8x8x8:bf16:epi=bias:bias=f32", "bias=f32"},
        {"8x8x8:e4m3:out=e4m3:scale_d=1x128", "scale_d=1x128"},
        {"8x8x8:bf16:groups=2", "groups=2"},
        {"8x8x8:f16:symmetric=full", "symmetric=full"},
        {"8x8x8:f16:same_bits=1", "same_bits=1"},
    };
    struct gt_problem p;
    char word[GT_WORD_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(gt_problem_parse(&p, cases[i][0], NULL), GT_OK);
        assert_false(gt_problem_plain(&p));
        assert_true(gt_problem_word(&p, 0, word));
        assert_string_equal(word, cases[i][1]);
    }
    assert_int_equal(gt_problem_parse(&p, "8x8x8:f64:tn:epi=bias+relu:batch=2", NULL), GT_OK);
    assert_true(gt_problem_plain(&p));
    assert_false(gt_problem_word(&p, 0, word));
}

static void test_flops(void **state)
{
    struct gt_problem p;

    (void)state;
    assert_int_equal(gt_problem_parse(&p, "10x20x30:batch=2", NULL), GT_OK);
    assert_true(gt_problem_flops(&p) == 24000.0);
    assert_true(gt_problem_traffic(&p) == 4 * 2 * (300 + 600 + 200.0));
    assert_int_equal(gt_problem_parse(&p, "10x20x30:f16:batch=2:beta=0.5:sb=0", NULL), GT_OK);
    assert_true(gt_problem_traffic(&p) == 2 * (2 * 300 + 600 + 2 * 2 * 200.0));
}

static void test_retype(void **state)
{
    struct gt_problem problem, expected;

    (void)state;
    assert_int_equal(
        gt_problem_parse(&problem, "30x20x10:f32:tn:lda=64:out=f16:accuracy=f32:batch=2", NULL),
        GT_OK);
    gt_problem_retype(&problem, GT_S8);
    assert_int_equal(gt_problem_parse(&expected, "30x20x10:s8:tn:batch=2", NULL), GT_OK);
    assert_memory_equal(&problem, &expected, sizeof(problem));
}

/* Sums, and what they are scaled to. */
static void test_accumulators(void **state)
{
    static const struct {
        const char *text;
        bool served;
    } cases[] = {
        {"8x8x8:s8", true},
        {"8x8x8:s8:acc=f32", false},
        {"8x8x8:f32:acc=s32", false},
        {"8x8x8:f16:out=s32", false},
        {"8x8x8:s8:alpha=-2:beta=3", true},
        {"8x8x8:s8:alpha=0.5", false},
        {"8x8x8:s8:alpha=-2147483648:beta=2147483520", true},
        {"8x8x8:s8:beta=2147483647", false}, /* no float has it */
        {"8x8x8:s8:alpha=2147483648", false},
        {"8x8x8:s8:beta=-2147483649", false},
        {"8x8x8:s8:alpha=1e100", false},
        {"8x8x8:s8:beta=0.5", false},
        {"8x8x8:s8:out=f32:alpha=0.5", true},
        {"8x8x8:f16:acc=f16", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem;

        if ((gt_problem_parse(&problem, cases[i].text, NULL) == GT_OK) != cases[i].served)
            fail_msg("%s", cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_names_that_people_type),
        cmocka_unit_test(test_longest_text_fits),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_words),
        cmocka_unit_test(test_words_of_no_plain_problem),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_flops),
        cmocka_unit_test(test_retype),
        cmocka_unit_test(test_accumulators),
    };

    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}

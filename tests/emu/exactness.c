/* exactness.c - test program: how exact the kernels of accuracy `f32` are on the CPU, for operands
 * of many kinds, each element of D against the product in float64.  `make check` tests one point of
 * each kernel with every other kind, `make check-release` (WHOLE=1) all.  Prints TAP.
 *
 * Errors are in units u, 2^-24 times the sum of |a||b| of the element.  The largest error over D
 * must not exceed 1 u, or that of FP32 multiply-adds in order (fmaf) where that is larger.  Of an
 * identity and of a permutation D must be what multiply-adds give, bit for bit.  Where
 * multiply-adds give an infinity or NaN, so must the kernel, and nowhere else.
 *
 * (A kernel that divides the depth adds infinities of both signs to NaN where its parts are beyond
 * float both ways, and may have an infinity where they are so one after the other: no operands here
 * are such.)
 *
 * Where few products make up an element, multiply-adds round as rarely, but parts lose of each
 * product what they lose, and no other one's loss evens it out; kernels round at each of their
 * steps, too. There 8 u are allowed, the most that pairs of FP16 numbers lose of a product
 * (pair.cu). Of products that are all alike losses do not even out either, nor do those of
 * multiply-adds, 43 u: there 8 u are allowed as well, and no more.  Beside infinities kernels use
 * multiply-adds themselves, and add those of parts of the depth: there the error of such sums is
 * allowed, too.
 *
 * Tensor cores truncate when they add, which the emulator does not: what is found here is what the
 * parts of the operands lose, and what is done about operands that have no such parts.  Of parts in
 * bfloat16, what is below 2^-134 is lost (parts.cuh); so much of each operand does not count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "execute.h"
#include "launch.h"
#include "problem/problem.h"
#include "tests/remembered.h"
#include "tests/serves.h"

/* Tiles at every edge, of the kernels and of what splits operands; k ends with four values of a
 * tile. */
enum { M = 72, N = 100, K = 324, PART = 192 }; /* PART: of k, the first one of SPLITS=2 */
#define UNIT 0x1p-24
#define LOST 0x1p-134 /* of an operand's value */
#define TILE 64       /* rows or columns, and values of k, that f32acc_pair scales together */

static const char *const LAYOUTS[] = {"nn", "tt"};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

/* Small tiles, so that D has several; also with parts of the depth, in clusters, and D^T. */
static const struct {
    const char *kernel, *point;
    bool always; /* else with WHOLE=1 alone */
} POINTS[] = {
    {"f32acc", "CONSUMERS=1,BN=64,BK=64,STAGES=2,CLUSTER_N=2", true},
    {"f32acc_pair", "CONSUMERS=1,BN=96,BK=64,STAGES=2", false},
    {"f32acc_pair", "CONSUMERS=2,BN=64,BK=32,STAGES=4,CLUSTER_N=2,SPLIT=1,SPLITS=2", true},
    {"f32acc_pair", "CONSUMERS=1,BN=64,BK=64,STAGES=2,CLUSTER_M=2,SPLIT=2,SPLITS=2", false},
    {"f32acc_fused", "CONSUMERS=1,BN=64", false},
    {"f32acc_fused", "OWN_ROWS=1,CONSUMERS=1,BN=64,LATE_LOADS=0", false},
    {"f32acc_fused", "SWAP_AB=1,CONSUMERS=1,SPLITTERS=1,BN=32,BK=64,STAGES=2,SPLIT=2,SPLITS=2",
     true},
    {"f32acc_warp", "WM=32,WN=32,WARPS_M=1,WARPS_N=2", true},
};
enum { POINT_COUNT = sizeof POINTS / sizeof *POINTS };

enum kind {
    UNIFORM,
    NORMAL,
    WIDE,
    IDENTITY_A,
    IDENTITY_B,
    PERMUTATION,
    LAST_ALONE,
    SPARSE_A,
    SPARSE_BOTH,
    EIGHT,
    OUTLIER,
    LARGE_LAST,
    SCALED,
    FAR_APART,
    FAR_ALIKE,
    TOO_FAR_ALIKE,
    LARGE_AND_SMALL,
    LARGE,
    SMALL,
    SMALLER,
    SUBNORMAL,
    ZEROS,
    SPECIAL,
    OVERFLOW,
    KINDS
};

static const char *const KIND_NAMES[KINDS] = {
    "uniform in [-1 1)",
    "normal",
    "normal times exp(4 normal)",
    "A is an identity",
    "B is an identity",
    "A is a permutation times powers of two",
    "the last column of A has the only nonzero",
    "one value of 16 of A is not zero",
    "one value of 16 of A and of B is not zero",
    "8 values of 64 of A are not zero",
    "one column of A is 2^40 times as large and meets zeros",
    "the last column of A is 2^12 times as large",
    "rows of A and columns of B times 2^-30 to 2^30",
    "one row of A and one column of B in 64 are 2^27 times as large",
    "the same, all of one mantissa and sign",
    "the same 2^29 times as large",
    "A near 1e30, B near 1e-30",
    "below 2^60",
    "below 2^-39",
    "below 2^-45",
    "A is subnormal",
    "tiles of zeros",
    "infinities and NaN",
    "a row and a column whose products overflow",
};

struct operands {
    float a[M * K], b[K * N]; /* row after row, whatever the layout */
};

/* D by the kernel and by multiply-adds, and the exact one. */
struct results {
    float d[M * N], chain[M * N], parts[M * N]; /* parts: multiply-adds of two parts of k, added */
    double exact[M * N], size[M * N], lost[M * N]; /* the sums of |a||b|, and what may be lost */
};

static int tests, failures;
static char base[GT_DIGEST_HEX]; /* of the keys of verdicts */

static void test(bool ok, const char *kernel, const char *what)
{
    printf("%s %d - %s, %s", ok ? "ok" : "not ok", ++tests, kernel, what);
    failures += !ok;
}

static uint64_t state; /* of the fixed sequence that operands are drawn from */

/* A number of [0, 1) (SplitMix64, Steele, Lea and Flood 2014). */
static double uniform(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* The place along k of a row's only value in a permutation. */
static int permuted(int line)
{
    return (67 * line + 5) % K;
}

/* Operands with few nonzeros; the other one of a product with them is uniform. */
static double sparse_value(enum kind kind, bool of_a, int line, int k, double other)
{
    if (kind == IDENTITY_A || kind == IDENTITY_B)
        return of_a == (kind == IDENTITY_A) ? line == k : other;
    if (kind == PERMUTATION && of_a)
        return k == permuted(line) ? ldexp(line % 2 ? -1 : 1, line % 41 - 20) : 0;
    if (kind == LAST_ALONE && of_a)
        return line == TILE + 6 && k == K - 1;
    if (kind == SPARSE_BOTH || (kind == SPARSE_A && of_a))
        return uniform() < 1 / 16.0 ? other : 0;
    if (kind == EIGHT && of_a)
        return k % TILE < 8 ? other : 0;
    if (kind == ZEROS)
        return line / TILE == 0 && k / TILE == (of_a ? 1 : 2) ? 0 : other;
    return other;
}

/* Infinities of both signs and a NaN, in rows and columns of their own; a zero meets one. */
static double special_value(bool of_a, int line, int k, double other)
{
    if (of_a && k == 70 && (line == 5 || line == 69))
        return line == 5 ? INFINITY : NAN;
    if (!of_a && line == 33 && k == 130)
        return -INFINITY;
    return !of_a && line == 40 && k == 70 ? 0 : other;
}

/* Place k of row `line` of A, or of column `line` of B. */
static double value(enum kind kind, bool of_a, int line, int k)
{
    const double other = 2 * uniform() - 1;

    switch (kind) {
    case NORMAL:
        return normal();
    case WIDE:
        return normal() * exp(4 * normal());
    case OUTLIER:
        return k > 0 ? other : of_a ? ldexp(other, 40) : 0;
    case LARGE_LAST:
        return of_a && k == K - 1 ? ldexp(other, 12) : other;
    case SCALED:
        return ldexp(other, line * 7 % 61 - 30);
    case FAR_APART: /* as far as pairs hold */
        return ldexp(copysign(1 + fabs(other), other), line % TILE ? -27 : 0);
    case FAR_ALIKE: /* low is nearly as large as it can be, and what is left out of it, too */
        return ldexp(1 + 0x1.fep-12 + 0x1p-23, line % TILE ? -27 : 0);
    case TOO_FAR_ALIKE:
        return ldexp(1 + 0x1.fep-11, line % TILE ? -29 : 0);
    case LARGE_AND_SMALL:
        return other * (of_a ? 1e30 : 1e-30);
    case LARGE:
        return ldexp(other, 60);
    case SMALL:
        return ldexp(other, -39);
    case SMALLER: /* of two tiles, less than pairs' factors take */
        return ldexp(other, -45);
    case SUBNORMAL:
        return ldexp(other, of_a ? -127 : 60);
    case SPECIAL:
        return special_value(of_a, line, k, other);
    case OVERFLOW:
        return line == 3 ? 1e30 * (1 + fabs(other)) : other;
    default:
        return sparse_value(kind, of_a, line, k, other);
    }
}

static void fill(struct operands *operands, enum kind kind)
{
    state = (uint64_t)kind;
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            operands->a[i * K + k] = (float)value(kind, true, i, k);
    for (int j = 0; j < N; j++)
        for (int k = 0; k < K; k++)
            operands->b[k * N + j] = (float)value(kind, false, j, k);
}

/* All but the kernel's D. */
static void expect(struct results *results, const struct operands *operands)
{
    for (int e = 0; e < M * N; e++) {
        double exact = 0, size = 0, lost = 0;
        float chain = 0, part[2] = {0, 0};

        for (int k = 0; k < K; k++) {
            const float a = operands->a[e / N * K + k], b = operands->b[k * N + e % N];
            exact += (double)a * b;
            size += fabs((double)a * b);
            lost += LOST * (fabs((double)a) + fabs((double)b));
            chain = fmaf(a, b, chain);
            part[k >= PART] = fmaf(a, b, part[k >= PART]);
        }
        results->exact[e] = exact;
        results->size[e] = size;
        results->lost[e] = lost;
        results->chain[e] = chain;
        results->parts[e] = part[0] + part[1];
    }
}

/* The rows of an operand, or its columns. */
static void store(float *to, const float *from, int rows, int columns, bool transposed)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[transposed ? j * rows + i : i * columns + j] = from[i * columns + j];
}

static int run(struct gt_emu_build *build, const struct gt_problem *problem,
               const struct operands *operands, float *d, struct gt_err *err)
{
    static struct operands stored;

    store(stored.a, operands->a, M, K, problem->trans_a);
    store(stored.b, operands->b, K, N, problem->trans_b);
    return gt_emu_given(build, problem, stored.a, stored.b, d, err);
}

/* An element's error in u. */
static double error(const struct results *results, int e, float got)
{
    const double error = fabs(got - results->exact[e]) - results->lost[e];

    return error <= 0 ? 0 : error / results->size[e] / UNIT;
}

static bool same_class(float got, float want)
{
    return isnan(want) ? isnan(got) : got == want;
}

/* Judges D as the head of this file says. */
static void judge(const struct results *results, enum kind kind, const char *kernel,
                  const char *layout)
{
    const bool exact =
        kind == IDENTITY_A || kind == IDENTITY_B || kind == PERMUTATION || kind == LAST_ALONE;
    const bool alike = kind == FAR_ALIKE || kind == TOO_FAR_ALIKE;
    const bool few = kind == SPARSE_A || kind == SPARSE_BOTH || kind == LARGE_LAST;
    double most = 0, allowed = 0;
    int wrong = 0, first = -1;

    for (int e = 0; e < M * N; e++) {
        const float got = results->d[e], chain = results->chain[e];
        const bool finite = isfinite(chain);
        bool ok = finite ? isfinite(got) : same_class(got, chain);

        if (exact)
            ok = memcmp(&got, &chain, sizeof got) == 0;
        wrong += !ok;
        if (!ok && first < 0)
            first = e;
        if (finite && isfinite(got))
            most = fmax(most, error(results, e, got));
        if (finite)
            allowed = fmax(allowed, error(results, e, chain));
        if (finite && kind == SPECIAL)
            allowed = fmax(allowed, error(results, e, results->parts[e]));
    }
    test(!wrong && most <= (alike ? 8 : fmax(few ? 8 : 1, allowed)), kernel, KIND_NAMES[kind]);
    printf(", %s: %.3f u, multiply-adds %.3f u, %d wrong\n", layout, most, allowed, wrong);
    if (first >= 0)
        printf("#   D[%d,%d] is %g where multiply-adds give %g\n", first / N, first % N,
               results->d[first], results->chain[first]);
}

static void bail_out(const struct gt_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(1);
}

/* The digest of the launches in all layouts. */
static void find_key(char key[GT_DIGEST_HEX], const struct gt_emu_job *from,
                     const struct gt_problem problem[LAYOUT_COUNT])
{
    struct gt_strbuf plan = GT_STRBUF_INIT;
    struct gt_emu_job job = *from;
    struct gt_err err;

    job.plan = &plan;
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        struct gt_emu_build build = {.job = &job, .source = GT_STRBUF_INIT};

        if (gt_emu_given(&build, &problem[i], NULL, NULL, NULL, &err))
            bail_out(&err);
        gt_emu_build_release(&build);
    }
    gt_remember_key(key, base, job.kernel->include_dirs, job.kernel->text, plan.text);
    gt_strbuf_release(&plan);
}

/* The point in all layouts; each kind in one of them, in turn. */
static void test_point(size_t number, const struct gt_kernels *kernels, const char *data_dir,
                       const char *folder)
{
    static struct operands operands;
    static struct results results;
    char path[512], label[256];
    struct gt_emu_build build[LAYOUT_COUNT];
    struct gt_problem problem[LAYOUT_COUNT];
    struct gt_err err;
    struct gt_emu_job job = {.strict = true, .data_dir = data_dir, .build_path = path};
    char key[GT_DIGEST_HEX];
    const int before = failures;
    const bool whole = getenv("WHOLE") != NULL;
    int passed;

    snprintf(path, sizeof path, "%s/exactness-%zu", folder, number);
    snprintf(label, sizeof label, "%s %s", POINTS[number].kernel, POINTS[number].point);
    job.kernel = gt_kernels_find(kernels, POINTS[number].kernel, &err);
    if (!job.kernel || gt_point_parse(&job.point, job.kernel, POINTS[number].point, &err))
        bail_out(&err);
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        char text[64];
        snprintf(text, sizeof text, "%dx%dx%d:f32:%s:accuracy=f32", M, N, K, LAYOUTS[i]);
        if (gt_problem_parse(&problem[i], text, &err))
            bail_out(&err);
        build[i] = (struct gt_emu_build){.job = &job,
                                         .trans_a = problem[i].trans_a,
                                         .trans_b = problem[i].trans_b,
                                         .source = GT_STRBUF_INIT};
    }
    find_key(key, &job, problem);
    if (gt_remembered(key, &passed, sizeof passed) && passed >= (whole ? KINDS : KINDS / 2)) {
        for (int kind = 0; kind < KINDS; kind++) {
            test(true, label, KIND_NAMES[kind]);
            printf(": remembered\n");
        }
        return;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        const size_t i = ((size_t)kind + number) % LAYOUT_COUNT;
        if (!whole && (kind + number / 2) % 2) /* which leaves one layout of each point */
            continue;
        fill(&operands, (enum kind)kind);
        expect(&results, &operands);
        if (run(&build[i], &problem[i], &operands, results.d, &err))
            bail_out(&err);
        judge(&results, (enum kind)kind, label, LAYOUTS[i]);
    }
    for (int i = 0; i < LAYOUT_COUNT; i++)
        gt_emu_build_release(&build[i]);
    passed = whole ? KINDS : KINDS / 2;
    if (failures == before)
        gt_remember(key, &passed, sizeof passed);
}

/* A kernel of this accuracy that has no point above is not to be forgotten. */
static void test_all_named(const struct gt_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++) {
        const struct gt_serves *serves = gt_serves_of(kernels->kernel[i], GT_F32, GT_F32);
        bool named = false;

        if (!serves || serves->accuracy != GT_ACCURACY_F32)
            continue;
        for (size_t j = 0; j < POINT_COUNT; j++)
            named |= POINTS[j].always && !strcmp(POINTS[j].kernel, kernels->kernel[i]->name);
        test(named, kernels->kernel[i]->name, "has a point that is always tested\n");
    }
}

int main(void)
{
    const char *build = getenv("BUILD");
    struct gt_kernels kernels = {0};
    char *data_dir = NULL, *compiler, folder[256];
    struct gt_err err;

    snprintf(folder, sizeof folder, "%s/emu", build ? build : "build");
    mkdir(folder, 0777);
    if (gt_data_dir(&data_dir, &err) || gt_kernels_load(&kernels, data_dir, NULL, NULL, &err))
        bail_out(&err);
    test_all_named(&kernels);
    compiler = gt_remember_host_compiler();
    gt_remember_base(base, "emu", compiler ? compiler : "");
    free(compiler);
    for (size_t i = 0; i < POINT_COUNT; i++)
        if (POINTS[i].always || getenv("WHOLE"))
            test_point(i, &kernels, data_dir, folder);
    printf("1..%d\n# %d passed, %d failed\n", tests, tests - failures, failures);
    gt_kernels_release(&kernels);
    free(data_dir);
    return failures != 0;
}

/* proof_kernels.c - test program: the kernels of templates/proof, which judge all others, on the
 * CPU: operands are filled as promised, the reference is right, and every kind of damage is found
 * at its place.  Prints TAP. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "build.h"
#include "err.h"
#include "kernel.h"
#include "machine.h"
#include "problem.h"
#include "proof.h"
#include "verify.h"

#include "../../templates/proof/args.h"

struct proof {
    void *fill, *reference, *check, *clock; /* of dlopen */
    char *data_dir;
    int tests, failed;
};

static void test(struct proof *proof, bool ok, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("%s %d - ", ok ? "ok" : "not ok", ++proof->tests);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    proof->failed += !ok;
}

/* How each kernel is called: by value, with its own type. */
#define GT_PROOF_CALL(name, symbol, type)                         \
    static void call_##symbol(const struct gt_emu_launch *launch) \
    {                                                             \
        void (*function)(type);                                   \
        *(void **)&function = launch->entry;                      \
        function(*(const type *)launch->args);                    \
    }
GT_PROOF_MAP(GT_PROOF_CALL)
#undef GT_PROOF_CALL

#define RUN(object, kernel, args, x, y, z) \
    run(object, #kernel, call_##kernel, args, (unsigned[]){x, y, z})

static void run(void *object, const char *name, void (*call)(const struct gt_emu_launch *),
                const void *args, const unsigned grid[3])
{
    struct gt_err err;
    struct gt_emu_launch launch = {.call = call,
                                   .entry = dlsym(object, name),
                                   .args = args,
                                   .block = {256, 1, 1},
                                   .cluster = {1, 1, 1}};
    memcpy(launch.grid, grid, sizeof launch.grid);
    if (!launch.entry || gt_emu_run(&launch, &err)) {
        printf("Bail out! %s: %s\n", name, launch.entry ? err.msg : "no such entry");
        exit(1);
    }
}

static void open_file(struct proof *proof, void **object, const char *folder, const char *name)
{
    char include[4096], source[4200], path[4200];
    struct gt_err err;
    snprintf(include, sizeof include, "%s/templates", proof->data_dir);
    snprintf(source, sizeof source, "%s/templates/proof/%s.cu", proof->data_dir, name);
    snprintf(path, sizeof path, "%s/proof-%s.so", folder, name);
    if (gt_emu_open(object, include, source, path, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

/* A batch of matrices in a line of poison: `before` bytes in front, as many words behind. */
struct matrix {
    unsigned *base;
    size_t words, before;
    struct gt_span span;
};

static struct matrix typed(enum gt_dtype type, long long rows, long long cols, long long pad,
                           long long batch, long long gap, size_t before)
{
    long long ld = cols + pad, stride = rows * ld + gap;
    size_t elements = (size_t)((batch - 1) * stride + (rows - 1) * ld + cols);
    struct matrix m = {.before = before};
    m.words = 2 * before + (elements * (size_t)gt_dtype_size(type) + 3) / 4;
    m.base = malloc(m.words * sizeof *m.base);
    if (!m.base)
        abort();
    for (size_t i = 0; i < m.words; i++)
        m.base[i] = gt_proof_poison(type);
    m.span = (struct gt_span){(char *)m.base + before, rows, cols, ld, batch, stride, (int)type};
    return m;
}

static struct matrix matrix(long long rows, long long cols, long long pad, long long batch,
                            long long gap, size_t before)
{
    return typed(GT_F32, rows, cols, pad, batch, gap, before);
}

static struct matrix filled(const struct proof *proof, struct matrix m, enum gt_fill kind,
                            int range, unsigned seed)
{
    struct gt_fill_args args = {.to = m.span, .seed = seed, .kind = kind, .range = range};
    RUN(proof->fill, proof_fill, &args, 2, 3, 1);
    return m;
}

static float *at(const struct matrix *m, long long b, long long i, long long j)
{
    return (float *)m->span.data + b * m->span.stride + i * m->span.ld + j;
}

static struct gt_proof_result guard(const struct proof *proof, const struct matrix *m)
{
    struct gt_proof_result result = {0};
    struct gt_guard_args args = {.base = m->base,
                                 .poison = gt_proof_poison((enum gt_dtype)m->span.type),
                                 .words = (long long)m->words,
                                 .offset = (long long)m->before,
                                 .inside = m->span,
                                 .result = &result};
    RUN(proof->check, proof_guard, &args, 3, 1, 1);
    return result;
}

/* Sum and sum of squares over all elements, and whether each is an integer within the range. */
struct moments {
    double sum, squares;
    bool integers;
    long long count;
};

static struct moments moments(const struct matrix *m, int range)
{
    struct moments got = {.integers = true};
    for (long long b = 0; b < m->span.batch; b++)
        for (long long i = 0; i < m->span.rows; i++)
            for (long long j = 0; j < m->span.cols; j++) {
                double x = *at(m, b, i, j);
                got.sum += x;
                got.squares += x * x;
                got.integers = got.integers && x == floor(x) && fabs(x) <= range;
                got.count++;
            }
    return got;
}

static void test_fill(struct proof *proof)
{
    struct matrix x = filled(proof, matrix(150, 67, 5, 2, 7, 16), GT_FILL_INTEGERS, 3, 1);
    struct moments m = moments(&x, 3);
    test(proof,
         m.integers && fabs(m.sum / (double)m.count) < 0.1 &&
             fabs(m.squares / (double)m.count - 4) < 0.2,
         "integers -3..3 have their mean and variance");
    test(proof, guard(proof, &x).guard == 0, "filling writes nothing beside the elements");

    struct matrix y = filled(proof, matrix(150, 67, 0, 2, 0, 0), GT_FILL_INTEGERS, 3, 1);
    struct gt_proof_result result = {0};
    struct gt_equal_args equal = {.x = x.span, .y = y.span, .result = &result};
    RUN(proof->check, proof_equal, &equal, 2, 2, 1);
    test(proof, result.different == 0, "values do not depend on the leading dimension");
    *at(&y, 1, 149, 66) += 1;
    *at(&y, 1, 3, 5) += 1;
    RUN(proof->check, proof_equal, &equal, 2, 2, 1);
    test(proof, result.different == 2 && ~result.first_different == (150 + 3) * 67 + 5,
         "two differing elements are counted and the first is named");

    struct matrix z = filled(proof, matrix(150, 67, 0, 2, 0, 0), GT_FILL_NORMAL, 0, 2);
    m = moments(&z, 0);
    test(proof,
         fabs(m.sum / (double)m.count) < 0.03 && fabs(m.squares / (double)m.count - 1) < 0.05,
         "normal values have mean 0 and variance 1");
    free(x.base);
    free(y.base);
    free(z.base);
}

static void test_guard(struct proof *proof)
{
    struct matrix m = filled(proof, matrix(9, 11, 3, 2, 6, 80), GT_FILL_NORMAL, 0, 3);
    long long ld = 14, stride = 9 * ld + 6, last = (long long)m.words - 1;
    /* in front, between rows, between matrices, behind */
    long long places[] = {0,   19, 20 + 11, 20 + 3 * ld + 13, 20 + 8 * ld + 11, 20 + stride - 1,
                          last};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        m.base[places[i]] ^= 1;
        struct gt_proof_result result = guard(proof, &m);
        test(proof, result.guard == 1 && (long long)~result.first_guard == 4 * places[i],
             "a changed guard word is found at %lld", places[i]);
        m.base[places[i]] ^= 1;
    }
    struct gt_proof_result one = {0}, two = {0};
    struct gt_hash_args hash = {m.base, (long long)m.words, &one};
    RUN(proof->check, proof_hash, &hash, 3, 1, 1);
    unsigned word = m.base[25];
    m.base[25] = m.base[26];
    m.base[26] = word;
    hash.result = &two;
    RUN(proof->check, proof_hash, &hash, 1, 1, 1);
    test(proof, one.hash != two.hash, "swapping two words changes the hash");
    m.base[26] = m.base[25];
    m.base[25] = word;
    two.hash = 0;
    RUN(proof->check, proof_hash, &hash, 2, 1, 1);
    test(proof, one.hash == two.hash, "the hash does not depend on the grid");
    free(m.base);
}

/* A product and everything the reference kernel says of it. */
struct product {
    struct matrix a, b, c, bias;
    struct gt_reference_args args;
};

static struct product product(const struct proof *proof, int layout, float alpha, float beta,
                              int epilogue)
{
    enum { M = 67, N = 70, K = 37, BATCH = 2 };
    int ta = layout / 2, tb = layout % 2;
    struct product p;
    p.a = filled(proof, matrix(ta ? K : M, ta ? M : K, 3, BATCH, 2, 0), GT_FILL_NORMAL, 0, 11);
    p.b = filled(proof, matrix(tb ? N : K, tb ? K : N, 1, BATCH, 0, 0), GT_FILL_NORMAL, 0, 12);
    p.c = filled(proof, matrix(M, N, 2, BATCH, 1, 0), GT_FILL_NORMAL, 0, 13);
    p.bias = filled(proof, matrix(1, N, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 14);
    size_t count = (size_t)M * N * BATCH;
    p.args = (struct gt_reference_args){
        .a = p.a.span.data,
        .b = p.b.span.data,
        .c = beta != 0 ? p.c.span.data : NULL,
        .bias = epilogue & 1 ? p.bias.span.data : NULL,
        .m = M,
        .n = N,
        .k = K,
        .lda = p.a.span.ld,
        .ldb = p.b.span.ld,
        .ldc = p.c.span.ld,
        .stride_a = p.a.span.stride,
        .stride_b = p.b.span.stride,
        .stride_c = p.c.span.stride,
        .trans_a = ta,
        .trans_b = tb,
        .epilogue = epilogue,
        .alpha = alpha,
        .beta = beta,
        .ref = malloc(count * sizeof(double)),
        .bound = malloc(count * sizeof(float)),
        .exact = malloc(count * sizeof(float)),
    };
    if (!p.args.ref || !p.args.bound || !p.args.exact)
        abort();
    /* In strips, as the host does: 64 rows, then the rest, each matrix by itself. */
    for (int first = 0; first < BATCH; first++)
        for (int row = 0; row < M; row += 64) {
            struct gt_reference_args strip = p.args;
            strip.row = row;
            strip.first = first;
            RUN(proof->reference, proof_reference, &strip, 2, 1, 1);
        }
    return p;
}

static void product_release(struct product *p)
{
    free(p->a.base);
    free(p->b.base);
    free(p->c.base);
    free(p->bias.base);
    free(p->args.ref);
    free(p->args.bound);
    free(p->args.exact);
}

/* The same element by the textbook; *bound: the sum of absolute values. */
static double textbook(const struct product *p, long long z, long long i, long long j,
                       double *bound)
{
    double sum = 0, absolute = 0;
    for (long long k = 0; k < p->args.k; k++) {
        double x = p->args.trans_a ? *at(&p->a, z, k, i) : *at(&p->a, z, i, k);
        double y = p->args.trans_b ? *at(&p->b, z, j, k) : *at(&p->b, z, k, j);
        sum += x * y;
        absolute += fabs(x * y);
    }
    sum *= p->args.alpha;
    absolute *= fabs((double)p->args.alpha);
    if (p->args.beta != 0) {
        sum += (double)p->args.beta * *at(&p->c, z, i, j);
        absolute += fabs((double)p->args.beta * *at(&p->c, z, i, j));
    }
    if (p->args.epilogue & 1) {
        sum += *at(&p->bias, 0, 0, j);
        absolute += fabs((double)*at(&p->bias, 0, 0, j));
    }
    if (p->args.epilogue & 2)
        sum = sum > 0 ? sum : 0;
    if (p->args.epilogue & 4)
        sum = sum / 2 * (1 + erf(sum / sqrt(2.0)));
    *bound = absolute;
    return sum;
}

static void test_reference(struct proof *proof)
{
    static const struct {
        int layout;
        float alpha, beta;
        int epilogue;
    } cases[] = {{0, 1, 0, 0}, {1, 2, 0, 0},     {2, -1, 0.5f, 0},
                 {3, 1, 1, 0}, {0, 1, 0, 1 | 2}, {3, 1, -1, 1 | 4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct product p =
            product(proof, cases[c].layout, cases[c].alpha, cases[c].beta, cases[c].epilogue);
        double worst = 0, worst_bound = 0;
        bool exact = true;
        for (long long e = 0; e < 2 * p.args.m * p.args.n; e++) {
            double bound, want = textbook(&p, e / (p.args.m * p.args.n), e / p.args.n % p.args.m,
                                          e % p.args.n, &bound);
            worst = fmax(worst, fabs(p.args.ref[e] - want));
            worst_bound = fmax(worst_bound, fabs(p.args.bound[e] / bound - 1));
            exact = exact && ((const float *)p.args.exact)[e] == (float)p.args.ref[e];
        }
        test(proof, worst < 1e-12 && worst_bound < 1e-5 && exact,
             "reference: layout %d alpha %g beta %g epilogue %d: off by %.1e, its bound by %.1e",
             cases[c].layout, (double)cases[c].alpha, (double)cases[c].beta, cases[c].epilogue,
             worst, worst_bound);
        product_release(&p);
    }
}

static struct gt_proof_result compare(const struct proof *proof, const struct product *p,
                                      const struct matrix *d, bool exact)
{
    struct gt_proof_result result = {0};
    struct gt_compare_args args = {.d = d->span,
                                   .ref = p->args.ref,
                                   .exact = p->args.exact,
                                   .bound = exact ? NULL : p->args.bound,
                                   .tolerance = 1e-6,
                                   .relative = 6e-8,
                                   .result = &result};
    RUN(proof->check, proof_compare, &args, 2, 2, 1);
    return result;
}

static void test_compare(struct proof *proof)
{
    struct product p = product(proof, 0, 1, 0, 0);
    long long m = p.args.m, n = p.args.n;
    struct matrix d = matrix(m, n, 4, 2, 3, 0);
    for (long long e = 0; e < 2 * m * n; e++)
        *at(&d, e / (m * n), e / n % m, e % n) = (float)p.args.ref[e];
    struct gt_proof_result result = compare(proof, &p, &d, false);
    test(proof, result.bad == 0 && result.nonfinite == 0 && compare(proof, &p, &d, true).bad == 0,
         "the right result passes, within its bound and exactly");

    float *element = at(&d, 1, 2, 69), right = *element;
    long long place = (m + 2) * n + 69;
    *element = right + 2e-6f * p.args.bound[place];
    result = compare(proof, &p, &d, false);
    unsigned bits = (unsigned)result.error;
    float error;
    memcpy(&error, &bits, sizeof error);
    test(proof,
         result.bad == 1 && (long long)~result.first_bad == place && fabs(error - 2e-6) < 5e-7,
         "one element beyond its bound is found, and its error measured");
    *element = nextafterf(right, 100);
    test(proof, compare(proof, &p, &d, false).bad == 0 && compare(proof, &p, &d, true).bad == 1,
         "one unit in the last place: within the bound, but not exact");
    *element = NAN;
    result = compare(proof, &p, &d, false);
    test(proof,
         result.nonfinite == 1 && result.bad == 1 && (long long)~result.first_nonfinite == place,
         "a NaN is counted as such and as wrong");
    *element = INFINITY;
    result = compare(proof, &p, &d, true);
    test(proof, result.nonfinite == 1 && result.bad == 1, "so is an infinity");
    free(d.base);
    product_release(&p);
}

/* ---- every type ---- */

/* Element of a span, counted densely, by the kernel that fetches it. */
static double look(const struct proof *proof, const struct gt_span *span, long long element)
{
    struct gt_proof_result result = {0};
    double expected = 0;
    struct gt_look_args args = {.d = *span, .at = element, .ref = &expected, .result = &result};
    args.ref -= element; /* the only one that is read */
    RUN(proof->check, proof_look, &args, 1, 1, 1);
    return result.got;
}

/* What each type makes of normal values: how far rounding moves one, and in which unit. */
static const struct type {
    enum gt_dtype type, out;
    double relative, absolute, unit;
} types[] = {
    {GT_TF32, GT_F32, 0, 0, 1},
    {GT_F16, GT_F16, 0x1p-11, 0x1p-25, 1},
    {GT_BF16, GT_BF16, 0x1p-8, 0, 1},
    {GT_E4M3, GT_BF16, 0x1p-4, 0x1p-10, 1},
    {GT_E4M3, GT_E4M3, 0x1p-4, 0x1p-10, 1},
    {GT_E5M2, GT_E5M2, 0x1p-3, 0x1p-17, 1},
    {GT_S8, GT_S32, 0, 0.5, 32},
    {GT_S8, GT_S8, 0, 0.5, 32},
};

static void test_typed_fill(struct proof *proof, const struct type *t)
{
    enum { ROWS = 13, COLS = 31 };
    struct matrix as_float = filled(proof, matrix(ROWS, COLS, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 5);
    struct matrix m = filled(proof, typed(t->type, ROWS, COLS, 3, 1, 0, 4), GT_FILL_NORMAL, 0, 5);
    int far = 0, fractions = 0, beyond = 0;
    for (long long e = 0; e < ROWS * COLS; e++) {
        double x = look(proof, &as_float.span, e) * t->unit, got = look(proof, &m.span, e);
        far += fabs(got - fmax(-127, fmin(127, x))) > fabs(x) * t->relative + t->absolute;
    }
    filled(proof, m, GT_FILL_INTEGERS, 8, 6);
    for (long long e = 0; e < ROWS * COLS; e++) {
        double got = look(proof, &m.span, e);
        fractions += got != rint(got);
        beyond += fabs(got) > 8;
    }
    test(proof, !far && !fractions && !beyond && !guard(proof, &m).guard,
         "%s: normal values are rounded once, integers are exact, padding stays",
         gt_dtype_name(t->type));
    free(as_float.base);
    free(m.base);
}

/* One byte at a time, everywhere outside the elements. */
static void test_typed_guard(struct proof *proof, enum gt_dtype type)
{
    enum { ROWS = 3, COLS = 5, LD = 7 };
    long long size = gt_dtype_size(type), before = 4 + size;
    struct matrix m = filled(proof, typed(type, ROWS, COLS, LD - COLS, 1, 0, (size_t)before),
                             GT_FILL_NORMAL, 0, 7);
    long long bytes = 4 * (long long)m.words, missed = 0;
    for (long long i = 0; i < bytes; i++) {
        long long element = (i - before) / size;
        bool inside = i >= before && element < (ROWS - 1) * LD + COLS && element % LD < COLS;
        ((unsigned char *)m.base)[i] ^= 4;
        struct gt_proof_result result = guard(proof, &m);
        ((unsigned char *)m.base)[i] ^= 4;
        missed +=
            inside ? result.guard != 0 : result.guard != 1 || (long long)~result.first_guard != i;
    }
    test(proof, missed == 0, "%s: each byte outside the elements is guarded, and no other",
         gt_dtype_name(type));
    free(m.base);
}

/* A product of the type, from elements as stored; D is the exact one, then one of its bits off. */
static void test_typed_product(struct proof *proof, const struct type *t)
{
    enum { M = 9, N = 21, K = 19 };
    struct matrix a = filled(proof, typed(t->type, M, K, 2, 1, 0, 0), GT_FILL_NORMAL, 0, 21);
    struct matrix b = filled(proof, typed(t->type, K, N, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 22);
    struct matrix bias = filled(proof, typed(t->out, 1, N, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 23);
    struct matrix d = typed(t->out, M, N, 0, 1, 0, 0);
    double ref[M * N], worst = 0;
    float bound[M * N];
    struct gt_reference_args args = {.a = a.span.data,
                                     .b = b.span.data,
                                     .bias = bias.span.data,
                                     .type = (int)t->type,
                                     .out = (int)t->out,
                                     .m = M,
                                     .n = N,
                                     .k = K,
                                     .lda = a.span.ld,
                                     .ldb = b.span.ld,
                                     .ldc = N,
                                     .epilogue = GT_EPILOGUE_BIAS,
                                     .alpha = 1,
                                     .ref = ref,
                                     .bound = bound,
                                     .exact = d.span.data};
    RUN(proof->reference, proof_reference, &args, 1, 1, 1);
    bool rounded = true;
    for (int e = 0; e < M * N; e++) {
        double sum = look(proof, &bias.span, e % N), got = look(proof, &d.span, e);
        for (int k = 0; k < K; k++)
            sum += look(proof, &a.span, e / N * K + k) * look(proof, &b.span, k * N + e % N);
        if (t->out == GT_S8)
            sum = fmax(-128, fmin(127, sum));
        worst = fmax(worst, fabs(sum - ref[e]));
        struct gt_verify_bound allowed;
        struct gt_problem problem;
        gt_problem_init(&problem, M, N, 0);
        problem.out = t->out;
        gt_verify_bound(&problem, &allowed);
        rounded = rounded && fabs(got - sum) <= fabs(sum) * allowed.relative + allowed.absolute;
    }
    test(proof, worst < 1e-12 && rounded, "%s to %s: reference, and rounded once",
         gt_dtype_name(t->type), gt_dtype_name(t->out));
    struct gt_proof_result result = {0};
    struct gt_compare_args judge = {.d = d.span, .result = &result};
    size_t bytes = M * N * (size_t)gt_dtype_size(t->out);
    void *copy = malloc(bytes);
    if (!copy)
        abort();
    memcpy(copy, d.span.data, bytes);
    judge.exact = copy;
    RUN(proof->check, proof_compare, &judge, 1, 1, 1);
    unsigned long long before = result.bad;
    ((unsigned char *)d.span.data)[bytes / 2 / 4 * 4] ^= 1; /* the lowest bit of an element */
    RUN(proof->check, proof_compare, &judge, 1, 1, 1);
    test(proof, before == 0 && result.bad == 1, "%s: one bit off is not exact",
         gt_dtype_name(t->out));
    free(copy);
    free(a.base);
    free(b.base);
    free(bias.base);
    free(d.base);
}

static void test_types(struct proof *proof)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        test_typed_fill(proof, &types[i]);
        test_typed_guard(proof, types[i].out);
        test_typed_product(proof, &types[i]);
    }
}

static void test_canary(struct proof *proof)
{
    float out[100];
    bool same = true;
    struct gt_canary_args args = {out, 100, 50};
    RUN(proof->clock, proof_canary, &args, 1, 1, 1);
    for (int i = 0; i < 100; i++) {
        float x = 1.0f + (float)(i % 8);
        for (int step = 0; step < 50; step++)
            x = fmaf(x, 0.75f, 1.0f + 0.125f * (float)(step % 4));
        same = same && x == out[i];
    }
    test(proof, same, "the canary's values are those of the host");
    struct gt_clock_args clock = {0}; /* looks at no clock here, but must end */
    RUN(proof->clock, proof_clock, &clock, 1, 1, 1);
}

int main(void)
{
    struct proof proof = {0};
    struct gt_err err;
    char folder[256];
    const char *build = getenv("BUILD");

    if (gt_data_dir(&proof.data_dir, &err)) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    snprintf(folder, sizeof folder, "%s/emu", build ? build : "build");
    mkdir(folder, 0777);
    open_file(&proof, &proof.fill, folder, "fill");
    open_file(&proof, &proof.reference, folder, "reference");
    open_file(&proof, &proof.check, folder, "check");
    open_file(&proof, &proof.clock, folder, "clock");
    test_fill(&proof);
    test_guard(&proof);
    test_reference(&proof);
    test_compare(&proof);
    test_types(&proof);
    test_canary(&proof);
    printf("1..%d\n# %d passed, %d failed\n", proof.tests, proof.tests - proof.failed,
           proof.failed);
    dlclose(proof.fill);
    dlclose(proof.reference);
    dlclose(proof.check);
    dlclose(proof.clock);
    free(proof.data_dir);
    return proof.failed != 0;
}

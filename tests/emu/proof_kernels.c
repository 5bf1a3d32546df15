/* proof_kernels.c - test program: the kernels of templates/proof, which judge all others, on the
 * CPU.  It checks that operands are filled as specified, that the reference is right, and that
 * every kind of damage is found at its place, in FP32; proof_types.c has the other types.  Prints
 * TAP. */
#include "proof_fixture.h"

static float *at(const struct matrix *m, long long b, long long i, long long j)
{
    return (float *)m->span.data + b * m->span.stride + i * m->span.ld + j;
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

    proof_begin(&proof, "proof_kernels");
    test_fill(&proof);
    test_guard(&proof);
    test_reference(&proof);
    test_compare(&proof);
    test_canary(&proof);
    return proof_end(&proof);
}

/* residues.c - what FP32 products cost in exactness when they are made of INT8 residues, or of
 * pairs of FP16 numbers.
 *
 * A product of floats can be had from INT8 tensor cores: each row of A and each column of B is
 * scaled by a power of two and cut to an integer, the integers are multiplied modulo several
 * pairwise coprime numbers of 8 bits, and the remainders give the integer product back (the Chinese
 * remainder theorem).  The product itself is exact; what is lost is what the cut drops, and the cut
 * is at one place for a whole row.
 *
 * Pairs of FP16 numbers need three products of tensor cores.  Here they are those of the kernel
 * f32acc_pair (templates/f32acc/split_pair.cuh): tiles of 64 vectors and 64 of k have a factor, and
 * what the pairs drop, low * low with it, is all that is lost.  The kernel marks tiles that pairs
 * do not hold well, and computes what depends on them in another way; here that is left out, and
 * pairs_again says how many of a hundred tiles would be marked.
 *
 * This program prints the largest error of these schemes and of FP32 multiply-adds beside each
 * other, for operands of several ranges of exponents, in the unit of the proof of accuracy `f32`:
 * 2^-24 times the sum of |a||b| of the element.  It needs no GPU: it cuts the same bits, multiplies
 * the integers in 64 bits, and adds up pairs exactly and rounds once.
 *
 *     build/tools/residues [K]        k of the products, 8192; m and n are 64
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE         64
#define MODULI_LEAST 6
#define MODULI_MOST  8
#define UNIT         0x1p-24

/* Of f32acc_pair (split_pair.cuh). */
#define PAIR_LARGEST 14
#define PAIR_RANGE   27
#define PAIR_FEW     8

/* The largest pairwise coprime numbers that a remainder of 8 bits allows. */
static const int MODULI[MODULI_MOST] = {256, 255, 253, 251, 247, 241, 239, 233};

/* SIDE vectors of k floats, one after the other: rows of A, or columns of B. */
struct operand {
    float *value;
    int64_t *cut;
    int scale[SIDE];    /* cut = trunc(value * 2^scale) */
    double *high, *low; /* the pairs, without the factors of their tiles */
};

/* How an element is computed; other numbers are those of moduli. */
enum { MULTIPLY_ADDS = 0, PAIRS = 1 };

static size_t depth = 8192;

/* A number of [0, 1) from a fixed sequence (SplitMix64, Steele, Lea and Flood 2014). */
static double uniform(void)
{
    static uint64_t state = 1;
    uint64_t z = state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* The kinds of operands: what fills A and B at place i of the depth. */
enum kind { UNIFORM, NORMAL, LOGNORMAL_2, LOGNORMAL_4, OUTLIER, BALANCED, KINDS };

static const char *const KIND_NAMES[KINDS] = {
    "uniform in [-1 1)",
    "normal",
    "normal times exp(2 normal)",
    "normal times exp(4 normal)",
    "uniform; one column of A is 2^12 times as large and meets zeros",
    "uniform; columns of A times 2^-10 to 2^10 and rows of B divided by it",
};

/* The factor that place i of the depth has in A, from the kind; B has its inverse, or 0 at an
 * outlier. */
static double factor(enum kind kind, size_t i, int of_b)
{
    if (kind == OUTLIER && i == 0)
        return of_b ? 0 : 0x1p12;
    if (kind == BALANCED) {
        const int power = (int)(i % 21) - 10;

        return ldexp(1, of_b ? -power : power);
    }
    return 1;
}

static void fill(struct operand *operand, enum kind kind, int of_b)
{
    for (size_t i = 0; i < SIDE * depth; i++) {
        double value = 2 * uniform() - 1;

        if (kind == NORMAL || kind == LOGNORMAL_2 || kind == LOGNORMAL_4)
            value = normal();
        if (kind == LOGNORMAL_2 || kind == LOGNORMAL_4)
            value *= exp((kind == LOGNORMAL_2 ? 2 : 4) * normal());
        operand->value[i] = (float)(value * factor(kind, i % depth, of_b));
    }
}

/* Cuts the vectors so that each dot product stays below half the product of the moduli (Cauchy and
 * Schwarz). */
static void cut(struct operand *operand, int moduli)
{
    double bits = -1;

    for (int i = 0; i < moduli; i++)
        bits += log2(MODULI[i]);
    for (size_t v = 0; v < SIDE; v++) {
        const float *value = operand->value + v * depth;
        double square = 0;

        for (size_t i = 0; i < depth; i++)
            square += (double)value[i] * value[i];
        operand->scale[v] = (int)floor(bits / 2 - log2(square) / 2);
        for (size_t i = 0; i < depth; i++)
            operand->cut[v * depth + i] = (int64_t)ldexp(value[i], operand->scale[v]);
    }
}

/* The FP16 number nearest to a finite one of its range. */
static double round_half(double x)
{
    const int least = x == 0 ? -14 : ilogb(x) < -14 ? -14 : ilogb(x), unit = least - 10;

    return ldexp(rint(ldexp(x, -unit)), unit);
}

/* Writes the tile at `first` of k as pairs; whether the kernel would mark it (of a last tile of
 * fewer than 8 of k the kernel counts those of the tile before it, too). */
static int pair_tile(struct operand *operand, size_t first)
{
    const size_t count = depth - first < SIDE ? depth - first : SIDE;
    const size_t few = count < PAIR_FEW ? count : PAIR_FEW;
    double largest = 0, least = INFINITY;
    int marked = 0, factor;

    for (size_t v = 0; v < SIDE; v++) {
        size_t nonzeros = 0;

        for (size_t i = v * depth + first; i < v * depth + first + count; i++) {
            const double size = fabs((double)operand->value[i]);

            largest = fmax(largest, size);
            if (size > 0)
                nonzeros++, least = fmin(least, size);
        }
        marked |= nonzeros > 0 && nonzeros < few;
    }
    factor = largest > 0 ? PAIR_LARGEST - ilogb(largest) : 0;
    marked |= largest > 0 && (ilogb(largest) < -40 || ilogb(largest) >= 60 ||
                              least < ldexp(1, ilogb(largest) - PAIR_RANGE));
    for (size_t v = 0; v < SIDE; v++)
        for (size_t i = v * depth + first; i < v * depth + first + count; i++) {
            const double x = ldexp(operand->value[i], factor), high = round_half(x);

            operand->high[i] = ldexp(high, -factor);
            operand->low[i] = ldexp(round_half(ldexp(x - high, 11)), -11 - factor);
        }
    return marked;
}

/* Writes the vectors as pairs; returns how many tiles the kernel would mark. */
static int pair(struct operand *operand)
{
    int marked = 0;

    for (size_t first = 0; first < depth; first += SIDE)
        marked += pair_tile(operand, first);
    return marked;
}

/* An element, rounded to float. */
static float element(const struct operand *a, const struct operand *b, size_t row, size_t column,
                     int way)
{
    const size_t x = row * depth, y = column * depth;
    long double sum = 0;
    int64_t whole = 0;
    float chain = 0;

    for (size_t i = 0; i < depth; i++)
        if (way == MULTIPLY_ADDS)
            chain = fmaf(a->value[x + i], b->value[y + i], chain);
        else if (way == PAIRS)
            sum += a->high[x + i] * b->high[y + i] + a->high[x + i] * b->low[y + i] +
                   a->low[x + i] * b->high[y + i];
        else
            whole += a->cut[x + i] * b->cut[y + i];
    return way == MULTIPLY_ADDS ? chain
           : way == PAIRS       ? (float)sum
                                : (float)ldexp((double)whole, -a->scale[row] - b->scale[column]);
}

/* The largest error of the elements, in units of their sums of |a||b|. */
static double largest_error(const struct operand *a, const struct operand *b, int way)
{
    double most = 0;

    for (size_t e = 0; e < SIDE * SIDE; e++) {
        const size_t row = e / SIDE, column = e % SIDE;
        const float *x = a->value + row * depth, *y = b->value + column * depth;
        long double exact = 0;
        double size = 0;

        for (size_t i = 0; i < depth; i++) {
            exact += (long double)x[i] * y[i];
            size += fabs((double)x[i] * y[i]);
        }
        const double result = element(a, b, row, column, way);
        most = fmax(most, fabs((double)(result - exact)) / size / UNIT);
    }
    return most;
}

static int allocate(struct operand *operand)
{
    operand->value = malloc(SIDE * depth * sizeof *operand->value);
    operand->cut = malloc(SIDE * depth * sizeof *operand->cut);
    operand->high = malloc(SIDE * depth * sizeof *operand->high);
    operand->low = malloc(SIDE * depth * sizeof *operand->low);
    return operand->value && operand->cut && operand->high && operand->low;
}

static void release(struct operand *operand)
{
    free(operand->value), free(operand->cut), free(operand->high), free(operand->low);
}

int main(int argc, char **argv)
{
    struct operand a, b;

    if (argc > 1)
        depth = strtoul(argv[1], NULL, 10);
    if (argc > 2 || depth < 1 || depth > 65536) {
        fprintf(stderr, "usage: residues [K]: k from 1 to 65536\n");
        return 2;
    }
    if (!allocate(&a) || !allocate(&b)) {
        fprintf(stderr, "residues: no memory for vectors of %zu numbers\n", depth);
        return 1;
    }
    const double tiles = ceil((double)depth / SIDE);
    printf("operands,k,multiply_adds_u,residues_6_u,residues_7_u,residues_8_u,"
           "pairs_u,pairs_again\n");
    for (int kind = 0; kind < KINDS; kind++) {
        fill(&a, kind, 0);
        fill(&b, kind, 1);
        printf("%s,%zu,%.2f", KIND_NAMES[kind], depth, largest_error(&a, &b, MULTIPLY_ADDS));
        for (int moduli = MODULI_LEAST; moduli <= MODULI_MOST; moduli++) {
            cut(&a, moduli);
            cut(&b, moduli);
            printf(",%.3g", largest_error(&a, &b, moduli));
        }
        const int marked = pair(&a) + pair(&b);
        printf(",%.3g,%.3g\n", largest_error(&a, &b, PAIRS), 100.0 * marked / (2 * tiles));
    }
    release(&a), release(&b);
    return 0;
}

/* residues.c - what FP32 products cost in exactness when they are made of INT8 residues.
 *
 * A product of floats can be had from INT8 tensor cores: each row of A and each column of B is
 * scaled by a power of two and cut to an integer, the integers are multiplied modulo several
 * pairwise coprime numbers of 8 bits, and the remainders give the integer product back (the Chinese
 * remainder theorem).  The product itself is exact; what is lost is what the cut drops, and the cut
 * is at one place for a whole row.  This program prints the largest error of that scheme and of
 * FP32 multiply-adds beside each other, for operands of several ranges of exponents, in the unit of
 * the proof of accuracy `f32`: 2^-24 times the sum of |a||b| of the element.  It needs no GPU: it
 * cuts the same bits and multiplies the integers in 64 bits.
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

/* The largest pairwise coprime numbers that a remainder of 8 bits allows. */
static const int MODULI[MODULI_MOST] = {256, 255, 253, 251, 247, 241, 239, 233};

/* SIDE vectors of k floats, one after the other: rows of A, or columns of B. */
struct operand {
    float *value;
    int64_t *cut;
    int scale[SIDE]; /* cut = trunc(value * 2^scale) */
};

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

/* The largest error of the elements, in units of their sums of |a||b|; moduli 0: FP32 multiply-adds
 * in order. */
static double largest_error(const struct operand *a, const struct operand *b, int moduli)
{
    double most = 0;

    for (size_t e = 0; e < SIDE * SIDE; e++) {
        const size_t row = e / SIDE, column = e % SIDE;
        const float *x = a->value + row * depth, *y = b->value + column * depth;
        long double exact = 0;
        double size = 0, result;
        int64_t whole = 0;
        float chain = 0;

        for (size_t i = 0; i < depth; i++) {
            exact += (long double)x[i] * y[i];
            size += fabs((double)x[i] * y[i]);
            if (moduli)
                whole += a->cut[row * depth + i] * b->cut[column * depth + i];
            else
                chain = fmaf(x[i], y[i], chain);
        }
        result = moduli ? (float)ldexp((double)whole, -a->scale[row] - b->scale[column]) : chain;
        most = fmax(most, fabs((double)(result - exact)) / size / UNIT);
    }
    return most;
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
    a.value = malloc(SIDE * depth * sizeof *a.value), a.cut = malloc(SIDE * depth * sizeof *a.cut);
    b.value = malloc(SIDE * depth * sizeof *b.value), b.cut = malloc(SIDE * depth * sizeof *b.cut);
    if (!a.value || !a.cut || !b.value || !b.cut) {
        fprintf(stderr, "residues: no memory for vectors of %zu numbers\n", depth);
        return 1;
    }
    printf("operands,k,multiply_adds_u,residues_6_u,residues_7_u,residues_8_u\n");
    for (int kind = 0; kind < KINDS; kind++) {
        fill(&a, kind, 0);
        fill(&b, kind, 1);
        printf("%s,%zu,%.2f", KIND_NAMES[kind], depth, largest_error(&a, &b, 0));
        for (int moduli = MODULI_LEAST; moduli <= MODULI_MOST; moduli++) {
            cut(&a, moduli);
            cut(&b, moduli);
            printf(",%.3g", largest_error(&a, &b, moduli));
        }
        printf("\n");
    }
    free(a.value), free(a.cut), free(b.value), free(b.cut);
    return 0;
}

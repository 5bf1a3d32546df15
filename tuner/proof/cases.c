/* cases.c - stage: shapes that kernels often get wrong: sizes around powers of two, matrices
 * thinner than a tile, k = 0, C or A and B that must not be read, C and D in the same memory.
 * resident.c uses them. */
#include "proof/cases.h"

#include <string.h>

enum { PACKED = 1, IN_PLACE = 2, UNREAD = 4 };

/* Some sizes are multiples of 4 or 16, for kernels that serve no others. */
static const struct shape {
    short m, n, k;
    short alpha, beta;
    unsigned flags;
} shapes[GT_CASES] = {
    {255, 257, 129, 1, 0, 0},     /* one less and one more than a tile, in every direction */
    {1, 3, 1, 1, 0, 0},           /* almost the smallest */
    {33, 65, 7, 2, 2, 0},         /* alpha and beta other than 0 and 1 */
    {33, 65, 0, 1, 2, 0},         /* k = 0: D = beta C */
    {16, 20, 0, 1, 0, 0},         /* k = 0 and beta = 0: zeros */
    {129, 130, 63, -1, 0, 0},     /* negative alpha */
    {128, 256, 64, 1, 0, PACKED}, /* whole tiles */
    {132, 68, 36, 1, -1, IN_PLACE},
    {65, 127, 40, 0, 2, UNREAD}, /* alpha = 0: A and B must not be read */
    {3, 1, 300, 1, 0, 0},        /* a column */
    {1, 260, 132, 1, 1, 0},      /* a row */
    {252, 260, 516, 1, 0, 0},    /* multiples of 4, long enough for split-k */
    {40, 24, 2049, 1, 0, 0},     /* long and odd */
    {68, 36, 12, 3, 0, PACKED},
    {64, 64, 1024, 1, 1, IN_PLACE},
};

static int64_t round_up(int64_t value, int64_t to)
{
    return (value + to - 1) / to * to;
}

/* The smallest leading dimension of at least `least` elements of `size` bytes whose alignment class
 * is `alignment` bytes: a multiple of that, and if it is below 16, not of twice that. */
static int64_t leading(int64_t least, int alignment, int64_t size)
{
    int64_t step = alignment >= size ? alignment / size : 1;
    int64_t ld = round_up(least > 1 ? least : 1, step);

    return alignment < 16 && ld / step % 2 == 0 ? ld + step : ld;
}

/* The stride of a batch whose matrices have `gap` times 16 bytes between them. */
static int64_t stride_of(int64_t rows, int64_t ld, int64_t size, int64_t gap)
{
    return rows * ld + gap * 16 / size;
}

static void shape_problem(struct gt_problem *p, const struct shape *shape,
                          const struct gt_problem *like)
{
    int64_t pad = shape->flags & PACKED ? 0 : 5, gap = like->batch > 1 ? pad : 0;
    int64_t in = gt_dtype_size(like->type), out = gt_dtype_size(like->out);
    int align[] = {gt_problem_alignment(like, GT_OPERAND_A),
                   gt_problem_alignment(like, GT_OPERAND_B),
                   gt_problem_alignment(like, GT_OPERAND_C)};

    *p = *like;
    p->m = shape->m;
    p->n = shape->n;
    p->k = shape->k;
    p->alpha = shape->alpha;
    p->beta = shape->beta;
    p->batch = like->batch > 1 ? 2 : 1;
    p->lda = leading(gt_problem_cols(p, GT_OPERAND_A) + pad, align[0], in);
    p->ldb = leading(gt_problem_cols(p, GT_OPERAND_B) + pad, align[1], in);
    p->ldc = leading(p->n + pad, align[2], out);
    p->stride_a = stride_of(gt_problem_rows(p, GT_OPERAND_A), p->lda, in, gap);
    p->stride_b = stride_of(gt_problem_rows(p, GT_OPERAND_B), p->ldb, in, gap);
    p->stride_c = stride_of(p->m, p->ldc, out, gap);
}

void gt_cases_fill(struct gt_case item[GT_CASES + 1], const struct gt_problem *problem)
{
    struct gt_problem *whole = &item[GT_CASES].problem;

    for (int i = 0; i < GT_CASES; i++) {
        shape_problem(&item[i].problem, &shapes[i], problem);
        item[i].in_place = shapes[i].flags & IN_PLACE;
        item[i].unread = shapes[i].flags & UNREAD;
    }
    /* The problem itself, with factors that keep integers exact. */
    *whole = *problem;
    whole->alpha = problem->alpha == 0 ? 0 : 1;
    whole->beta = problem->beta == 0 ? 0 : 2;
}

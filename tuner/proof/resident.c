/* resident.c - stage: the memory of a problem on the GPU: its small cases, layout, allocation and
 * contents, and the arguments of launches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "proof/resident.h"

#define GUARD_WORDS     4096      /* guard around inputs: 16 KiB */
#define GUARD_ROWS      256       /* around results: rows of the tallest tile that may overshoot */
#define GUARD_MAX       (1 << 20) /* words: 4 MiB */
#define RESERVE_BYTES   (64u << 20)
#define WORKSPACE_GUARD 16384 /* guarded words behind the workspace */

/* The most inputs that are allocations of their own: the inputs of each set, the bias, and the
 * inputs of the case that has the problem's size. */
#define OWN_INPUTS  (3 * GT_MAX_SETS + 6 + CASE_INPUTS)
#define CASE_INPUTS 9

enum gt_dist gt_dist_parse(const char *name)
{
#define DIST_NAME(number, name) name,
    static const char *const names[] = {GT_DIST_MAP(DIST_NAME)};
#undef DIST_NAME
    int i = 0;

    while (i < GT_DIST_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum gt_dist)i;
}

static int64_t round_up(int64_t value, int64_t to)
{
    return (value + to - 1) / to * to;
}

/* ---- the small cases ----
 *
 * Shapes that kernels often get wrong: sizes around powers of two, matrices thinner than a tile,
 * k = 0, C or A and B that must not be read, C and D in the same memory. */

enum { PACKED = 1, IN_PLACE = 2, UNREAD = 4 };

/* Some sizes are multiples of 4 or 16, for kernels that serve no other sizes. */
static const struct shape {
    short m, n, k;
    short alpha, beta;
    unsigned flags;
} shapes[GT_CASES] = {
    {255, 257, 129, 1, 0, 0},     /* one row or column less, and one more, than a tile */
    {1, 3, 1, 1, 0, 0},           /* almost the smallest shape */
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

/* The smallest leading dimension of at least `least` elements of `bits` whose alignment class
 * is `alignment` bytes: a multiple of `alignment` and, if `alignment` is below 16, not of twice
 * `alignment`. */
static int64_t leading(int64_t least, int alignment, int64_t bits)
{
    int64_t step = alignment * 8 >= bits ? alignment * 8 / bits : 1;
    int64_t ld = round_up(least > 1 ? least : 1, step);

    return alignment < 16 && ld / step % 2 == 0 ? ld + step : ld;
}

/* The stride of a batch whose matrices have `gap` times 16 bytes between them. */
static int64_t stride_of(int64_t rows, int64_t ld, int64_t bits, int64_t gap)
{
    return rows * ld + gap * 16 * 8 / bits;
}

/* A factor of a small case; in place of 2 doubles have a number that a float has not. */
static double case_factor(short factor, const struct gt_problem *like)
{
    return like->acc == GT_F64 && factor == 2 ? 0x1p25 + 1 : factor;
}

static void shape_problem(struct gt_problem *p, const struct shape *shape,
                          const struct gt_problem *like)
{
    int64_t pad = shape->flags & PACKED ? 0 : 5;
    int64_t gap = like->batch > 1 || like->groups ? pad : 0;
    int64_t in = gt_dtype_bits(like->type), out = gt_dtype_bits(like->out);
    int64_t in_b = gt_dtype_bits(gt_problem_type_b(like));
    int align[] = {gt_problem_alignment(like, GT_OPERAND_A),
                   gt_problem_alignment(like, GT_OPERAND_B),
                   gt_problem_alignment(like, GT_OPERAND_C)};

    *p = *like;
    p->m = shape->m;
    p->n = shape->n;
    p->k = shape->k;
    p->alpha = case_factor(shape->alpha, like);
    p->beta = case_factor(shape->beta, like);
    p->batch = like->batch > 1 ? 2 : 1;
    p->lda = leading(gt_problem_cols(p, GT_OPERAND_A) + pad, align[0], in);
    p->ldb = leading(gt_problem_cols(p, GT_OPERAND_B) + pad, align[1], in_b);
    p->ldc = leading(gt_problem_columns(p) + pad, align[2], out);
    p->lsa = gt_problem_line(p, GT_OPERAND_A);
    p->lsa += p->lsa && pad ? 3 : 0;
    p->lsb = gt_problem_line(p, GT_OPERAND_B);
    p->lsb += p->lsb && pad ? 3 : 0;
    p->stride_a = stride_of(gt_problem_rows(p, GT_OPERAND_A), p->lda, in, gap);
    p->stride_b = stride_of(gt_problem_rows(p, GT_OPERAND_B), p->ldb, in_b, gap);
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
    whole->alpha = problem->alpha == 0 ? 0 : case_factor(problem->acc == GT_F64 ? 2 : 1, problem);
    whole->beta = problem->beta == 0 ? 0 : case_factor(2, problem);
}

/* ---- groups ----
 *
 * How the rows, or the k, of a problem are spread over its groups. */

enum spread {
    EVEN,   /* all alike */
    ONE,    /* the one in the middle has all */
    RAGGED, /* the first is empty, the second has one, the others are drawn */
    SHORT   /* the same, and an eighth at the end is no group's */
};

/* The spread of a case, by number.  The last case, which has the problem's size, is a ragged one.
 */
static enum spread spread_of(int index)
{
    return index == GT_CASES ? RAGGED : (enum spread)((index + RAGGED) % 4);
}

/* Rows, or k, that are some group's. */
static int64_t grouped(const struct gt_problem *p, enum spread spread)
{
    const int64_t whole = p->by == GT_GROUPS_BY_K ? p->k : p->m;

    return spread == SHORT ? whole - whole / 8 : whole;
}

/* Group g's share of what is left to the drawn groups. */
static int64_t share_of(int64_t g)
{
    return g < 2 ? 0 : g * 2654435761 % 97;
}

/* Fills ends[0 .. groups). */
static void find_ends(const struct gt_problem *p, enum spread spread, int32_t *ends)
{
    const int64_t all = grouped(p, spread);
    int64_t shares = 0, so_far = 0;

    for (int64_t g = 0; g < p->groups; g++)
        shares += share_of(g);
    for (int64_t g = 0; g < p->groups; g++) {
        so_far += share_of(g);
        if (g + 1 == p->groups)
            ends[g] = (int32_t)all;
        else if (spread == EVEN)
            ends[g] = (int32_t)(all * (g + 1) / p->groups);
        else if (spread == ONE)
            ends[g] = g < p->groups / 2 ? 0 : (int32_t)all;
        else
            ends[g] = g == 0 || !all ? 0 : (int32_t)(1 + (all - 1) * so_far / (shares + !shares));
    }
}

/* ---- matrices ---- */

static int64_t span_bytes(const struct gt_span *span)
{
    if (!span->rows || !span->cols)
        return 0;
    return gt_dtype_size((enum gt_dtype)span->type) *
           ((span->batch - 1) * span->stride + (span->rows - 1) * span->ld + span->cols);
}

/* The shape of a line of elements. */
static struct gt_span line_of(int64_t elements, enum gt_dtype type)
{
    return (struct gt_span){NULL, 1, elements, elements, 1, elements, (int)type};
}

/* The shape of an operand.  Matrices of a batch that overlap (or are the same) count as one line.
 */
static struct gt_span shape_of(const struct gt_problem *p, enum gt_operand operand)
{
    struct gt_span span = {NULL,
                           gt_problem_rows(p, operand),
                           gt_problem_cols(p, operand),
                           gt_problem_ld(p, operand),
                           gt_problem_matrices(p, operand),
                           gt_problem_stride(p, operand),
                           (int)gt_problem_dtype(p, operand)};

    if (span.batch > 1 && span.stride < (span.rows - 1) * span.ld + span.cols)
        span = line_of(gt_problem_elements(p, operand), gt_problem_dtype(p, operand));
    return span;
}

/* The size of a case's exact result in words. */
static int64_t exact_words(const struct gt_case *item)
{
    return round_up(gt_problem_results(&item->problem) * gt_dtype_size(item->problem.out), 4) / 4;
}

/* Lays a matrix out with guards of `guard` words.  Its base is aligned to `align` bytes, or to an
 * element if that is more.  If the alignment is less than 16, the base has no higher alignment. */
static void lay_out(struct gt_matrix *matrix, struct gt_span span, int64_t guard, int align)
{
    int64_t size = gt_dtype_size((enum gt_dtype)span.type);
    int64_t shift = align >= 16 ? 0 : align > size ? align : size;

    matrix->span = span;
    matrix->offset = 4 * round_up(guard, 64) + shift;
    matrix->words = round_up(matrix->offset + span_bytes(&span) + 4 * guard, 256) / 4;
}

/* Sets the memory of a matrix that is laid out. */
static void place(struct gt_matrix *matrix, gt_devptr base)
{
    matrix->base = base;
    /* A device address, which the host must not read. */
    matrix->span.data = (void *)(uintptr_t)(base + (gt_devptr)matrix->offset);
}

static int64_t result_guard(const struct gt_problem *p)
{
    int64_t guard = GUARD_ROWS * p->ldc * gt_dtype_size(p->out) / 4;

    return guard < GUARD_WORDS ? GUARD_WORDS : guard > GUARD_MAX ? GUARD_MAX : guard;
}

/* ---- layout of everything ---- */

static void lay_out_inputs(const struct gt_problem *p, struct gt_matrix *a, struct gt_matrix *b,
                           struct gt_matrix *c)
{
    lay_out(a, shape_of(p, GT_OPERAND_A), GUARD_WORDS, p->align);
    lay_out(b, shape_of(p, GT_OPERAND_B), GUARD_WORDS, p->align);
    if (gt_problem_reads_c(p))
        lay_out(c, shape_of(p, GT_OPERAND_C), GUARD_WORDS, p->align);
}

static void lay_out_bias(const struct gt_problem *p, struct gt_matrix *bias)
{
    if (p->epilogue & GT_EPILOGUE_BIAS)
        lay_out(bias, line_of(p->n, gt_problem_bias(p)), GUARD_WORDS, p->align);
}

/* The type that factors are stored in; of exponents alone, another one of that size. */
static enum gt_dtype stored_as(const struct gt_scale *scale)
{
    static const unsigned char types[] = {[GT_SCALE_F32] = GT_F32,
                                          [GT_SCALE_UE8M0] = GT_E4M3,
                                          [GT_SCALE_UE4M3] = GT_E4M3,
                                          [GT_SCALE_BF16] = GT_BF16,
                                          [GT_SCALE_F16] = GT_F16};

    return (enum gt_dtype)types[scale->type];
}

/* Factors are aligned to 16 bytes at least, as their rows need be for tensor maps. */
static void lay_out_factors(const struct gt_problem *p, struct gt_factors *to)
{
    for (int i = GT_OPERAND_A; i <= GT_OPERAND_B; i++) {
        const struct gt_scale *scale = gt_problem_scale(p, (enum gt_operand)i);
        const int64_t factors = gt_problem_factors(p, (enum gt_operand)i);

        if (scale->kind)
            lay_out(&to->scale[i], line_of(factors, stored_as(scale)), GUARD_WORDS, 16);
        if (scale->tensor)
            lay_out(&to->tensor[i], line_of(1, GT_F32), GUARD_WORDS, 16);
    }
}

static void lay_out_sizes(const struct gt_problem *p, struct gt_matrix *sizes)
{
    if (p->groups)
        lay_out(sizes, line_of(p->groups, GT_S32), GUARD_WORDS, 4);
}

/* Chooses how many copies of the operands rotation needs: together more than 3 x L2, at most
 * request->most_sets.  If timing has numbers of its own, set 0 is the proof's alone. */
static void choose_sets(struct gt_resident *r, const struct gt_resident_request *request)
{
    const struct gt_set *set = &r->set[0];
    const int most = request->most_sets;
    int64_t l2 = gt_gpu_device(r->gpu)->l2_bytes;
    int64_t bytes = 4 * (set->a.words + set->b.words + set->c.words + r->result[0].words);
    int64_t wanted = (3 * l2 + bytes) / bytes;

    r->dist = request->dist;
    r->timed = r->dist != GT_DIST_NORMAL;
    r->flush = most > 1 && most * bytes <= 3 * l2;
    r->sets = r->timed + (wanted < most ? (int)wanted : most);
    for (int i = 1; i < r->sets; i++)
        r->set[i] = r->set[0];
}

static void lay_out_all(struct gt_resident *r, const struct gt_resident_request *request)
{
    struct gt_case *whole = &r->exact[GT_CASES];

    gt_cases_fill(r->exact, &r->problem);
    for (int i = 0; i <= GT_CASES; i++) {
        struct gt_case *item = &r->exact[i];
        const struct gt_problem *p = &item->problem;

        lay_out_inputs(p, &item->a, &item->b, &item->c);
        lay_out_bias(p, &item->bias);
        lay_out_factors(p, &item->factors);
        lay_out_sizes(p, &item->sizes);
        lay_out(&item->d, shape_of(p, GT_OPERAND_C), result_guard(p), p->align);
        if (p->groups && p->by == GT_GROUPS_BY_M)
            item->d.span.rows = grouped(p, spread_of(i));
    }
    for (int i = 0; i < GT_RESULTS; i++)
        r->result[i] = whole->d;
    lay_out_inputs(&r->problem, &r->set[0].a, &r->set[0].b, &r->set[0].c);
    lay_out_bias(&r->problem, &r->bias);
    lay_out_factors(&r->problem, &r->factors);
    lay_out_sizes(&r->problem, &r->sizes);
    choose_sets(r, request);
    lay_out(&r->workspace, line_of((int64_t)request->workspace / 4, GT_F32), WORKSPACE_GUARD, 16);
    if (r->flush)
        lay_out(&r->scratch, line_of(3 * gt_gpu_device(r->gpu)->l2_bytes / 4, GT_F32), 0, 16);
}

/* Lists the inputs of a case; there are CASE_INPUTS. */
static size_t case_inputs(struct gt_case *item, struct gt_matrix **list)
{
    list[0] = &item->a;
    list[1] = &item->b;
    list[2] = &item->c;
    list[3] = &item->bias;
    for (int i = 0; i < 2; i++) {
        list[4 + i] = &item->factors.scale[i];
        list[6 + i] = &item->factors.tensor[i];
    }
    list[8] = &item->sizes;
    return CASE_INPUTS;
}

/* Lists the inputs that are allocations of their own. */
static size_t own_inputs(struct gt_resident *resident, struct gt_matrix **list)
{
    size_t count = 0;

    for (int i = 0; i < resident->sets; i++) {
        list[count++] = &resident->set[i].a;
        list[count++] = &resident->set[i].b;
        list[count++] = &resident->set[i].c;
    }
    list[count++] = &resident->bias;
    for (int i = 0; i < 2; i++) {
        list[count++] = &resident->factors.scale[i];
        list[count++] = &resident->factors.tensor[i];
    }
    list[count++] = &resident->sizes;
    return count + case_inputs(&resident->exact[GT_CASES], list + count);
}

#define MAX_LARGE (OWN_INPUTS + GT_RESULTS + 2)

/* Lists every matrix that is an allocation of its own. */
static size_t large_matrices(struct gt_resident *r, struct gt_matrix **list)
{
    size_t count = 0;

    for (int i = 0; i < GT_RESULTS; i++)
        list[count++] = &r->result[i];
    count += own_inputs(r, list + count);
    list[count++] = &r->workspace;
    list[count++] = &r->scratch;
    return count;
}

/* Computes the words of both arenas.  If the arenas have their base addresses, it also places the
 * matrices in them. */
static void arrange_arenas(struct gt_resident *r)
{
    struct gt_matrix *list[CASE_INPUTS];

    r->arena_in_words = r->arena_out_words = 0;
    for (int i = 0; i < GT_CASES; i++) {
        size_t count = case_inputs(&r->exact[i], list);

        for (size_t j = 0; j < count; j++) {
            place(list[j], r->arena_in + 4 * (gt_devptr)r->arena_in_words);
            r->arena_in_words += list[j]->words;
        }
        place(&r->exact[i].d, r->arena_out + 4 * (gt_devptr)r->arena_out_words);
        r->arena_out_words += r->exact[i].d.words;
    }
}

static int check_memory(struct gt_resident *r, struct gt_err *err)
{
    struct gt_matrix *list[MAX_LARGE];
    size_t count = large_matrices(r, list), present = 0, total = 0;
    double bytes = 4.0 * (double)(r->arena_in_words + r->arena_out_words) +
                   12.0 * (double)gt_problem_results(&r->problem) +
                   4.0 * (double)exact_words(&r->exact[GT_CASES]) + RESERVE_BYTES;
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = gt_gpu_memory(r->gpu, &present, &total, err);

    for (size_t i = 0; i < count; i++)
        bytes += 4.0 * (double)list[i]->words;
    if (rc || bytes <= (double)present)
        return rc;
    gt_problem_format(&r->problem, text);
    return gt_err_set(err, GT_ETOOBIG,
                      "%s: operands, results, guards, workspace and reference need %.0f bytes of "
                      "device memory; %zu of %zu are free",
                      text, bytes, present, total);
}

static int allocate(struct gt_resident *r, struct gt_err *err)
{
    struct gt_matrix *list[MAX_LARGE];
    size_t count = large_matrices(r, list), whole = (size_t)gt_problem_results(&r->problem);
    int rc = gt_gpu_alloc(r->gpu, &r->arena_in, 4 * (size_t)r->arena_in_words, err);

    GT_STEP(rc, gt_gpu_alloc(r->gpu, &r->arena_out, 4 * (size_t)r->arena_out_words, err));
    GT_STEP(rc, gt_gpu_alloc(r->gpu, &r->ref, 8 * whole, err));
    GT_STEP(rc, gt_gpu_alloc(r->gpu, &r->bound, 4 * whole, err));
    for (int i = 0; i <= GT_CASES && !rc; i++)
        rc = gt_gpu_alloc(r->gpu, &r->exact[i].exact, 4 * (size_t)exact_words(&r->exact[i]), err);
    for (size_t i = 0; i < count && !rc; i++) {
        gt_devptr base = 0;

        if (list[i]->words)
            rc = gt_gpu_alloc(r->gpu, &base, 4 * (size_t)list[i]->words, err);
        place(list[i], base);
    }
    arrange_arenas(r);
    r->exact[GT_CASES].d = r->result[0];
    return rc;
}

/* Refuses what the proof has no numbers for: a kernel of such a product is not proved, and so is
 * not timed. */
static int check_proof(const struct gt_problem *p, struct gt_err *err)
{
    struct gt_problem known = *p;
    char word[GT_WORD_TEXT_MAX];

    if (p->groups && p->sizes == GT_SIZES_OFFSETS && !p->scale_a.kind && !p->scale_b.kind)
        known.groups = known.by = 0;
    known.scale_a = known.scale_b = (struct gt_scale){0};
    known.type_b = known.bias = GT_DTYPE_SAME;
    known.sums = gt_problem_default_sums(&known);
    if (!gt_problem_word(&known, 0, word)) {
        if ((gt_dtype_bits(p->type) >= 8 || p->type == GT_E2M1) && !gt_type_complex(p->type))
            return GT_OK;
        snprintf(word, sizeof(word), "%s", gt_dtype_name(p->type));
    }
    return gt_err_set(err, GT_ENOTFOUND,
                      "products with %s cannot be proved yet, and so are not timed", word);
}

int gt_resident_open(struct gt_resident *resident, struct gt_gpu *gpu, struct gt_proof *proof,
                     const struct gt_resident_request *request, struct gt_err *err)
{
    int rc;

    memset(resident, 0, sizeof(*resident));
    resident->gpu = gpu;
    resident->proof = proof;
    resident->problem = *request->problem;
    resident->seed = request->seed;
    resident->workspace_bytes = (int64_t)request->workspace;
    rc = check_proof(request->problem, err);
    if (rc)
        return rc;
    lay_out_all(resident, request);
    arrange_arenas(resident);
    rc = check_memory(resident, err);
    GT_STEP(rc, allocate(resident, err));
    GT_STEP(rc, gt_resident_restore(resident, err));
    if (rc)
        gt_resident_release(resident);
    return rc;
}

void gt_resident_release(struct gt_resident *resident)
{
    struct gt_matrix *list[MAX_LARGE];
    size_t count;

    if (!resident->gpu)
        return;
    count = large_matrices(resident, list);
    for (size_t i = 0; i < count; i++)
        gt_gpu_free(resident->gpu, list[i]->base);
    for (int i = 0; i <= GT_CASES; i++)
        gt_gpu_free(resident->gpu, resident->exact[i].exact);
    gt_gpu_free(resident->gpu, resident->bound);
    gt_gpu_free(resident->gpu, resident->ref);
    gt_gpu_free(resident->gpu, resident->arena_out);
    gt_gpu_free(resident->gpu, resident->arena_in);
    memset(resident, 0, sizeof(*resident));
}

/* ---- contents ---- */

static int poison(const struct gt_resident *r, const struct gt_matrix *matrix, struct gt_err *err)
{
    return gt_gpu_fill32(r->gpu, matrix->base, gt_proof_poison((enum gt_dtype)matrix->span.type),
                         (size_t)matrix->words, err);
}

/* The seed of an operand of case or set number `of`. */
static uint64_t seed_of(const struct gt_resident *r, int of, int operand)
{
    return r->seed * 1000003u + (uint64_t)of * 16 + (uint64_t)operand;
}

/* The limit below which integer sums are exact in the accumulator, from its significand or its
 * range.  Tensor cores add products of 8-bit floats with at least 14 bits, whatever the
 * accumulator.  These 14 bits were measured on sm_89 and sm_90, also by others: DeepSeek-V3, arXiv
 * 2412.19437, section 3.3.2. */
static double exact_sums(const struct gt_problem *p)
{
    if (p->acc == GT_S32)
        return p->out == GT_S32 ? 0x1p31 : 0x1p24; /* another type is converted from a float */
    if (p->acc == GT_F16)
        return 0x1p11;
    if (p->acc == GT_F64)
        return 0x1p53;
    return gt_type_f8(p->type) ? 0x1p13 : 0x1p24;
}

/* The factors of scales in exact products are powers of two, from 2^-POWER to 2^POWER.  So a
 * product of two operands is multiplied by 2^(-2 POWER) to 2^(2 POWER), and exact sums have room
 * for 4 POWER bits less.  A whole operand's factor moves all sums alike. */
#define POWER 2

/* The range of integers whose products, summed over k in any order, are exact in the accumulator
 * together with alpha, beta C and bias.  For long k the range is 1; sums of random signs are then
 * still far below the limit.  The range is at most 8, because e5m2 has every integer up to 8;
 * doubles have products whose digits no float holds. */
static int integer_range(const struct gt_problem *p)
{
    const bool scaled = p->scale_a.kind || p->scale_b.kind;
    double room = exact_sums(p) / (scaled ? 8 << 4 * POWER : 8) / (double)(p->k > 0 ? p->k : 1);
    double most = p->type == GT_F64 ? 0x1p25 : p->type == GT_S8 ? 127 : p->type == GT_E2M1 ? 4 : 8;
    double range;

    if (p->acc == GT_F64)
        room /= fmax(1, fabs(p->alpha) / 2);
    range = floor(sqrt(room));
    return range < 1 ? 1 : range > most ? (int)most : (int)range;
}

/* The code that the proof's kernels know the factors' type by. */
static int code_of(const struct gt_scale *scale)
{
    return scale->type == GT_SCALE_UE8M0 ? GT_PROOF_UE8M0 : (int)stored_as(scale);
}

/* Draws factors: powers of two, or reals.  which: as in gt_factors, those of tensors behind. */
static int fill_factors(const struct gt_resident *r, const struct gt_problem *p, int which,
                        const struct gt_matrix *factors, uint64_t seed, enum gt_fill kind,
                        struct gt_err *err)
{
    struct gt_matrix to = *factors;

    if (which < 2)
        to.span.type = code_of(gt_problem_scale(p, (enum gt_operand)which));
    return gt_proof_fill(r->proof, &to, seed, kind, POWER, err);
}

static struct gt_proof_scale scale_of(const struct gt_problem *p, enum gt_operand operand,
                                      const struct gt_factors *factors)
{
    const struct gt_scale *scale = gt_problem_scale(p, operand);
    const int64_t ls = operand == GT_OPERAND_A ? p->lsa : p->lsb;
    const bool block = scale->kind == GT_SCALE_BLOCK;
    struct gt_proof_scale of = {scale->kind ? factors->scale[operand].span.data : NULL,
                                scale->tensor ? factors->tensor[operand].span.data : NULL,
                                code_of(scale),
                                scale->kind == GT_SCALE_TENSOR ? GT_MAX_EXTENT : 1,
                                GT_MAX_EXTENT,
                                1,
                                0};

    if (block) {
        of.rows = scale->rows;
        of.depth = scale->depth;
        of.step_mn = scale->order == GT_SCALE_K ? ls : scale->order == GT_SCALE_MN;
        of.step_k = scale->order == GT_SCALE_K    ? 1
                    : scale->order == GT_SCALE_MN ? ls
                                                  : (p->k + 4 * of.depth - 1) / (4 * of.depth);
    }
    return of;
}

/* A factor as kernels get it. */
static double given(const struct gt_problem *p, double factor)
{
    return p->acc == GT_F64 ? factor : (float)factor;
}

static void reference_args(const struct gt_problem *p, struct gt_reference_args *args,
                           const struct gt_set *in, const struct gt_matrix *bias,
                           const struct gt_factors *factors)
{
    *args = (struct gt_reference_args){.a = in->a.span.data,
                                       .b = in->b.span.data,
                                       .c = in->c.span.data,
                                       .bias = bias->span.data,
                                       .scale_a = scale_of(p, GT_OPERAND_A, factors),
                                       .scale_b = scale_of(p, GT_OPERAND_B, factors),
                                       .type = (int)p->type,
                                       .type_b = (int)gt_problem_type_b(p),
                                       .out = (int)p->out,
                                       .type_bias = (int)gt_problem_bias(p),
                                       .m = p->m,
                                       .n = p->n,
                                       .k = p->k,
                                       .lda = p->lda,
                                       .ldb = p->ldb,
                                       .ldc = p->ldc,
                                       .stride_a = p->stride_a,
                                       .stride_b = p->stride_b,
                                       .stride_c = p->stride_c,
                                       .trans_a = p->trans_a,
                                       .trans_b = p->trans_b,
                                       .epilogue = p->epilogue,
                                       .alpha = given(p, p->alpha),
                                       .beta = given(p, p->beta)};
}

/* The arguments for group g alone, which has `count` rows, or k, from `first` on. */
static struct gt_reference_args group_args(const struct gt_problem *p,
                                           const struct gt_reference_args *whole, int64_t g,
                                           int64_t first, int64_t count)
{
    const int64_t in = gt_dtype_size(p->type), in_b = gt_dtype_size(gt_problem_type_b(p));
    const int64_t out = gt_dtype_size(p->out);
    struct gt_reference_args args = *whole;
    int64_t a = first * (p->trans_a ? 1 : p->lda), b = g * p->stride_b, c = first * p->ldc;
    int64_t result = first * p->n;

    if (p->by == GT_GROUPS_BY_K) {
        a = first * (p->trans_a ? p->lda : 1);
        b = first * (p->trans_b ? 1 : p->ldb);
        c = g * p->stride_c;
        result = g * p->m * p->n;
        args.k = count;
    } else {
        args.m = count;
    }
    args.a = (const char *)whole->a + a * in;
    args.b = (const char *)whole->b + b * in_b;
    args.c = whole->c ? (const char *)whole->c + c * out : NULL;
    args.ref = whole->ref ? whole->ref + result : NULL;
    args.bound = whole->bound ? whole->bound + result : NULL;
    args.exact = whole->exact ? (char *)whole->exact + result * out : NULL;
    return args;
}

/* Computes the reference: of the whole batch, or of each group by itself with the ends of the
 * spread, which are written to `sizes`. */
static int find_reference(const struct gt_resident *r, const struct gt_problem *p,
                          const struct gt_reference_args *whole, enum spread spread,
                          const struct gt_matrix *sizes, struct gt_err *err)
{
    int32_t *ends = p->groups ? malloc((size_t)p->groups * sizeof(*ends)) : NULL;
    int rc;

    if (!p->groups)
        return gt_proof_reference(r->proof, whole, p->batch, err);
    if (!ends)
        return gt_err_nomem(err);
    find_ends(p, spread, ends);
    rc = poison(r, sizes, err);
    GT_STEP(rc, gt_gpu_upload(r->gpu, sizes->base + (gt_devptr)sizes->offset, ends,
                              (size_t)p->groups * sizeof(*ends), err));
    for (int64_t g = 0; g < p->groups && !rc; g++) {
        const int64_t first = g ? ends[g - 1] : 0;
        const struct gt_reference_args args = group_args(p, whole, g, first, ends[g] - first);

        rc = gt_proof_reference(r->proof, &args, 1, err);
    }
    free(ends);
    return rc;
}

/* Operands of TF32 are put beside the integers once the reference has their product. */
static int restore_case(struct gt_resident *r, int index, struct gt_err *err)
{
    struct gt_case *item = &r->exact[index];
    const struct gt_set in = {item->a, item->b, item->c};
    struct gt_matrix *list[CASE_INPUTS];
    size_t count = case_inputs(item, list);
    int range = integer_range(&item->problem), rc = GT_OK;
    bool beside = item->problem.type == GT_TF32 && !item->unread;
    struct gt_reference_args args;

    for (size_t i = 0; i < count && list[i] != &item->sizes && !rc; i++) {
        rc = poison(r, list[i], err);
        if (rc || (item->unread && i < 2) || !list[i]->words)
            continue;
        if (i < 4)
            rc = gt_proof_fill(r->proof, list[i], seed_of(r, index, (int)i), GT_FILL_INTEGERS,
                               range, err);
        else
            rc = fill_factors(r, &item->problem, (int)i - 4, list[i], seed_of(r, index, (int)i),
                              GT_FILL_POWERS, err);
    }
    reference_args(&item->problem, &args, &in, &item->bias, &item->factors);
    args.exact = (void *)(uintptr_t)item->exact;
    GT_STEP(rc, find_reference(r, &item->problem, &args, spread_of(index), &item->sizes, err));
    for (int i = 0; beside && i < 2 && !rc; i++)
        rc = gt_proof_fill(r->proof, list[i], seed_of(r, index, i), GT_FILL_BESIDE, range, err);
    return rc;
}

/* How a distribution is drawn; *range is set for distributions that have a range. */
static enum gt_fill fill_of(const struct gt_problem *p, enum gt_dist dist, int *range)
{
    *range = dist == GT_DIST_ZEROS ? 0 : dist == GT_DIST_INTEGERS ? integer_range(p) : 1;
    if (dist == GT_DIST_UNIFORM && p->type == GT_S8)
        *range = 127;
    return dist == GT_DIST_NORMAL    ? GT_FILL_NORMAL
           : dist == GT_DIST_UNIFORM ? GT_FILL_UNIFORM
                                     : GT_FILL_INTEGERS;
}

static int restore_set(struct gt_resident *r, int index, struct gt_err *err)
{
    const enum gt_dist dist = index < r->timed ? GT_DIST_NORMAL : r->dist;
    int range;
    const enum gt_fill fill = fill_of(&r->problem, dist, &range);
    struct gt_matrix *list[] = {&r->set[index].a, &r->set[index].b, &r->set[index].c};
    int rc = GT_OK;

    for (int i = 0; i < 3 && !rc; i++) {
        rc = poison(r, list[i], err);
        GT_STEP(rc, gt_proof_fill(r->proof, list[i], seed_of(r, 100, i), fill, range, err));
    }
    return rc;
}

static int restore_reference(struct gt_resident *r, struct gt_err *err)
{
    struct gt_reference_args args;
    int rc = poison(r, &r->bias, err);

    GT_STEP(rc, gt_proof_fill(r->proof, &r->bias, seed_of(r, 100, 3), GT_FILL_NORMAL, 0, err));
    for (int i = 0; i < 4 && !rc; i++) {
        struct gt_matrix *factors = i < 2 ? &r->factors.scale[i] : &r->factors.tensor[i - 2];

        if (factors->words)
            rc = poison(r, factors, err);
        if (!rc && factors->words)
            rc = fill_factors(r, &r->problem, i, factors, seed_of(r, 100, 4 + i), GT_FILL_FACTORS,
                              err);
    }
    reference_args(&r->problem, &args, &r->set[0], &r->bias, &r->factors);
    args.ref = (double *)(uintptr_t)r->ref;
    args.bound = (float *)(uintptr_t)r->bound;
    return rc ? rc : find_reference(r, &r->problem, &args, EVEN, &r->sizes, err);
}

int gt_resident_restore(struct gt_resident *resident, struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i <= GT_CASES && !rc; i++)
        rc = restore_case(resident, i, err);
    for (int i = 0; i < resident->sets && !rc; i++)
        rc = restore_set(resident, i, err);
    GT_STEP(rc, restore_reference(resident, err));
    GT_STEP(rc, gt_proof_clear(resident->proof, err));
    GT_STEP(rc, gt_resident_hash_inputs(resident, 0, err));
    GT_STEP(rc, gt_resident_hash_reference(resident, 1, err));
    GT_STEP(rc, gt_proof_fetch(resident->proof, err));
    if (rc)
        return rc;
    resident->hash_in = gt_proof_result(resident->proof, 0)->hash;
    resident->hash_reference = gt_proof_result(resident->proof, 1)->hash;
    return GT_OK;
}

int gt_resident_hash_inputs(struct gt_resident *resident, int slot, struct gt_err *err)
{
    struct gt_matrix *list[OWN_INPUTS];
    size_t count = own_inputs(resident, list);
    int rc =
        gt_proof_hash(resident->proof, resident->arena_in, resident->arena_in_words, slot, err);

    for (size_t i = 0; i < count && !rc; i++)
        if (list[i]->words)
            rc = gt_proof_hash(resident->proof, list[i]->base, list[i]->words, slot, err);
    return rc;
}

int gt_resident_hash_reference(const struct gt_resident *resident, int slot, struct gt_err *err)
{
    int64_t whole = gt_problem_results(&resident->problem);
    int rc = gt_proof_hash(resident->proof, resident->ref, 2 * whole, slot, err);

    GT_STEP(rc, gt_proof_hash(resident->proof, resident->bound, whole, slot, err));
    for (int i = 0; i <= GT_CASES && !rc; i++)
        rc = gt_proof_hash(resident->proof, resident->exact[i].exact,
                           exact_words(&resident->exact[i]), slot, err);
    return rc;
}

int gt_resident_poison_cases(const struct gt_resident *resident, struct gt_err *err)
{
    int rc =
        gt_gpu_fill32(resident->gpu, resident->arena_out, gt_proof_poison(resident->problem.out),
                      (size_t)resident->arena_out_words, err);

    for (int i = 0; i < GT_CASES && !rc; i++) {
        const struct gt_case *item = &resident->exact[i];

        if (item->in_place)
            rc = gt_proof_fill(resident->proof, &item->d, seed_of(resident, i, 2), GT_FILL_INTEGERS,
                               integer_range(&item->problem), err);
    }
    return rc;
}

int gt_resident_poison(const struct gt_resident *resident, int result, struct gt_err *err)
{
    return poison(resident, &resident->result[result], err);
}

int gt_resident_poison_workspace(struct gt_resident *resident, size_t bytes, struct gt_err *err)
{
    struct gt_matrix *workspace = &resident->workspace;
    int64_t words = (int64_t)(bytes + 3) / 4;

    /* The memory behind the bytes asked for is guarded too. */
    workspace->span = line_of(words, GT_F32);
    workspace->words = workspace->offset / 4 + words + WORKSPACE_GUARD;
    place(workspace, workspace->base);
    return poison(resident, workspace, err);
}

int gt_resident_flush(const struct gt_resident *resident, struct gt_err *err)
{
    return gt_gpu_fill32(resident->gpu, resident->scratch.base, 0, (size_t)resident->scratch.words,
                         err);
}

/* ---- arguments ---- */

/* The addresses of factors, as kernels get them. */
static void point_at(struct gt_more *more, const struct gt_factors *factors)
{
    const void **scale[] = {&more->scale_a, &more->scale_b};
    const float **tensor[] = {&more->scale_a_tensor, &more->scale_b_tensor};

    for (int i = 0; i < 2; i++) {
        *scale[i] = factors->scale[i].words ? factors->scale[i].span.data : NULL;
        *tensor[i] = factors->tensor[i].words ? factors->tensor[i].span.data : NULL;
    }
}

void gt_resident_case(const struct gt_resident *resident, const struct gt_case *item,
                      struct gt_args *args, struct gt_more *more)
{
    gt_module_args(args, &item->problem);
    gt_module_more(more, &item->problem);
    point_at(more, &item->factors);
    more->sizes = item->sizes.words ? item->sizes.span.data : NULL;
    args->a = item->a.span.data;
    args->b = item->b.span.data;
    args->d = item->d.span.data;
    /* If C must not be read, it is the poisoned D, so that a read of C shows. */
    args->c = item->in_place || item->problem.beta == 0 ? item->d.span.data : item->c.span.data;
    args->bias = item->bias.words ? item->bias.span.data : NULL;
    args->workspace = resident->workspace.span.data;
}

void gt_resident_args(const struct gt_resident *resident, int set, int result, struct gt_args *args,
                      struct gt_more *more)
{
    const struct gt_set *in = &resident->set[set];

    gt_module_args(args, &resident->problem);
    gt_module_more(more, &resident->problem);
    point_at(more, &resident->factors);
    more->sizes = resident->sizes.words ? resident->sizes.span.data : NULL;
    args->a = in->a.span.data;
    args->b = in->b.span.data;
    args->d = resident->result[result].span.data;
    args->c = resident->problem.beta == 0 ? args->d : in->c.span.data;
    args->bias = resident->bias.words ? resident->bias.span.data : NULL;
    args->workspace = resident->workspace.span.data;
}

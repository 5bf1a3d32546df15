/* resident.c - stage: lays out and allocates the memory of a problem on the GPU.  The shapes of the
 * small cases come from cases.c, and the contents from resident_fill.c. */
#include "proof/resident.h"

#include <string.h>

#include "base/err.h"
#include "proof/cases.h"

#define GUARD_WORDS   4096      /* around inputs: 16 KiB */
#define GUARD_ROWS    256       /* around results: rows of the tallest tile that may overshoot */
#define GUARD_MAX     (1 << 20) /* words: 4 MiB */
#define RESERVE_BYTES (64u << 20)

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

/* ---- matrices ---- */

static int64_t round_up(int64_t value, int64_t to)
{
    return (value + to - 1) / to * to;
}

static int64_t span_bytes(const struct gt_span *span)
{
    if (!span->rows || !span->cols)
        return 0;
    return gt_dtype_size((enum gt_dtype)span->type) *
           ((span->batch - 1) * span->stride + (span->rows - 1) * span->ld + span->cols);
}

/* The shape of an operand.  Matrices of a batch that overlap (or are the same) count as one line.
 */
static struct gt_span shape_of(const struct gt_problem *p, enum gt_operand operand)
{
    struct gt_span span = {NULL,
                           gt_problem_rows(p, operand),
                           gt_problem_cols(p, operand),
                           gt_problem_ld(p, operand),
                           p->batch,
                           gt_problem_stride(p, operand),
                           (int)gt_problem_dtype(p, operand)};

    if (p->batch > 1 && span.stride < (span.rows - 1) * span.ld + span.cols)
        span = gt_matrix_line(gt_problem_elements(p, operand), gt_problem_dtype(p, operand));
    return span;
}

struct gt_span gt_matrix_line(int64_t elements, enum gt_dtype type)
{
    return (struct gt_span){NULL, 1, elements, elements, 1, elements, (int)type};
}

int64_t gt_case_exact_words(const struct gt_case *item)
{
    return round_up(gt_problem_results(&item->problem) * gt_dtype_size(item->problem.out), 4) / 4;
}

/* Lays a matrix out with guards of `guard` words.  Its base is aligned to `align` bytes, or to an
 * element if that is more.  If the alignment is less than 16, the base has no higher one. */
static void lay_out(struct gt_matrix *matrix, struct gt_span span, int64_t guard, int align)
{
    int64_t size = gt_dtype_size((enum gt_dtype)span.type);
    int64_t shift = align >= 16 ? 0 : align > size ? align : size;

    matrix->span = span;
    matrix->offset = 4 * round_up(guard, 64) + shift;
    matrix->words = round_up(matrix->offset + span_bytes(&span) + 4 * guard, 256) / 4;
}

void gt_matrix_place(struct gt_matrix *matrix, gt_devptr base)
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
    if (p->beta != 0)
        lay_out(c, shape_of(p, GT_OPERAND_C), GUARD_WORDS, p->align);
}

static void lay_out_bias(const struct gt_problem *p, struct gt_matrix *bias)
{
    if (p->epilogue & GT_EPILOGUE_BIAS)
        lay_out(bias, gt_matrix_line(p->n, p->out), GUARD_WORDS, p->align);
}

/* Chooses how many copies of the operands rotation needs: together more than 3 x L2, at most
 * request->most_sets.  Set 0 is the proof's alone where timing has numbers of its own. */
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
        lay_out(&item->d, shape_of(p, GT_OPERAND_C), result_guard(p), p->align);
    }
    for (int i = 0; i < GT_RESULTS; i++)
        r->result[i] = whole->d;
    lay_out_inputs(&r->problem, &r->set[0].a, &r->set[0].b, &r->set[0].c);
    lay_out_bias(&r->problem, &r->bias);
    choose_sets(r, request);
    lay_out(&r->workspace, gt_matrix_line((int64_t)request->workspace / 4, GT_F32),
            GT_WORKSPACE_GUARD, 16);
    if (r->flush)
        lay_out(&r->scratch, gt_matrix_line(3 * gt_gpu_device(r->gpu)->l2_bytes / 4, GT_F32), 0,
                16);
}

size_t gt_case_inputs(struct gt_case *item, struct gt_matrix **list)
{
    list[0] = &item->a;
    list[1] = &item->b;
    list[2] = &item->c;
    list[3] = &item->bias;
    return 4;
}

size_t gt_resident_inputs(struct gt_resident *resident, struct gt_matrix **list)
{
    size_t count = 0;

    for (int i = 0; i < resident->sets; i++) {
        list[count++] = &resident->set[i].a;
        list[count++] = &resident->set[i].b;
        list[count++] = &resident->set[i].c;
    }
    list[count++] = &resident->bias;
    return count + gt_case_inputs(&resident->exact[GT_CASES], list + count);
}

#define MAX_LARGE (GT_OWN_INPUTS + GT_RESULTS + 2)

/* Lists every matrix that is an allocation of its own. */
static size_t large_matrices(struct gt_resident *r, struct gt_matrix **list)
{
    size_t count = 0;

    for (int i = 0; i < GT_RESULTS; i++)
        list[count++] = &r->result[i];
    count += gt_resident_inputs(r, list + count);
    list[count++] = &r->workspace;
    list[count++] = &r->scratch;
    return count;
}

/* Computes the words of both arenas.  If the arenas have their base addresses, it also places the
 * matrices in them. */
static void arrange_arenas(struct gt_resident *r)
{
    struct gt_matrix *list[4];

    r->arena_in_words = r->arena_out_words = 0;
    for (int i = 0; i < GT_CASES; i++) {
        size_t count = gt_case_inputs(&r->exact[i], list);

        for (size_t j = 0; j < count; j++) {
            gt_matrix_place(list[j], r->arena_in + 4 * (gt_devptr)r->arena_in_words);
            r->arena_in_words += list[j]->words;
        }
        gt_matrix_place(&r->exact[i].d, r->arena_out + 4 * (gt_devptr)r->arena_out_words);
        r->arena_out_words += r->exact[i].d.words;
    }
}

static int check_memory(struct gt_resident *r, struct gt_err *err)
{
    struct gt_matrix *list[MAX_LARGE];
    size_t count = large_matrices(r, list), present = 0, total = 0;
    double bytes = 4.0 * (double)(r->arena_in_words + r->arena_out_words) +
                   12.0 * (double)gt_problem_results(&r->problem) +
                   4.0 * (double)gt_case_exact_words(&r->exact[GT_CASES]) + RESERVE_BYTES;
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
        rc = gt_gpu_alloc(r->gpu, &r->exact[i].exact, 4 * (size_t)gt_case_exact_words(&r->exact[i]),
                          err);
    for (size_t i = 0; i < count && !rc; i++) {
        gt_devptr base = 0;

        if (list[i]->words)
            rc = gt_gpu_alloc(r->gpu, &base, 4 * (size_t)list[i]->words, err);
        gt_matrix_place(list[i], base);
    }
    arrange_arenas(r);
    r->exact[GT_CASES].d = r->result[0];
    return rc;
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

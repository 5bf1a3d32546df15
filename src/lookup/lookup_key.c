/* lookup_key.c - stage: keys, which tell the problems and devices of look-ups apart, and the texts
 * that an answer owns.  All other files of the look-up use it. */
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/digest.h"
#include "base/err.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"

static uint64_t words_digest(const struct gt_problem *p)
{
    const unsigned char words[32] = {[0] = p->sums,
                                     [1] = p->gate,
                                     [2] = p->conj_a,
                                     [3] = p->conj_b,
                                     [4] = p->zero_a,
                                     [5] = p->zero_b,
                                     [6] = p->by,
                                     [7] = p->sizes,
                                     [8] = p->symmetric,
                                     [9] = p->same_bits,
                                     [10] = p->scale_d.kind,
                                     [11] = (unsigned char)gt_problem_bias(p),
                                     [12] = p->scale_a.kind,
                                     [13] = p->scale_a.rows,
                                     [14] = p->scale_a.depth,
                                     [15] = p->scale_a.type,
                                     [16] = p->scale_a.order,
                                     [17] = p->scale_a.tensor,
                                     [18] = p->scale_b.kind,
                                     [19] = p->scale_b.rows,
                                     [20] = p->scale_b.depth,
                                     [21] = p->scale_b.type,
                                     [22] = p->scale_b.order,
                                     [23] = p->scale_b.tensor,
                                     [24] = (unsigned char)gt_problem_type_b(p)};
    const int64_t sizes[] = {p->lsa, p->lsb, p->groups};

    return gt_digest_number(words, sizeof(words), gt_digest_number(sizes, sizeof(sizes), 0)) | 1;
}

void gt_problem_key(struct gt_problem_key *key, const struct gt_problem *p)
{
    const bool batched = p->batch > 1 || p->groups;
    const int64_t size[10] = {p->m,
                              p->n,
                              p->k,
                              p->lda,
                              p->ldb,
                              p->ldc,
                              p->batch,
                              batched ? p->stride_a : 0,
                              batched ? p->stride_b : 0,
                              batched ? p->stride_c : 0};
    const int32_t kind[8] = {(int32_t)p->type,     (int32_t)p->out, (int32_t)p->acc,
                             (int32_t)p->accuracy, p->trans_a,      p->trans_b,
                             p->epilogue,          p->align};

    key->has_beta = gt_problem_reads_c(p);
    key->words = gt_problem_plain(p) ? 0 : words_digest(p);
    memcpy(key->size, size, sizeof(size));
    memcpy(key->kind, kind, sizeof(kind));
}

static bool same_sizes(const struct gt_problem *x, const struct gt_problem *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k;
}

static bool same_key(const struct gt_problem *asked, const struct gt_problem *tuned)
{
    struct gt_problem_key key, other;

    gt_problem_key(&key, asked);
    gt_problem_key(&other, tuned);
    return memcmp(&key, &other, sizeof(key)) == 0;
}

bool gt_lookup_same_problem(const struct gt_problem *asked, const struct gt_table_row *row)
{
    return same_sizes(asked, &row->problem) && same_key(asked, &row->problem);
}

bool gt_lookup_same_product(const struct gt_problem *asked, const struct gt_table_row *row)
{
    struct gt_problem tuned = row->problem;

    if (!same_sizes(asked, &tuned) ||
        gt_epilogue_gated(asked->epilogue) != gt_epilogue_gated(tuned.epilogue))
        return false;
    tuned.beta = asked->beta;
    tuned.beta_im = asked->beta_im;
    tuned.epilogue = asked->epilogue;
    tuned.bias = asked->bias;
    return same_key(asked, &tuned);
}

void gt_lookup_device_key(struct gt_lookup_key *key, const struct gt_device *device,
                          const struct gt_problem *problem)
{
    const int64_t facts[] = {device->sms,      device->smem_block,     device->smem_sm,
                             device->regs_sm,  device->max_threads_sm, device->max_blocks_sm,
                             device->l2_bytes, device->smem_reserved};

    gt_problem_key(&key->problem, problem);
    key->arch = device->cc;
    key->device = gt_digest_number(device->name, strlen(device->name),
                                   gt_digest_number(facts, sizeof(facts), 0));
}

uint64_t gt_lookup_hash(const struct gt_lookup_key *key)
{
    return XXH3_64bits(key, sizeof(*key));
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

int gt_resolved_own_texts(struct gt_resolved *resolved, struct gt_err *err)
{
    struct gt_answer *answer = &resolved->answer;
    const char *point = answer->point, *passed_over = answer->passed_over;

    answer->point = copy_text(point);
    answer->passed_over = copy_text(passed_over);
    if (!point == !answer->point && !passed_over == !answer->passed_over)
        return GT_OK;
    gt_resolved_release(resolved);
    return gt_err_nomem(err);
}

void gt_resolved_release(struct gt_resolved *resolved)
{
    free((char *)resolved->answer.point);
    free((char *)resolved->answer.passed_over);
    *resolved = (struct gt_resolved){0};
}

void gt_answer_take_geometry(struct gt_answer *answer, const struct gt_geometry *geometry)
{
    const struct gt_launch_geometry *first = &geometry->launch[0];

    if (geometry->launches) {
        memcpy(answer->grid, first->grid, sizeof(answer->grid));
        memcpy(answer->block, first->block, sizeof(answer->block));
        answer->shared_bytes = first->shared_bytes;
    }
    answer->workspace_bytes = geometry->workspace_bytes;
    answer->varies = !geometry->deterministic;
}

bool gt_resolved_same(const struct gt_resolved *resolved, const struct gt_kernel *kernel,
                      const struct gt_point *point)
{
    return resolved->kernel == kernel && gt_point_same(kernel, &resolved->point, point);
}

int gt_resolved_geometry(struct gt_resolved *resolved, struct gt_err *err)
{
    const struct gt_candidate candidate = {resolved->kernel, &resolved->problem, &resolved->device,
                                           resolved->point};

    return gt_candidate_geometry(&candidate, &resolved->geometry, err);
}

int gt_resolved_with(struct gt_resolved *with, const struct gt_resolved *resolved,
                     const struct gt_choice *choice, struct gt_err *err)
{
    *with = *resolved;
    with->kernel = choice->kernel;
    with->point = choice->point;
    return gt_resolved_geometry(with, err);
}

/* lookup.c - gt_lookup: returns a remembered answer (lookup_answers.c), else finds one
 * (lookup_tiers.c).  lookup_open.c opens the tables; gt_plan takes the answer from here. */
#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"

#include "base/digest.h"
#include "base/err.h"
#include "base/quiet.h"
#include "problem/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs once for each problem, and is compiled for size. */
#define ONCE __attribute__((cold))

void gt_problem_key(struct gt_problem_key *key, const struct gt_problem *p)
{
    const bool batched = p->batch > 1;
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

    key->has_beta = p->beta != 0;
    memcpy(key->size, size, sizeof(size));
    memcpy(key->kind, kind, sizeof(kind));
}

/* Logs the problem with a single write, so that lines of several programs do not mix.  A log that
 * cannot be written does not cost the answer. */
ONCE static void log_untuned(const struct gt *gt, const struct gt_problem *problem)
{
    char line[GT_PROBLEM_TEXT_MAX + 1];
    size_t length;

    if (gt->log < 0)
        return;
    gt_problem_format(problem, line);
    length = strlen(line);
    line[length] = '\n';
    gt_write_quietly(gt->log, line, length + 1);
}

/* Looks in the deployed file or, if there is none, in the tables. */
ONCE static int resolve(struct gt *gt, int arch, const struct gt_device *device,
                        const char *device_name, struct gt_resolved *resolved, struct gt_err *err)
{
    int code = GT_OK;

    if (device)
        resolved->device = *device;
    else if (gt->deployed)
        resolved->device.cc = arch;
    else
        code = gt_device_profile_of(&resolved->device, gt->data_dir, arch, device_name, err);
    if (code)
        return code;
    if (!device && !gt->deployed && device_name &&
        gt_device_called(resolved->device.name, device_name))
        device_name = resolved->device.name;
    code = gt->deployed ? gt_deployed_resolve(gt->deployed, device_name, resolved, err)
                        : gt_lookup_resolve_exactly(&gt->sources, device_name, resolved, err);
    if (!device && resolved->elsewhere)
        resolved->answer.expected_us = 0; /* of a device that is not there, a guess upon a guess */
    return code;
}

/* Finds the answer for a new key.  No lock is held: threads that ask for the same problem at the
 * same moment each find the answer, and the first one's is kept. */
ONCE static int answer_new(struct gt *gt, const struct gt_lookup_key *key,
                           const struct gt_device *device, const char *device_name,
                           const struct gt_problem *problem, struct gt_lookup_entry **answered,
                           struct gt_err *err)
{
    struct gt_resolved resolved = {.problem = *problem};
    struct gt_lookup_entry *entry = calloc(1, sizeof(*entry));
    bool first = false;
    int code = entry ? gt_problem_check(problem, err) : gt_err_nomem(err);

    if (!code)
        code = resolve(gt, (int)key->arch, device, device_name, &resolved, err);
    if (code) {
        gt_resolved_release(&resolved);
        free(entry);
        return code;
    }
    entry->key = *key;
    entry->answer = resolved.answer;
    entry->kernel = resolved.kernel;
    code = gt_answers_put(&gt->answers, &entry, &first, err);
    if (first && entry->answer.tier != GT_TIER_EXACT)
        log_untuned(gt, problem);
    *answered = entry;
    return code;
}

/* Whether the members that an answer's key leaves out are valid: alpha, the size of beta, strides
 * without a batch, and members of later versions.  So a problem that cannot be computed is refused
 * even if one of the same sizes was answered before. */
static bool rest_valid(const struct gt_problem *p)
{
    return gt_factor_valid(p->alpha, p->out) && gt_factor_valid(p->beta, p->out) &&
           (p->stride_a | p->stride_b | p->stride_c) >= 0 && p->version <= GT_PROBLEM_VERSION &&
           !(p->reserved[0] | p->reserved[1] | p->reserved[2] | p->reserved[3]);
}

static int look_up(struct gt *gt, const struct gt_lookup_key *key, const struct gt_device *device,
                   const char *device_name, const struct gt_problem *problem,
                   struct gt_lookup_entry **entry, struct gt_err *err)
{
    struct gt_err inner;
    int code;

    if (!rest_valid(problem))
        return gt_problem_check(problem, err);
    code = gt_answers_find(&gt->answers, key, entry, &inner);
    if (!code && !*entry)
        code = answer_new(gt, key, device, device_name, problem, entry, &inner);
    return gt_err_pass(err, &inner, code);
}

int gt_lookup(struct gt *gt, int arch, const char *device, const struct gt_problem *problem,
              const struct gt_answer **answer, struct gt_err *err)
{
    struct gt_lookup_entry *entry;
    struct gt_lookup_key key;
    int code;

    gt_problem_key(&key.problem, problem);
    key.arch = arch;
    key.device = device ? gt_digest_number(device, strlen(device), 0) : 0;
    code = look_up(gt, &key, NULL, device, problem, &entry, err);
    if (!code)
        *answer = &entry->answer;
    return code;
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

ONCE int gt_resolved_own_texts(struct gt_resolved *resolved, struct gt_err *err)
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

ONCE void gt_resolved_release(struct gt_resolved *resolved)
{
    free((char *)resolved->answer.point);
    free((char *)resolved->answer.passed_over);
    *resolved = (struct gt_resolved){0};
}

/* Computes the parts of an answer that are not remembered. */
ONCE static int complete(struct gt_resolved *resolved, struct gt_err *err)
{
    struct gt_candidate candidate = {
        resolved->kernel, &resolved->problem, &resolved->device, {{0}}};
    int code;

    if (!resolved->kernel)
        return GT_OK;
    if (resolved->answer.in_f32)
        gt_lookup_in_f32(&resolved->problem);
    code = gt_point_parse(&candidate.point, resolved->kernel, resolved->answer.point, err);
    resolved->point = candidate.point;
    return code ? code : gt_candidate_geometry(&candidate, &resolved->geometry, err);
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

ONCE int gt_lookup_device(struct gt *gt, const struct gt_device *device,
                          const struct gt_problem *problem, struct gt_resolved *resolved,
                          struct gt_err *err)
{
    struct gt_lookup_entry *entry;
    struct gt_lookup_key key;
    struct gt_err inner;
    bool found = false;
    int code = GT_OK;

    gt_lookup_device_key(&key, device, problem);
    *resolved = (struct gt_resolved){.problem = *problem, .device = *device};
    while (!code && !found) { /* repeats only beside thousands of other first look-ups */
        code = look_up(gt, &key, device, device->name, problem, &entry, &inner);
        if (gt->deployed)
            break; /* its item is found as fast as an answer is copied */
        if (!code)
            code = gt_answers_copy(&gt->answers, &key, resolved, &found, &inner);
    }
    if (!code)
        code = gt->deployed ? gt_deployed_resolve(gt->deployed, device->name, resolved, &inner)
                            : complete(resolved, &inner);
    if (code)
        gt_resolved_release(resolved);
    return gt_err_pass(err, &inner, code);
}

struct gt_deployed *gt_lookup_deployed(const struct gt *gt)
{
    return gt->deployed;
}

void gt_lookup_unserved(char text[GT_UNSERVED_MAX], const struct gt *gt,
                        const struct gt_problem *problem, const struct gt_device *device)
{
    const struct gt_kernels *all = &gt->sources.kernels;

    if (!gt_unserved(text, NULL, (const struct gt_kernel *const *)all->kernel, all->count, problem,
                     device))
        snprintf(text, GT_UNSERVED_MAX, "no point of the kernels that serve it is valid for it");
}

const struct gt_options *gt_lookup_options(const struct gt *gt)
{
    return &gt->options;
}

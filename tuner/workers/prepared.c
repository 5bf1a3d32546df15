/* prepared.c - prepares candidates and keeps them, because a candidate is asked about, compiled
 * ahead, tried, sampled and raced, each time as the same kernel, problem and point. */
#include "workers/prepared.h"

#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "kernel/render.h"

struct gt_compile_request gt_prepared_request(const struct gt_prepared *prepared,
                                              const char *source)
{
    const struct gt_candidate *candidate = &prepared->candidate;

    return (struct gt_compile_request){
        .source = source,
        .name = candidate->kernel->name,
        .include_dirs = candidate->kernel->include_dirs,
        .arch = prepared->geometry.code_arch,
        .device_cc = candidate->device->cc,
        .features = prepared->geometry.arch_features,
        .ptx = prepared->geometry.code_ptx,
        .max_registers = prepared->geometry.max_registers,
    };
}

/* The place where the candidate is kept: a hash of its problem's sizes and its point. */
static size_t place_of(const struct gt_candidate *candidate)
{
    const struct gt_problem *problem = candidate->problem;
    struct gt_random random = {(uint64_t)((problem->m * 31 + problem->n) * 31 + problem->k)};

    for (size_t i = 0; i < candidate->kernel->params; i++)
        random.state = gt_random_next(&random) ^ (uint64_t)candidate->point.value[i];
    return gt_random_next(&random) % GT_PREPARED_KEPT;
}

static bool same(const struct gt_candidate *kept, const struct gt_problem *problem,
                 const struct gt_device *device, const struct gt_candidate *candidate)
{
    return kept->kernel == candidate->kernel &&
           !memcmp(problem, candidate->problem, sizeof(*problem)) &&
           !memcmp(device, candidate->device, sizeof(*device)) &&
           gt_point_same(kept->kernel, &kept->point, &candidate->point);
}

static int compute(struct gt_prepared *prepared, const struct gt_candidate *candidate, int nvrtc)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_compile_request request;
    int rc;

    *prepared = (struct gt_prepared){.candidate = *candidate};
    rc = gt_candidate_geometry(candidate, &prepared->geometry, &prepared->why);
    GT_STEP(rc, gt_render(&source, candidate, &prepared->why));
    if (!rc) {
        request = gt_prepared_request(prepared, source.text);
        rc = gt_cache_key(prepared->key, candidate->kernel, &request, nvrtc, &prepared->why);
    }
    gt_strbuf_release(&source);
    return prepared->why.code = rc;
}

int gt_prepare(struct gt_preparing *preparing, const struct gt_candidate *candidate,
               struct gt_prepared *prepared, struct gt_err *err)
{
    const size_t place = place_of(candidate);
    struct gt_prepared *kept = &preparing->kept[place].prepared;
    struct gt_problem *problem = &preparing->kept[place].problem;
    struct gt_device *device = &preparing->kept[place].device;

    if (!same(&kept->candidate, problem, device, candidate)) {
        if (compute(kept, candidate, preparing->nvrtc) == GT_ENOMEM) {
            kept->candidate.kernel = NULL;
            return gt_err_nomem(err);
        }
        *problem = *candidate->problem;
        *device = *candidate->device;
    }
    *prepared = *kept;
    prepared->candidate = *candidate;
    return GT_OK;
}

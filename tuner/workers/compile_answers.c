/* compile_answers.c - what the compile pool knows of a cubin: answers to be collected, failures
 * that are remembered, and what the cache holds. */
#include "workers/compile_pool_internal.h"

#include "base/err.h"
#include "cuda/cache.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gt_compile_answer {
    struct gt_compiled compiled;
    struct gt_compile_answer *next;
};

/* A cubin that cannot be made; other candidates that need it are not compiled. */
struct failure {
    char key[GT_DIGEST_HEX]; /* first, for tsearch */
    enum gt_status status;
    char detail[512];
};

int gt_compile_push(struct gt_compile_pool *pool, const struct gt_compiled *compiled,
                    struct gt_err *err)
{
    struct gt_compile_answer *answer = malloc(sizeof(*answer));

    if (!answer)
        return gt_err_nomem(err);
    answer->compiled = *compiled;
    answer->next = NULL;
    *pool->answer_end = answer;
    pool->answer_end = &answer->next;
    return GT_OK;
}

bool gt_compile_pop(struct gt_compile_pool *pool, struct gt_compiled *compiled)
{
    struct gt_compile_answer *answer = pool->answer;

    if (!answer)
        return false;
    *compiled = answer->compiled;
    pool->answer = answer->next;
    if (!pool->answer)
        pool->answer_end = &pool->answer;
    free(answer);
    pool->pending--;
    return true;
}

void gt_compile_note(struct gt_compile_pool *pool, const char *sentence)
{
    gt_strbuf_addf(&pool->notices, "%s\n", sentence);
}

static int compare_keys(const void *x, const void *y)
{
    return strcmp(x, y);
}

/* Remembers a failure.  If memory is short, it does not, which costs a second compilation. */
static void remember_failure(struct gt_compile_pool *pool, const struct gt_compiled *compiled)
{
    struct failure *failure = malloc(sizeof(*failure));
    struct failure **found;

    if (!failure)
        return;
    memcpy(failure->key, compiled->key, sizeof(failure->key));
    failure->status = compiled->status;
    memcpy(failure->detail, compiled->detail, sizeof(failure->detail));
    found = tsearch(failure, &pool->failures, compare_keys);
    if (!found || *found != failure)
        free(failure);
}

bool gt_compile_made(enum gt_status status)
{
    return status == GT_STATUS_OK || status == GT_STATUS_SPILLS || status == GT_STATUS_SERIALIZED;
}

/* Gives a cubin that spills or is serialized that status; it is not worth a trial. */
static void judge_code(struct gt_compiled *compiled)
{
    if (compiled->status != GT_STATUS_OK)
        return;
    if (compiled->spill_bytes > GT_SPILL_LIMIT) {
        compiled->status = GT_STATUS_SPILLS;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "spills %d bytes with %d registers; at most %d are tried", compiled->spill_bytes,
                 compiled->registers, GT_SPILL_LIMIT);
    } else if (*compiled->serialized) {
        compiled->status = GT_STATUS_SERIALIZED;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "the compiler serializes its wgmma: %s", compiled->serialized);
    }
}

int gt_compile_finish(struct gt_compile_pool *pool, struct gt_job *job,
                      struct gt_compiled *compiled, struct gt_err *err)
{
    int rc = GT_OK;
    size_t i;

    judge_code(compiled);
    memcpy(compiled->key, job->key, sizeof(compiled->key));
    if (!gt_compile_made(compiled->status) && compiled->status != GT_STATUS_KILLED)
        remember_failure(pool, compiled);
    for (i = 0; !rc && i < job->ids; i++) {
        compiled->id = job->id[i];
        compiled->cached = i > 0;
        rc = gt_compile_push(pool, compiled, err);
    }
    gt_job_free(job);
    return rc;
}

bool gt_compile_known(struct gt_compile_pool *pool, const char *key, struct gt_compiled *compiled)
{
    struct failure **failure = tfind(key, &pool->failures, compare_keys);
    struct gt_binary binary = {0};

    memcpy(compiled->key, key, GT_DIGEST_HEX);
    compiled->cached = true;
    if (failure) {
        compiled->status = (*failure)->status;
        memcpy(compiled->detail, (*failure)->detail, sizeof(compiled->detail));
        return true;
    }
    if (gt_cache_load(pool->cache_dir, key, &binary, NULL) &&
        gt_cache_spill_load(getpid(), key, &binary, NULL))
        return false;
    if (pool->keeps)
        gt_cache_spill_save(getpid(), key, &binary, NULL);
    compiled->registers = binary.registers;
    compiled->spill_bytes = binary.spill_bytes;
    compiled->static_shared = binary.static_shared;
    compiled->ms = binary.ms;
    compiled->status = GT_STATUS_OK;
    gt_log_serialized(binary.log, compiled->serialized);
    gt_log_static_shared(binary.log, compiled->shared_of);
    gt_binary_release(&binary);
    judge_code(compiled);
    return true;
}

void gt_compile_forget(struct gt_compile_pool *pool)
{
    tdestroy(pool->failures, free);
    pool->failures = NULL;
}

/* compile_pool.h - N worker processes that compile candidates into the cache, ahead of the stages
 * that prove, time or model them.
 *
 * A candidate whose cubin spills more bytes than GT_SPILL_LIMIT gets the status `spills`.  A
 * candidate whose wgmma instructions wait for each other gets the status `serialized`.
 *
 * A compiler that does not end, crashes or runs out of memory is a status of the candidate, unless
 * the compiler fails on a small known source, too.  An error is a failure of the pool itself, or of
 * the machine.  One thread calls a pool; a second thread, which the pool starts, keeps the workers
 * busy meanwhile.  Notices are given in `collect`. */
#ifndef GT_COMPILE_POOL_H
#define GT_COMPILE_POOL_H

#include <signal.h>

#include "base/digest.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"
#include "problem/trial.h"
#include "workers/prepared.h"
#include "workers/processors.h"

struct gt_compile_pool;

struct gt_compile_pool_options {
    const char *cache_dir;
    int jobs;       /* number of workers; 0: one for each processor that the process may run on */
    int64_t memory; /* bytes of address space of a worker; 0: 2 GiB */
    double cpu_s;   /* seconds of CPU time of one compilation; 0: 60.  The elapsed time may be 3
                       times as long */
    const struct gt_tokens *tokens; /* a worker compiles only while it holds a token; NULL:
                                       always */
    void (*notice)(void *context, const char *sentence); /* e.g. a worker died; NULL: no notices */
    void *context;
    const volatile sig_atomic_t *signals; /* the first one ends the opening; may be NULL */
};

/* The outcome for one candidate. */
struct gt_compiled {
    uint64_t id;
    enum gt_status status; /* GT_STATUS_OK, SPILLS, SERIALIZED or one of COMPILE_* */
    bool cached;           /* the cubin was in the cache */
    char key[GT_DIGEST_HEX];
    int registers, spill_bytes, static_shared; /* as the compiler printed these numbers; cubins
                                                  only */
    char serialized[GT_SERIALIZED_MAX];        /* why the wgmma instructions are serialized; "":
                                                  they are not */
    char shared_of[GT_STATIC_SHARED_MAX];      /* static shared memory of entries */
    double ms;
    int result;       /* NVRTC's result; 0: NVRTC was not called */
    char detail[512]; /* why the status is not OK */
};

struct gt_compile_stats {
    int64_t compiled, cache_hits, respawns;
    double busy_s; /* seconds that workers spent on jobs that have ended, summed over workers */
};

/* Starts the pool and waits until a first worker has opened NVRTC.  GT_ENOLIB: NVRTC cannot be
 * opened; the sentence says why. */
int gt_compile_pool_open(struct gt_compile_pool **pool,
                         const struct gt_compile_pool_options *options, struct gt_err *err);
void gt_compile_pool_close(struct gt_compile_pool *pool); /* NULL accepted; kills the workers */

int gt_compile_pool_jobs(const struct gt_compile_pool *pool);
int gt_compile_pool_nvrtc(const struct gt_compile_pool *pool); /* 13000 for 13.0 */
void gt_compile_pool_stats(struct gt_compile_pool *pool, struct gt_compile_stats *stats);

/* Computes the candidate's geometry and key, unless they are kept from an earlier call
 * (prepared.h). */
int gt_compile_pool_prepare(struct gt_compile_pool *pool, const struct gt_candidate *candidate,
                            struct gt_prepared *prepared, struct gt_err *err);

/* Queues the candidate.  collect gives the answer, also for a candidate that cannot be rendered.
 * Candidates with the same cubin are compiled once. */
int gt_compile_pool_submit(struct gt_compile_pool *pool, uint64_t id,
                           const struct gt_prepared *prepared, struct gt_err *err);

/* Queues a candidate ahead: its cubin is compiled when no worker has another job, and no answer
 * comes.  If the candidate is submitted later, its cubin is in the cache, or its job moves to the
 * jobs that are wanted now. */
int gt_compile_pool_ahead(struct gt_compile_pool *pool, const struct gt_prepared *prepared,
                          struct gt_err *err);

/* Whether the candidate's cubin is in the cache and worth a trial. */
bool gt_compile_pool_has(struct gt_compile_pool *pool, const struct gt_prepared *prepared);

/* Another process takes cubins out of the cache while they are needed: from now on each cubin that
 * is asked for is also kept in the run's own folder (gt_cache_spill_save), if that takes it. */
void gt_compile_pool_keep(struct gt_compile_pool *pool);

/* Waits at most timeout_ms for an answer.  1: *compiled is set; 0: there is none yet, or a signal
 * came; < 0: the pool cannot go on. */
int gt_compile_pool_collect(struct gt_compile_pool *pool, int timeout_ms,
                            struct gt_compiled *compiled, struct gt_err *err);

/* A file descriptor that is readable if collect has an answer. */
int gt_compile_pool_fd(const struct gt_compile_pool *pool);

/* Candidates submitted and not collected. */
size_t gt_compile_pool_pending(struct gt_compile_pool *pool);

struct gt_compile_load {
    size_t idle;       /* workers without a job */
    size_t now, ahead; /* cubins that no worker has begun: of candidates submitted; of candidates
                          queued ahead */
};
void gt_compile_pool_load(struct gt_compile_pool *pool, struct gt_compile_load *load);

/* Drops submitted candidates that no worker has begun; their ids are never collected. */
void gt_compile_pool_drop(struct gt_compile_pool *pool);
/* Drops candidates queued ahead that no worker has begun. */
void gt_compile_pool_drop_ahead(struct gt_compile_pool *pool);

#endif

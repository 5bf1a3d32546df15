/* queue_compile.c - a worker of the queue that has compilers and no GPU: it compiles what the
 * workers with GPUs will try first of the jobs that are next, into the cache that all of them
 * share.
 *
 * It claims what it compiles in a table of its own (queue_ahead.c) and never takes a job.  What it
 * does twice, or leaves undone when it is killed, costs only time: a cubin is in the cache as a
 * whole or not at all, under a name that depends on nothing but what it was made of. */
#include "cluster/queue_link.h"

#include "base/err.h"
#include "console/scratch.h"
#include "problem/problem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_S    600 /* far more than a problem takes: it is not renewed */
#define CANDIDATES 64
#define ANY_ARCH   "sm_90" /* to open a session with, until the first device is known */

struct compiler {
    struct gt_queue_link link;
    const struct gt_queue_options *options;
    struct gt_session session;
    const struct gt_kernel **kernel;
    size_t kernels;
    struct gt_device profile; /* of --arch */
    const char *arch;         /* or NULL */
    char name[GT_QUEUE_NAME], database[PATH_MAX];
    struct gt_scratch folder;
    int64_t jobs, candidates, compiled;
    bool said; /* that no device is known */
};

/* Says that GPUs of the arch will come, for whom the profile stands in until then. */
static int announce(void *context, struct gt_err *err)
{
    struct compiler *compiler = context;
    char class_of[GT_QUEUE_CLASS];

    if (!compiler->arch)
        return GT_OK;
    snprintf(class_of, sizeof(class_of), "%.90s/profile", compiler->profile.name);
    return gt_queue_announce(compiler->link.pq, class_of, &compiler->profile,
                             compiler->session.evaluator->nvrtc_version, true, err);
}

/* A row that cannot be read is nobody's to compile: it is told, and passed over. */
static int compile(struct compiler *compiler, struct gt_queue_ahead *ahead,
                   struct gt_sweep_ahead *made, struct gt_err *err)
{
    struct gt_session *session = &compiler->session;
    const int64_t most = compiler->options->ahead;
    struct gt_problem problem;
    struct gt_budget budget;

    if (ahead->why.code || gt_problem_parse(&problem, ahead->job.problem, &ahead->why) ||
        gt_budget_parse(&budget, ahead->job.budget, &ahead->why)) {
        gt_copy_clean(ahead->why.msg, sizeof(ahead->why.msg), ahead->why.msg);
        gt_queue_note(&compiler->link, ahead->why.msg);
        return GT_OK;
    }
    session->evaluator->device = ahead->device;
    return gt_session_compile(session, &problem, compiler->kernel, compiler->kernels, &budget,
                              most ? (size_t)most : CANDIDATES, made, err);
}

/* One problem for one device; nothing to do: ahead->taken is false. */
static int compile_next(struct compiler *compiler, struct gt_queue_ahead *ahead, struct gt_err *err)
{
    const int nvrtc = compiler->session.evaluator->nvrtc_version;
    const int64_t lease = compiler->options->lease_s ? compiler->options->lease_s : LEASE_S;
    struct gt_sweep_ahead made = {0};
    int rc = gt_queue_take_ahead(compiler->link.pq, ahead, compiler->name, nvrtc,
                                 compiler->arch ? compiler->profile.cc : 0, lease, err);

    if (rc || !ahead->taken)
        return rc;
    rc = compile(compiler, ahead, &made, err);
    if (rc)
        return rc;
    compiler->jobs += !ahead->why.code;
    compiler->candidates += made.candidates;
    compiler->compiled += made.compiled;
    if (!ahead->why.code && !compiler->link.cli->quiet)
        fprintf(compiler->link.cli->log, "%s for %s: %lld cubins compiled, %lld were there\n",
                ahead->job.problem, ahead->device.name, (long long)made.compiled,
                (long long)(made.candidates - made.compiled));
    return gt_queue_end_ahead(compiler->link.pq, ahead, nvrtc, made.candidates, made.compiled, err);
}

/* Nothing is to be compiled now; says once why, if no device is known. */
static void rest(struct compiler *compiler, const struct gt_queue_ahead *ahead)
{
    if (!ahead->devices && !compiler->said)
        gt_queue_note(&compiler->link,
                      "no worker with a GPU, and with this version of NVRTC, has come in the last "
                      "hour; --arch sm_90 says which will come");
    compiler->said = true;
    gt_queue_wait(&compiler->link, 1);
}

static int work(struct compiler *compiler, struct gt_err *err)
{
    for (;;) {
        struct gt_queue_ahead ahead;
        int rc = gt_queue_reach(&compiler->link, announce, compiler, err);

        if (!rc && gt_queue_interrupted(&compiler->link))
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; what was compiled is in the cache");
        if (rc)
            return rc;
        rc = compile_next(compiler, &ahead, err);
        if (rc == GT_EIO && !gt_pq_is_open(compiler->link.pq)) { /* it is reached again above */
            gt_queue_leave(&compiler->link);
            gt_queue_wait(&compiler->link, 1);
            continue;
        }
        if (rc || (!ahead.taken && !ahead.left && !compiler->options->stay))
            return rc;
        if (!ahead.taken)
            rest(compiler, &ahead);
    }
}

/* Kernels, compilers and a database, which a search needs and which is thrown away. */
static int open_compiler(struct compiler *compiler, const struct gt_session_options *asked,
                         struct gt_cli *quiet, struct gt_err *err)
{
    struct gt_session_options options = *asked;
    char device[64];
    int rc;

    if (asked->db || asked->device)
        return gt_err_set(err, GT_ESYNTAX,
                          "--compile-only runs nothing and keeps nothing: it excludes --db and "
                          "--device; --arch says which GPUs will come");
    rc = gt_scratch_make(&compiler->folder, err);
    if (rc)
        return rc;
    snprintf(compiler->database, sizeof(compiler->database), "%s/compile.db",
             compiler->folder.path);
    snprintf(device, sizeof(device), "predict:%.40s", asked->arch ? asked->arch : ANY_ARCH);
    options.db = compiler->database;
    options.device = device;
    options.arch = NULL;
    rc = gt_session_open(&compiler->session, quiet, &options, err);
    GT_STEP(rc, gt_session_kernels(&compiler->kernel, &compiler->kernels,
                                   &compiler->session.kernels, options.kernels, err));
    if (rc)
        return rc;
    compiler->session.fallbacks = !options.kernels;
    compiler->profile = compiler->session.evaluator->device;
    return GT_OK;
}

int gt_queue_compile(struct gt_cli *cli, const struct gt_session_options *session,
                     const struct gt_queue_options *options, struct gt_err *err)
{
    struct compiler *compiler = calloc(1, sizeof(*compiler));
    struct gt_cli quiet = *cli; /* nothing is predicted, which the session would tell */
    int rc;

    if (!compiler)
        return gt_err_nomem(err);
    quiet.quiet = true;
    *compiler = (struct compiler){.link = {.cli = cli, .address = options->address},
                                  .options = options,
                                  .arch = session->arch};
    gt_queue_name(compiler->name, false);
    rc = open_compiler(compiler, session, &quiet, err);
    GT_STEP(rc, work(compiler, err));
    if (!cli->quiet && compiler->session.evaluator)
        fprintf(cli->log, "%lld problems compiled by %s: %lld candidates, %lld cubins new\n",
                (long long)compiler->jobs, compiler->name, (long long)compiler->candidates,
                (long long)compiler->compiled);
    if (!rc && cli->json)
        rc = gt_queue_print_work(cli, compiler->jobs, compiler->compiled,
                                 compiler->candidates - compiler->compiled, err);
    gt_queue_leave(&compiler->link);
    gt_session_close(&compiler->session);
    gt_scratch_remove(&compiler->folder);
    free(compiler->kernel);
    free(compiler);
    return rc;
}

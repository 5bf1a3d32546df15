/* queue_compile.c - a worker of the queue that has compilers and no GPU: for the jobs that are next
 * it compiles the candidates that workers with GPUs will try first, into the cache that all workers
 * share.
 *
 * The worker claims its work in a table of its own and never takes a job.  That table has no
 * reference to the table of jobs: such a reference would lock the job's row for a moment, and a
 * worker that takes jobs would pass the job over.  Work that is done twice, or left undone by a
 * killed worker, costs only time: a cubin is in the cache as a whole or not at all, under a name
 * that depends only on the cubin's inputs. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cluster/queue.h"
#include "console/cmd_write.h"
#include "problem/problem.h"

#define LEASE_S    600 /* far more than a problem takes, because the lease is not renewed */
#define CANDIDATES 64
#define ANY_ARCH   "sm_90" /* a session is opened with this arch until the first device is known */
#define TEXT       GT_PQ_TEXT
#define INT        GT_PQ_INT

/* ---- for which devices workers tune ---- */

/* X(field, least, most): facts that decide which points are valid, and which come first. */
#define DEVICE_MAP(X)              \
    X(cc, 70, 999)                 \
    X(sms, 1, 4096)                \
    X(smem_block, 16384, 1 << 24)  \
    X(smem_sm, 16384, 1 << 24)     \
    X(smem_reserved, 0, 65536)     \
    X(regs_sm, 1024, 1 << 24)      \
    X(max_threads_sm, 1024, 65536) \
    X(max_blocks_sm, 1, 1024)      \
    X(l2_bytes, 1, 1e12)           \
    X(memory_bytes, 1, 1e15)       \
    X(clock_mhz, 1, 1e7)           \
    X(memory_gbps, 1, 1e7)         \
    X(l2_gbps, 1, 1e7)             \
    X(launch_us, 0, 1e6)           \
    X(next_launch_us, 0, 1e6)      \
    X(fma_lanes, 1, 4096)          \
    X(tensor_tf32, 0, 1 << 20)     \
    X(tensor_f16, 0, 1 << 20)      \
    X(tensor_f8, 0, 1 << 20)       \
    X(tensor_s8, 0, 1 << 20)

/* Writes the facts as "cc=90 sms=132 ...". */
static int write_facts(const struct gt_device *device, struct gt_strbuf *text, struct gt_err *err)
{
#define WRITE(field, least, most) \
    gt_strbuf_addf(text, "%s" #field "=%.17g", text->length ? " " : "", (double)device->field);
    DEVICE_MAP(WRITE)
#undef WRITE
    return gt_strbuf_check(text, err);
}

static bool read_fact(const char **at, const char *name, double least, double most, double *value)
{
    const size_t length = strlen(name);
    char *end;

    if (strncmp(*at, name, length) != 0 || (*at)[length] != '=')
        return false;
    *value = strtod(*at + length + 1, &end);
    *at = *end == ' ' ? end + 1 : end;
    return end[0] == '\0' || end[0] == ' ' ? *value >= least && *value <= most : false;
}

int gt_queue_read_device(struct gt_device *device, const char *class_of, const char *facts,
                         struct gt_err *err)
{
    const char *at = facts;
    double value;

    *device = (struct gt_device){.ordinal = -1};
    snprintf(device->name, sizeof(device->name), "%.*s", (int)strcspn(class_of, "/"), class_of);
    gt_copy_clean(device->name, sizeof(device->name), device->name);
#define READ(field, least, most)                                                           \
    if (!read_fact(&at, #field, least, most, &value))                                      \
        return gt_err_set(err, GT_EDB,                                                     \
                          "the queue's device \"%.120s\" has no " #field " from %g to %g", \
                          class_of, (double)(least), (double)(most));                      \
    device->field = (__typeof__(device->field))value;
    DEVICE_MAP(READ)
#undef READ
    if (*at || !gt_arch_known(device->cc) ||
        device->smem_block + device->smem_reserved > device->smem_sm)
        return gt_err_set(err, GT_EDB, "the queue's device \"%.120s\" is none that is known here",
                          class_of);
    return GT_OK;
}

int gt_queue_announce(struct gt_pq *pq, const char *class_of, const struct gt_device *device,
                      int nvrtc, bool profile, struct gt_err *err)
{
    struct gt_strbuf facts = GT_STRBUF_INIT;
    int rc = write_facts(device, &facts, err);

    if (!rc)
        rc = gt_pq_run(pq,
                       "INSERT INTO gemmtune.device (class, facts, nvrtc, profile)"
                       " VALUES ($1, $2, $3::integer, $4::boolean)"
                       " ON CONFLICT (class, nvrtc) DO UPDATE SET facts = $2, seen = now()",
                       GT_PQ_VALUES(TEXT(class_of), TEXT(facts.text), INT(nvrtc), INT(profile)),
                       false, err);
    gt_strbuf_release(&facts);
    return rc;
}

int gt_queue_count_ahead(struct gt_pq *pq, int64_t *problems, int64_t *cubins, struct gt_err *err)
{
    int rc = gt_pq_run(pq,
                       "SELECT count(*), coalesce(sum(compiled), 0) FROM gemmtune.ahead"
                       " WHERE finished IS NOT NULL",
                       NULL, 0, false, err);

    *problems = rc ? 0 : gt_pq_get_int(pq, 0, 0);
    *cubins = rc ? 0 : gt_pq_get_int(pq, 0, 1);
    return rc;
}

/* ---- what is to be compiled ---- */

/* A problem to be compiled for a device. */
struct ahead {
    bool taken;
    int64_t devices, left; /* devices to compile for; jobs that are ready */
    struct gt_queue_job job;
    char class_of[GT_QUEUE_CLASS];
    struct gt_device device;
    struct gt_err why; /* code != 0: the announced device cannot be read */
};

#define SEEN "interval '1 hour'" /* a device without a sign of its workers for so long has none */

/* The devices to compile for: devices of workers, and profiles of archs that no worker's device
 * has. */
#define DEVICES                                                                        \
    "SELECT class, facts, profile FROM gemmtune.device AS d WHERE nvrtc = $2::integer" \
    " AND seen > now() - " SEEN " AND ($4 = '' OR split_part(facts, ' ', 1) = $4)"     \
    " AND NOT (profile AND EXISTS (SELECT FROM gemmtune.device"                        \
    " AS real WHERE NOT real.profile AND real.seen > now() - " SEEN                    \
    " AND split_part(real.facts, ' ', 1) = split_part(d.facts, ' ', 1)))"

#define WINDOW "256" /* jobs that may be compiled ahead: the cache has a limit */

static int take(struct gt_pq *pq, const char *worker, int nvrtc, int cc, int64_t lease_s,
                struct gt_err *err)
{
    static const char sql[] =
        "WITH device AS (" DEVICES "), job AS (SELECT id, problem, budget, weight, class"
        " FROM gemmtune.job WHERE state = 'ready' ORDER BY weight DESC, id LIMIT " WINDOW "),"
        " next AS (SELECT job.id, job.problem, job.budget, device.class, device.facts FROM job"
        " JOIN device ON device.profile OR starts_with(device.class, job.class)"
        " LEFT JOIN gemmtune.ahead AS a"
        " ON (a.job, a.class, a.nvrtc) = (job.id, device.class, $2::integer)"
        " WHERE a.job IS NULL OR a.finished IS NULL AND a.lease_until < now()"
        " ORDER BY job.weight DESC, job.id, device.class LIMIT 1),"
        " taken AS (INSERT INTO gemmtune.ahead AS a (job, class, nvrtc, worker, lease_until)"
        " SELECT id, class, $2::integer, $1, now() + $3::integer * interval '1 s' FROM next"
        " ON CONFLICT (job, class, nvrtc) DO UPDATE SET worker = $1,"
        " lease_until = excluded.lease_until"
        " WHERE a.finished IS NULL AND a.lease_until < now() RETURNING job)"
        " SELECT (SELECT count(*) FROM device), (SELECT count(*) FROM job),"
        " (SELECT count(*) FROM next), next.id, next.problem, next.budget, next.class, next.facts"
        " FROM (VALUES (1)) AS one LEFT JOIN (next JOIN taken ON taken.job = next.id) ON true";
    char arch[24] = "";

    if (cc)
        snprintf(arch, sizeof(arch), "cc=%d", cc);
    return gt_pq_run(pq, sql, GT_PQ_VALUES(TEXT(worker), INT(nvrtc), INT(lease_s), TEXT(arch)),
                     false, err);
}

/* Takes, for lease_s seconds, the heaviest of the next jobs that nobody has compiled for one of the
 * devices (cc: devices of that arch; 0: of any arch).  Jobs are not touched, so a worker that tunes
 * never waits for a worker that compiles. */
static int take_ahead(struct gt_pq *pq, struct ahead *ahead, const char *worker, int nvrtc, int cc,
                      int64_t lease_s, struct gt_err *err)
{
    int rc;

    *ahead = (struct ahead){0};
    do /* again if another compiler took the job meanwhile, whose row is there now */
        rc = take(pq, worker, nvrtc, cc, lease_s, err);
    while (!rc && gt_pq_get_int(pq, 0, 2) && !*gt_pq_get(pq, 0, 3, NULL));
    if (rc)
        return rc;
    ahead->devices = gt_pq_get_int(pq, 0, 0);
    ahead->left = gt_pq_get_int(pq, 0, 1);
    ahead->taken = gt_pq_get_int(pq, 0, 2) > 0;
    snprintf(ahead->job.id, sizeof(ahead->job.id), "%lld", (long long)gt_pq_get_int(pq, 0, 3));
    snprintf(ahead->job.problem, sizeof(ahead->job.problem), "%s", gt_pq_get(pq, 0, 4, NULL));
    snprintf(ahead->job.budget, sizeof(ahead->job.budget), "%s", gt_pq_get(pq, 0, 5, NULL));
    snprintf(ahead->class_of, sizeof(ahead->class_of), "%s", gt_pq_get(pq, 0, 6, NULL));
    if (ahead->taken)
        gt_queue_read_device(&ahead->device, ahead->class_of, gt_pq_get(pq, 0, 7, NULL),
                             &ahead->why);
    return GT_OK;
}

static int end_ahead(struct gt_pq *pq, const struct ahead *ahead, int nvrtc,
                     const struct gt_sweep_ahead *made, struct gt_err *err)
{
    return gt_pq_run(pq,
                     "UPDATE gemmtune.ahead SET finished = now(), candidates = $4::bigint,"
                     " compiled = $5::bigint"
                     " WHERE (job, class, nvrtc) = ($1::bigint, $2, $3::integer)",
                     GT_PQ_VALUES(TEXT(ahead->job.id), TEXT(ahead->class_of), INT(nvrtc),
                                  INT(made->candidates), INT(made->compiled)),
                     false, err);
}

/* ---- the worker ---- */

struct compiler {
    struct gt_queue_link link;
    const struct gt_queue_options *options;
    struct gt_session session;
    const struct gt_kernel **kernel;
    size_t kernels;
    struct gt_device profile; /* the profile of --arch */
    const char *arch;         /* or NULL */
    char name[GT_QUEUE_NAME], database[PATH_MAX];
    struct gt_scratch folder;
    int64_t jobs, candidates, compiled;
    bool said; /* told that no device is known */
};

/* Announces that GPUs of the arch will come.  Until then the profile stands in for them. */
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

/* Compiles ahead.  A row that cannot be read is reported and passed over, because nobody can
 * compile it. */
static int compile(struct compiler *compiler, struct ahead *ahead, struct gt_sweep_ahead *made,
                   struct gt_err *err)
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

/* Compiles one problem for one device; ahead->taken false: there was nothing to do. */
static int compile_next(struct compiler *compiler, struct ahead *ahead, struct gt_err *err)
{
    const int nvrtc = compiler->session.evaluator->nvrtc_version;
    const int64_t lease = compiler->options->lease_s ? compiler->options->lease_s : LEASE_S;
    struct gt_sweep_ahead made = {0};
    int rc = take_ahead(compiler->link.pq, ahead, compiler->name, nvrtc,
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
    return end_ahead(compiler->link.pq, ahead, nvrtc, &made, err);
}

static int work(void *context, bool *taken, int64_t *left, struct gt_err *err)
{
    struct compiler *compiler = context;
    struct ahead ahead;
    int rc = compile_next(compiler, &ahead, err);

    if (rc)
        return rc;
    *taken = ahead.taken;
    *left = ahead.left;
    if (ahead.taken || (!ahead.left && !compiler->options->stay))
        return GT_OK;
    if (!ahead.devices && !compiler->said)
        gt_queue_note(&compiler->link,
                      "no worker with a GPU, and with this version of NVRTC, has come in the last "
                      "hour; --arch sm_90 says which will come");
    compiler->said = true;
    return GT_OK;
}

/* Opens kernels, compilers and a database, which a search needs; the database is thrown away. */
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
    struct gt_cli quiet = *cli; /* else the session would say that it predicts */
    const struct gt_queue_duty duty = {
        .greet = announce,
        .work = work,
        .stay = options->stay,
        .interrupted = "interrupted; what was compiled is in the cache",
    };
    int rc;

    if (!compiler)
        return gt_err_nomem(err);
    quiet.quiet = true;
    *compiler = (struct compiler){.link = {.cli = cli, .address = options->address},
                                  .options = options,
                                  .arch = session->arch};
    gt_queue_name(compiler->name, "");
    rc = open_compiler(compiler, session, &quiet, err);
    GT_STEP(rc, gt_queue_serve(&compiler->link, &duty, compiler, err));
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

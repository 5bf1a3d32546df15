/* cmd_session.c - what the commands that tune share; see cmd_session.h. */
#include "session/cmd_session.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cache.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/gpu_names.h"
#include "search/narrow.h"
#include "sweep/progress.h"
#include "exchange/recording.h"
#include "search/strategy.h"

#define REPLAY "replay:"

static void on_waiting(void *context, double seconds)
{
    const struct gt_session *session = context;

    gt_progress_wait(session->progress,
                     session->waits_for ? session->waits_for : "the GPU's worker starts", seconds);
}

#define VENDOR "cublaslt" /* among the names of kernels: cuBLASLt's own algorithms */

/* Whether a list of kernels has cuBLASLt among them. */
static bool names_vendor(const char *names)
{
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, VENDOR, strlen(VENDOR)) == 0 && strchr(",", at[strlen(VENDOR)]))
            return true;
    return false;
}

/* What --dist names: the parser of options lets no other word through. */
static enum gt_dist operands_of(const struct gt_session_options *options)
{
    return options->dist ? gt_dist_parse(options->dist) : GT_DIST_NORMAL;
}

/* Times of other operands are those of another device: everything that is stored, compared, handed
 * out or printed then keeps them apart. */
static void name_operands(struct gt_session *session, const struct gt_session_options *options)
{
    struct gt_device *device = &session->evaluator->device;
    const struct gt_device plain = *device;

    if (operands_of(options) == GT_DIST_NORMAL)
        return;
    if (session->evaluator->ops->provenance != GT_MEASURED) {
        if (!session->cli->quiet)
            fprintf(session->cli->log, "--dist %s changes nothing: no product is computed\n",
                    options->dist);
        return;
    }
    snprintf(device->name, sizeof(device->name), "%.80s [%s]", plain.name, options->dist);
    snprintf(device->uuid, sizeof(device->uuid), "%.52s [%s]", plain.uuid, options->dist);
}

/* Opens the evaluator of a --device text. */
static int open_device(struct gt_session *session, const struct gt_session_options *options,
                       const char *device, struct gt_err *err)
{
    const struct gt_evaluator_options evaluator = {
        .data_dir = session->cli->data_dir,
        .cache_dir = session->cache_dir,
        .kernels_dir = options->kernels_dir,
        .include_dirs = options->include_dirs,
        .jobs = (int)options->jobs,
        .tokens = options->tokens,
        .space = options->space,
        .launch_deadline_s = (double)options->deadline,
        .compile_cpu_s = (double)options->compile_cpu,
        .compile_memory = options->compile_memory << 20,
        .baseline = !options->baseline || strcmp(options->baseline, "none") != 0,
        .events = {.context = session, .waiting = on_waiting},
        .bench = {.timing = gt_session_timing(options),
                  .dist = operands_of(options),
                  .slow_factor = options->slow,
                  .seed = session->seed},
    };

    return gt_evaluator_open(&session->evaluator, device, &evaluator, err);
}

/* Refuses a --device whose architecture is not the one that --arch names. */
static int check_arch(const struct gt_session *session, const char *device, int cc,
                      struct gt_err *err)
{
    struct gt_device *found = &session->evaluator->device;

    if (found->cc == 0)
        found->cc = cc; /* the recording does not name its arch, so the user may */
    if (!cc || found->cc == cc)
        return GT_OK;
    if (found->profile)
        return gt_err_set(err, GT_ERANGE, "--arch sm_%d contradicts --device %s", cc, device);
    return gt_err_set(err, GT_ENOGPU,
                      "--device %s is %s (sm_%d), not sm_%d; leave --device out to predict for "
                      "sm_%d without measuring",
                      device, found->name, found->cc, cc, cc);
}

/* Without --device: takes a GPU of the arch if there is one, else the arch's profile. */
static int open_arch(struct gt_session *session, const struct gt_session_options *options, int cc,
                     struct gt_err *err)
{
    char profile[32];
    int rc = open_device(session, options, "cuda", &session->no_gpu);

    if (rc == GT_OK && session->evaluator->device.cc == cc)
        return GT_OK;
    if (rc && rc != GT_ENOGPU && rc != GT_ENOLIB && rc != GT_ECUDA) {
        if (err)
            *err = session->no_gpu;
        return rc;
    }
    if (rc == GT_OK)
        gt_err_set(&session->no_gpu, GT_ENOGPU, "the GPU here is %s (sm_%d)",
                   session->evaluator->device.name, session->evaluator->device.cc);
    gt_evaluator_close(session->evaluator);
    session->evaluator = NULL;
    snprintf(profile, sizeof(profile), "predict:sm_%d", cc);
    return open_device(session, options, profile, err);
}

/* The arch that "predict" or "predict:NAME" means becomes part of the word; NAME is whatever --arch
 * takes, or a file. */
static int complete_prediction(const char **device, char text[64], int cc, struct gt_err *err)
{
    const char *name = *device + strlen("predict"), *arch;
    int rc;

    if (!*name && cc) {
        snprintf(text, 64, "predict:sm_%d", cc);
        *device = text;
    }
    if (*name++ != ':' || strstr(name, ".json"))
        return GT_OK;
    arch = name;
    rc = gt_gpu_arch(&arch, err);
    if (rc)
        return gt_err_prefix(err, rc, "--device");
    if (arch != name) {
        snprintf(text, 64, "predict:%s/%.40s", arch, name);
        *device = text;
    }
    return GT_OK;
}

static int open_evaluator(struct gt_session *session, const struct gt_session_options *options,
                          int cc, struct gt_err *err)
{
    const char *device = options->device;
    char text[64];
    int rc = GT_OK;

    if (device && strncmp(device, "predict", strlen("predict")) == 0)
        rc = complete_prediction(&device, text, cc, err);
    if (rc)
        return rc;
    if (device || !cc || options->measure) {
        rc = open_device(session, options, device ? device : "cuda", err);
        if (rc && !device && !options->measure && (rc == GT_ENOGPU || rc == GT_ENOLIB))
            gt_err_prefix(err, rc, "without a GPU, --arch says what to predict for, e.g. sm_86");
        return rc ? rc : check_arch(session, device ? device : "cuda", cc, err);
    }
    return open_arch(session, options, cc, err);
}

static bool is_replay(const struct gt_session_options *options)
{
    return options->device && strncmp(options->device, REPLAY, strlen(REPLAY)) == 0;
}

/* Chains are timed on a GPU only, and with cold operands. */
static int check_timing(const struct gt_session *session, const struct gt_session_options *options,
                        struct gt_err *err)
{
    if (gt_session_timing(options) != GT_TIMING_GRAPH)
        return GT_OK;
    if (options->l2 && strcmp(options->l2, "warm") == 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--timing graph reads operands that are not in L2; --l2 warm is for "
                          "--timing single");
    if (session->evaluator->ops->provenance != GT_MEASURED)
        return gt_err_set(err, GT_ENOGPU,
                          "--timing graph needs a GPU: predictions and recordings are of launches "
                          "by themselves%s%s",
                          session->no_gpu.code ? "; " : "",
                          session->no_gpu.code ? session->no_gpu.msg : "");
    return GT_OK;
}

/* Checks names that a sweep would look up only after everything is open, so that a typing error is
 * reported at once. */
static int check_names(const struct gt_session *session, const struct gt_session_options *options,
                       struct gt_err *err)
{
    const struct gt_kernel **kernel = NULL;
    size_t count = 0;
    int rc;

    if (options->kernels && !session->replays) {
        rc = gt_session_kernels(&kernel, &count, &session->kernels, options->kernels, err);
        free(kernel);
        if (rc)
            return rc;
    }
    return options->strategy ? gt_strategy_parse(NULL, NULL, options->strategy, err) : GT_OK;
}

int gt_session_store(struct gt_store **store, const char *path, enum gt_store_mode mode,
                     struct gt_err *err)
{
    int rc = gt_store_open(store, path, mode, err);

    if (rc == GT_EBUSY && err)
        err->code = GT_EDB;
    return rc == GT_EBUSY ? GT_EDB : rc;
}

int gt_session_database(const char **path, struct gt_cli *cli, const char *named, bool create,
                        struct gt_err *err)
{
    int rc;

    *path = named;
    if (named && strcmp(named, ":memory:") == 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--db :memory: a database is a file here, so that nothing is lost");
    if (named && strncmp(named, "postgres", 8) == 0 && strstr(named, "://"))
        return gt_err_set(err, GT_ESYNTAX,
                          "--db names a file here; --queue takes problems from PostgreSQL, and "
                          "`tune queue export` writes its results into a file");
    if (named)
        return GT_OK;
    free(cli->database);
    rc = gt_default_database(&cli->database, create, err);
    *path = cli->database;
    return rc;
}

/* The kernel of a recording takes the place of those described. */
static int take_recorded_kernel(struct gt_session *session, struct gt_err *err)
{
    gt_kernels_release(&session->kernels);
    session->kernels.kernel = calloc(1, sizeof(*session->kernels.kernel));
    if (!session->kernels.kernel)
        return gt_err_nomem(err);
    session->kernels.kernel[0] = session->evaluator->recording->kernel;
    session->kernels.count = 1;
    return GT_OK;
}

int gt_session_no_replay(const struct gt_session_options *options, struct gt_err *err)
{
    if (!is_replay(options))
        return GT_OK;
    return gt_err_set(
        err, GT_ESYNTAX,
        "--device %s: a recording holds one kernel, one problem and no baseline: only "
        "`tune` itself answers from it",
        options->device);
}

/* Restricts the kernels that take part to the values of --values. */
static int narrow(struct gt_session *session, const struct gt_session_options *options,
                  struct gt_err *err)
{
    const struct gt_kernel **list = NULL;
    size_t count = 0;
    int rc;

    if (session->replays)
        return gt_err_set(err, GT_ESYNTAX,
                          "--values does not go with a recording; --space describes a part of it");
    rc = gt_session_kernels(&list, &count, &session->kernels, options->kernels, err);
    GT_STEP(rc, gt_narrow((struct gt_kernel *const *)list, count, options->values, err));
    free(list);
    return rc;
}

/* Loads the winners that this project ships: a first sweep starts from them.  The rankings beside
 * them correct what the model expects; a recording's kernels are not those that they speak of. */
static int load_shipped(struct gt_session *session, struct gt_err *err)
{
    char *path = NULL;
    int rc = GT_OK;

    if (asprintf(&path, "%s/db/shipped", session->cli->data_dir) < 0)
        return gt_err_nomem(err);
    if (access(path, F_OK) == 0)
        rc = gt_table_load(&session->shipped, path, err);
    if (!rc && !session->replays)
        rc = gt_rankings_add(&session->rankings, &session->kernels, session->shipped.ranking,
                             session->shipped.rankings, err);
    free(path);
    return rc;
}

int gt_session_open(struct gt_session *session, struct gt_cli *cli,
                    const struct gt_session_options *options, struct gt_err *err)
{
    const char *database = NULL;
    int rc = GT_OK, cc = 0;
    int64_t limit = 0;

    memset(session, 0, sizeof(*session));
    session->cli = cli;
    session->strategy = options->strategy;
    session->kernels_dir = options->kernels_dir;
    session->replays = is_replay(options);
    session->vendor = !options->kernels || names_vendor(options->kernels);
    session->narrowed = options->values != NULL;
    session->seed = options->seed ? (uint64_t)options->seed : GT_SEED_DEFAULT;
    if (options->space && !session->replays)
        rc = gt_err_set(err, GT_ESYNTAX,
                        "--space %s: a kernel described in T1 can only be searched in a recording: "
                        "--device replay:FILE",
                        options->space);
    if (!rc && options->arch)
        rc = gt_arch_parse(options->arch, &cc, err);
    GT_STEP(rc, gt_kernels_load(&session->kernels, cli->data_dir, options->kernels_dir,
                                options->include_dirs, err));
    if (!rc && (options->values || options->no_bets))
        rc = gt_kernels_load(&session->whole, cli->data_dir, options->kernels_dir,
                             options->include_dirs, err);
    for (size_t i = 0; i < session->kernels.count && !rc && options->no_bets; i++)
        gt_kernel_drop_bets(session->kernels.kernel[i]);
    if (!rc && options->values)
        rc = narrow(session, options, err);
    GT_STEP(rc, check_names(session, options, err));
    GT_STEP(rc, load_shipped(session, err));
    GT_STEP(rc, gt_cache_dir(&session->cache_dir, err));
    GT_STEP(rc, gt_cache_limit(&limit, err));
    if (!rc && options->lines)
        rc = gt_progress_new(&session->progress, options->lines, false, false, err);
    else if (!rc && !cli->quiet)
        rc = gt_progress_stderr(&session->progress, cli->color, err);
    if (!rc) {
        /* A cache that this user must not use does not stop the run: the cubins are then kept for
         * this run only. */
        gt_cache_trim(session->cache_dir, limit, NULL, NULL);
        rc = open_evaluator(session, options, cc, err);
        gt_progress_clear(session->progress);
    }
    GT_STEP(rc, check_timing(session, options, err));
    if (!rc && session->replays)
        rc = take_recorded_kernel(session, err);
    GT_STEP(rc, gt_session_database(&database, cli, options->db, true, err));
    GT_STEP(rc, gt_session_store(&session->store, database,
                                 options->shared ? GT_STORE_SHARED : GT_STORE_WRITE, err));
    if (!rc && !session->replays)
        rc = gt_store_apply_calibration(session->store, &session->evaluator->device, err);
    if (rc) {
        gt_session_close(session);
        return rc;
    }
    name_operands(session, options);
    if (cli->verbose)
        fprintf(cli->log, "data folder %s, cache %s, database %s\n", cli->data_dir,
                session->cache_dir, database);
    session->measures = session->evaluator->ops->provenance != GT_PREDICTED;
    if (!session->measures && !cli->quiet && session->no_gpu.code)
        fprintf(cli->log, "no sm_%d GPU here (%s)\n", session->evaluator->device.cc,
                session->no_gpu.msg);
    if (!session->measures && !cli->quiet)
        fprintf(cli->log, "all times are PREDICTED for sm_%d by a model; nothing is measured\n",
                session->evaluator->device.cc);
    if (session->replays && !cli->quiet)
        fprintf(cli->log, "all times are REPLAYED from %s%s; nothing is measured\n",
                options->device + strlen(REPLAY),
                session->evaluator->recording->predicted ? ", where a model PREDICTED them" : "");
    return GT_OK;
}

void gt_session_close(struct gt_session *session)
{
    gt_progress_free(session->progress);
    gt_scouts_free(session->foresight);
    if (session->evaluator && session->evaluator->recording)
        session->kernels.count = 0; /* the evaluator owns it */
    gt_evaluator_close(session->evaluator);
    gt_store_close(session->store);
    gt_rankings_release(&session->rankings);
    gt_kernels_release(&session->kernels);
    gt_kernels_release(&session->whole);
    gt_table_release(&session->shipped);
    free(session->cache_dir);
    memset(session, 0, sizeof(*session));
}

/* Appends the kernels of a name, or of a pattern such as simt*; *n: how many are chosen so far. */
static int choose_kernels(const struct gt_kernel **chosen, size_t *n,
                          const struct gt_kernels *kernels, const char *name, struct gt_err *err)
{
    const bool pattern = strpbrk(name, "*?[") != NULL;
    struct gt_strbuf there = GT_STRBUF_INIT;
    bool found = strcmp(name, VENDOR) == 0;
    int rc = GT_OK;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct gt_kernel *kernel = kernels->kernel[i];
        size_t at = 0;

        gt_strbuf_addf(&there, " %s", kernel->name);
        if (pattern ? fnmatch(name, kernel->name, 0) : strcmp(name, kernel->name))
            continue;
        found = true;
        while (at < *n && chosen[at] != kernel)
            at++;
        chosen[at] = kernel; /* named twice, it stands there already */
        *n += at == *n;
    }
    if (!found && !pattern)
        rc = gt_kernels_find(kernels, name, err) ? GT_OK : GT_ENOTFOUND;
    else if (!found)
        rc = gt_err_set(err, GT_ENOTFOUND, "no kernel is called \"%s\"; there are:%s", name,
                        there.text);
    gt_strbuf_release(&there);
    return rc;
}

int gt_session_kernels(const struct gt_kernel ***list, size_t *count,
                       const struct gt_kernels *kernels, const char *names, struct gt_err *err)
{
    const struct gt_kernel **chosen = calloc(kernels->count + 1, sizeof(*chosen));
    size_t n = 0;
    int rc = chosen ? GT_OK : gt_err_nomem(err);

    for (size_t i = 0; i < kernels->count && !rc && !names; i++)
        if (kernels->kernel[i]->production)
            chosen[n++] = kernels->kernel[i];
    for (const char *at = names; at && *at && !rc;) {
        size_t length = strcspn(at, ",");
        char *name = strndup(at, length);

        rc = name ? choose_kernels(chosen, &n, kernels, name, err) : gt_err_nomem(err);
        free(name);
        at += length + (at[length] == ',');
    }
    if (!rc && !n)
        rc = names ? gt_err_set(err, GT_ESYNTAX, "--kernels names no kernel")
                   : gt_err_set(err, GT_ECONFIG,
                                "no kernel to choose from: no description has role production");
    if (rc) {
        free(chosen);
        return rc;
    }
    *list = chosen;
    *count = n;
    return GT_OK;
}

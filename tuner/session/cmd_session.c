/* cmd_session.c - what the tuning commands share; see cmd_session.h. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/gpu_names.h"
#include "console/passwords.h"
#include "cuda/cache.h"
#include "exchange/recording.h"
#include "problem/problem.h"
#include "search/space.h"
#include "search/strategy.h"
#include "session/cmd_session.h"
#include "session/model_error.h"
#include "sweep/progress.h"

/* ---- the device: the evaluator of --device, or of a GPU or the profile of --arch ---- */

static void on_waiting(void *context, double seconds)
{
    const struct gt_session *session = context;

    gt_progress_wait(session->progress,
                     session->waits_for ? session->waits_for : "the GPU's worker starts", seconds);
}

/* The distribution that --dist names; the parser of options lets no other word through. */
static enum gt_dist operands_of(const struct gt_session_options *options)
{
    return options->dist ? gt_dist_parse(options->dist) : GT_DIST_NORMAL;
}

/* Times with other operands are kept under another device's name, so that all that is stored,
 * compared, handed out or printed keeps such times apart. */
static void name_operands(struct gt_session *session, const struct gt_session_options *options)
{
    struct gt_device *device = &session->evaluator->device;
    const struct gt_device plain = *device;

    if (operands_of(options) == GT_DIST_NORMAL)
        return;
    snprintf(device->name, sizeof(device->name), "%.80s [%s]", plain.name, options->dist);
    snprintf(device->uuid, sizeof(device->uuid), "%.52s [%s]", plain.uuid, options->dist);
}

static int open_device(struct gt_session *session, const struct gt_session_options *options,
                       const char *device, struct gt_err *err)
{
    const struct gt_evaluator_options evaluator = {
        .data_dir = session->cli->data_dir,
        .signals = session->cli->signals,
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

static int check_arch(const struct gt_session *session, const struct gt_session_options *options,
                      const char *device, int cc, struct gt_err *err)
{
    struct gt_device *found = &session->evaluator->device;
    char instead[80] = "";

    if (found->cc == 0)
        found->cc = cc; /* the recording does not name its arch, so the user may */
    if (!cc || found->cc == cc)
        return GT_OK;
    if (found->profile)
        return gt_err_set(err, GT_ERANGE, "--arch sm_%d contradicts --device %s", cc, device);
    if (!options->measure)
        snprintf(instead, sizeof(instead),
                 "; without --device and --devices times are predicted for sm_%d", cc);
    return gt_err_set(err, GT_ENOGPU, "the GPU %s is %s (sm_%d), not sm_%d%s", device, found->name,
                      found->cc, cc, instead);
}

#define DEVICE_TEXT 160 /* "predict:sm_90/NVIDIA H100 PCIe" */

static void name_profile(char text[DEVICE_TEXT], int cc, const char *name)
{
    snprintf(text, DEVICE_TEXT, "predict:sm_%d%s%.120s", cc, name ? "/" : "", name ? name : "");
}

bool gt_session_lacks_gpu(const struct gt_err *err)
{
    return err->code == GT_ENOGPU || (err->code == GT_ENOLIB && !strstr(err->msg, "(NVRTC)"));
}

/* Without --device: takes a GPU of the given arch and name, if there is one, else a profile. */
static int open_arch(struct gt_session *session, const struct gt_session_options *options, int cc,
                     const char *name, struct gt_err *err)
{
    char profile[DEVICE_TEXT];
    int rc = open_device(session, options, "cuda", &session->no_gpu);

    if (rc == GT_OK && session->evaluator->device.cc == cc &&
        (!name || gt_device_called(session->evaluator->device.name, name)))
        return GT_OK;
    if (rc && rc != GT_ECUDA && !gt_session_lacks_gpu(&session->no_gpu)) {
        if (err)
            *err = session->no_gpu;
        return rc;
    }
    if (rc == GT_OK)
        gt_err_set(&session->no_gpu, GT_ENOGPU, "the GPU here is %s (sm_%d)",
                   session->evaluator->device.name, session->evaluator->device.cc);
    gt_evaluator_close(session->evaluator);
    session->evaluator = NULL;
    name_profile(profile, cc, name);
    return open_device(session, options, profile, err);
}

/* Adds the arch to the word "predict" or "predict:NAME"; NAME is a value of --arch, or a file. */
static int complete_prediction(const char **device, char text[DEVICE_TEXT], int cc,
                               const char **asked, struct gt_err *err)
{
    const char *name = *device + strlen("predict");
    int rc;

    if (!*name && cc) {
        name_profile(text, cc, *asked);
        *device = text;
    }
    if (*name++ != ':' || !*name || strstr(name, ".json") || strchr(name, '/'))
        return GT_OK;
    rc = gt_gpu_parse(name, &cc, asked, err);
    if (rc)
        return gt_err_prefix(err, rc, "--device");
    name_profile(text, cc, *asked);
    *device = text;
    return GT_OK;
}

/* Opens the evaluator that --device and --arch name.  cc: of --arch; 0: no arch was named.  If
 * there is no GPU of the arch here, times are predicted, and session->no_gpu says why. */
static int open_evaluator(struct gt_session *session, const struct gt_session_options *options,
                          int cc, const char *name, struct gt_err *err)
{
    const char *device = options->device;
    char text[DEVICE_TEXT];
    int rc = GT_OK;

    if (device && strncmp(device, "predict", strlen("predict")) == 0)
        rc = complete_prediction(&device, text, cc, &name, err);
    session->asked = name;
    if (rc)
        return rc;
    if (device || !cc || options->measure) {
        rc = open_device(session, options, device ? device : "cuda", err);
        if (rc && !device && !options->measure && gt_session_lacks_gpu(err))
            gt_err_prefix(err, rc, "without a GPU, --arch says what to predict for, e.g. sm_86");
        return rc ? rc : check_arch(session, options, device ? device : "cuda", cc, err);
    }
    return open_arch(session, options, cc, name, err);
}

/* Writes the given option that only a GPU can honour, and why predictions and recordings cannot;
 * false: no such option was given. */
static bool needs_gpu(const struct gt_session_options *options, char option[64], const char **why)
{
    const enum gt_timing timing = gt_session_timing(options);

    if (timing == GT_TIMING_GRAPH) {
        snprintf(option, 64, "--timing graph");
        *why = "predictions and recordings are of launches by themselves";
    } else if (timing == GT_TIMING_WARM) {
        snprintf(option, 64, "--l2 warm");
        *why = "predictions and recordings are of operands that are not in L2";
    } else if (operands_of(options) != GT_DIST_NORMAL) {
        snprintf(option, 64, "--dist %.40s", options->dist);
        *why = "predictions and recordings compute no product";
    } else {
        return false;
    }
    return true;
}

/* Chains, operands that stay in L2 and unusual numbers are timed on a GPU only (GT_ENOGPU), and
 * chains with cold operands (GT_ESYNTAX). */
static int check_timing(const struct gt_session *session, const struct gt_session_options *options,
                        struct gt_err *err)
{
    const bool warm = options->l2 && strcmp(options->l2, "warm") == 0;
    char option[64];
    const char *why;

    if (warm && gt_session_timing(options) == GT_TIMING_GRAPH)
        return gt_err_set(err, GT_ESYNTAX,
                          "--timing graph reads operands that are not in L2; --l2 warm is for "
                          "--timing single");
    if (session->evaluator->ops->provenance == GT_MEASURED || !needs_gpu(options, option, &why))
        return GT_OK;
    return gt_err_set(err, GT_ENOGPU, "%s needs a GPU: %s%s%s", option, why,
                      session->no_gpu.code ? "; " : "",
                      session->no_gpu.code ? session->no_gpu.msg : "");
}

/* ---- kernels: named by --kernels, with the values that --values leaves ---- */

#define VENDOR "cublaslt" /* among the names of kernels: cuBLASLt's own algorithms */

static bool names_vendor(const char *names)
{
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, VENDOR, strlen(VENDOR)) == 0 && strchr(",", at[strlen(VENDOR)]))
            return true;
    return false;
}

/* Appends the kernels of a name, or of a pattern such as simt*; *n: the number of kernels chosen so
 * far. */
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
        chosen[at] = kernel; /* a kernel named twice stands there already */
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

/* ---- sweeps ---- */

/* Approximate seconds of a turn, with 16 compile workers on an H200: of 418 problems with 2.6 s
 * each, 40 had no turn, and the turns of the others took 2.9 s. */
#define TURN_S 3.0

bool gt_session_warn_of_budget(char text[GT_BUDGET_TEXT], double seconds, size_t problems)
{
    const double each = seconds / (double)problems;

    if (problems < 2 || !(each > 0) || each >= TURN_S)
        return false;
    snprintf(text, GT_BUDGET_TEXT,
             "%.1f s a problem: a turn takes about %.0f s, so the problems of least "
             "weight may get no turn",
             each, TURN_S);
    return true;
}

/* Fills the options of a sweep from the session; *fallback is malloc'ed. */
static int fill_sweep(struct gt_session *session, struct gt_sweep_options *options,
                      const struct gt_kernel ***fallback, struct gt_err *err)
{
    const struct gt_kernels *all = &session->kernels;

    *fallback = calloc(all->count + 1, sizeof(**fallback));
    if (!*fallback)
        return gt_err_nomem(err);
    options->fallback = *fallback;
    for (size_t i = 0; i < all->count && session->fallbacks; i++)
        if (!all->kernel[i]->production)
            (*fallback)[options->fallbacks++] = all->kernel[i];
    options->weight = session->weight;
    options->evaluator = session->evaluator;
    options->store = session->store;
    options->shipped = &session->shipped;
    options->ranking = gt_rankings_for(&session->rankings, &session->evaluator->device,
                                       session->evaluator->device.name);
    options->vendor = session->vendor;
    if (!session->alone)
        options->known = session->whole.count ? &session->whole : all;
    options->strategy = session->strategy;
    options->seed = session->seed;
    options->command = session->cli->words;
    options->progress = session->progress;
    options->label = session->label;
    options->totals = &session->totals;
    options->signals = session->cli->signals;
    options->verbose = session->cli->verbose;
    options->search_only = session->search_only;
    options->then = session->then;
    options->foresight = &session->foresight;
    return GT_OK;
}

int gt_session_sweep(struct gt_session *session, const struct gt_problem *problem, size_t problems,
                     const struct gt_kernel *const *kernel, size_t kernels,
                     const struct gt_budget *budget, struct gt_sweep_result *result,
                     struct gt_err *err)
{
    struct gt_sweep_options options = {.problem = problem,
                                       .problems = problems,
                                       .kernel = kernel,
                                       .kernels = kernels,
                                       .budget = *budget};
    const struct gt_kernel **fallback;
    char warning[GT_BUDGET_TEXT];
    int rc = fill_sweep(session, &options, &fallback, err);

    if (rc)
        return rc;
    if (budget->each)
        options.budget.seconds *= (double)problems;
    if (session->measures &&
        gt_session_warn_of_budget(warning, options.budget.seconds, options.problems))
        gt_progress_note(session->progress, warning);
    rc = gt_sweep_run(&options, result, err);
    free(fallback);
    return rc;
}

int gt_session_compile(struct gt_session *session, const struct gt_problem *problem,
                       const struct gt_kernel *const *kernel, size_t kernels,
                       const struct gt_budget *budget, size_t most, struct gt_sweep_ahead *ahead,
                       struct gt_err *err)
{
    struct gt_sweep_options options = {.problem = problem,
                                       .problems = 1,
                                       .kernel = kernel,
                                       .kernels = kernels,
                                       .budget = {.trials = budget->trials}};
    const struct gt_kernel **fallback;
    int rc = fill_sweep(session, &options, &fallback, err);

    GT_STEP(rc, gt_sweep_compile(&options, most, ahead, err));
    free(fallback);
    return rc;
}

/* ---- opening and closing ---- */

#define REPLAY "replay:"

static bool is_replay(const struct gt_session_options *options)
{
    return options->device && strncmp(options->device, REPLAY, strlen(REPLAY)) == 0;
}

static int open_store(struct gt_store **store, const char *path, enum gt_store_mode mode,
                      const volatile sig_atomic_t *signals, struct gt_err *err)
{
    int rc = gt_store_open_watched(store, path, mode, signals, err);

    if (rc == GT_EBUSY && err)
        err->code = GT_EDB;
    return rc == GT_EBUSY ? GT_EDB : rc;
}

int gt_session_store(struct gt_store **store, const char *path, enum gt_store_mode mode,
                     struct gt_err *err)
{
    return open_store(store, path, mode, NULL, err);
}

void gt_session_doubts(const struct gt_cli *cli, const char *from, int64_t refused, int64_t dated)
{
    if (refused)
        fprintf(cli->log,
                "%s: %lld row%s left out: no device computes it in such a time, or the date is in "
                "the future\n",
                from, (long long)refused, refused == 1 ? "" : "s");
    if (dated)
        fprintf(cli->log, "%s: %lld date%s in the future set to now\n", from, (long long)dated,
                dated == 1 ? "" : "s");
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
    cli->database = NULL;
    rc = gt_passwords_refuse(getenv("GEMMTUNE_DB"), err);
    GT_STEP(rc, gt_default_database(&cli->database, create, err));
    *path = cli->database;
    return rc;
}

/* A cache of that name cannot be made, so that compiled kernels are kept for one run. */
#define NO_CACHE "/dev/null/gemmtune"

int gt_session_cache(char **path, struct gt_err *err)
{
    const int rc = gt_cache_dir(path, err);

    if (rc != GT_EIO)
        return rc;
    *path = strdup(NO_CACHE);
    return *path ? GT_OK : gt_err_nomem(err);
}

/* Says what follows if the home folder is not known. */
static void note_no_home(const struct gt_cli *cli, const char *cache, const char *database)
{
    if (!cli->quiet && !strcmp(cache, NO_CACHE))
        fprintf(cli->log,
                "HOME is not set: compiled kernels are kept for this run only (GEMMTUNE_CACHE may "
                "name a folder); the database is %s\n",
                database);
}

/* The kernel of a recording replaces the described kernels. */
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

/* Loads the winners that this project ships, from which a first sweep starts, and the shipped
 * rankings, which correct predicted times.  The rankings do not apply to a recording's kernels. */
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

static int load_kernels(struct gt_session *session, const struct gt_session_options *options,
                        struct gt_err *err)
{
    const char *data_dir = session->cli->data_dir;
    int rc = gt_kernels_load(&session->kernels, data_dir, options->kernels_dir,
                             options->include_dirs, err);

    if (!rc && (options->values || options->no_bets))
        rc = gt_kernels_load(&session->whole, data_dir, options->kernels_dir, options->include_dirs,
                             err);
    for (size_t i = 0; i < session->kernels.count && !rc && options->no_bets; i++)
        gt_kernel_drop_bets(session->kernels.kernel[i]);
    if (!rc && options->values)
        rc = narrow(session, options, err);
    GT_STEP(rc, check_names(session, options, err));
    return rc;
}

/* Says what a recording's times are, and which parts of the recording are not taken as its tuner
 * took them. */
static void announce_recording(const struct gt_cli *cli, const struct gt_recording *recording,
                               const char *path)
{
    char objective[64];

    fprintf(cli->log, "all times are REPLAYED from %s%s; nothing is measured\n", path,
            recording->predicted ? ", where a model PREDICTED them" : "");
    gt_copy_clean(objective, sizeof(objective), recording->objective);
    if (*objective)
        fprintf(cli->log,
                "the recording's objective is \"%s\"; here the times that it recorded decide\n",
                objective);
    if (recording->described > recording->points)
        fprintf(cli->log,
                "%zu of the %zu points of the space are not in the recording: they are left out\n",
                recording->described - recording->points, recording->described);
}

/* Says where everything lies, if asked to, and, if nothing is measured, that times are no
 * measurements. */
static void announce(const struct gt_session *session, const struct gt_session_options *options,
                     const char *database)
{
    const struct gt_cli *cli = session->cli;
    const struct gt_device *device = &session->evaluator->device;
    const int cc = device->cc;
    char text[GT_STAND_IN_MAX];

    if (cli->verbose)
        fprintf(cli->log, "data folder %s, cache %s, database %s\n", cli->data_dir,
                session->cache_dir, database);
    if (cli->quiet)
        return;
    if (!session->measures && session->no_gpu.code)
        fprintf(cli->log, "no sm_%d GPU here (%s)\n", cc, session->no_gpu.msg);
    if (!session->measures)
        fprintf(cli->log, "all times are PREDICTED for sm_%d by a model; nothing is measured\n",
                cc);
    if (gt_stand_in(text, device, session->asked))
        fprintf(cli->log,
                "%s; --device predict:FILE.json takes a profile of your own (configs/README.md)\n",
                text);
    if (session->replays)
        announce_recording(cli, session->evaluator->recording, options->device + strlen(REPLAY));
}

int gt_session_open(struct gt_session *session, struct gt_cli *cli,
                    const struct gt_session_options *options, struct gt_err *err)
{
    const char *database = NULL, *name = NULL;
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
        rc = gt_gpu_parse(options->arch, &cc, &name, err);
    GT_STEP(rc, load_kernels(session, options, err));
    GT_STEP(rc, load_shipped(session, err));
    GT_STEP(rc, gt_session_cache(&session->cache_dir, err));
    GT_STEP(rc, gt_cache_limit(&limit, err));
    if (!rc && options->lines)
        rc = gt_progress_new(&session->progress, options->lines, false, false, err);
    else if (!rc && !cli->quiet)
        rc = gt_progress_stderr(&session->progress, cli->color, err);
    if (!rc) {
        /* A cache that this user must not use does not stop the run: the cubins are then kept for
         * this run only. */
        gt_cache_trim(session->cache_dir, limit, NULL, NULL);
        rc = open_evaluator(session, options, cc, name, err);
        gt_progress_clear(session->progress);
    }
    GT_STEP(rc, check_timing(session, options, err));
    if (!rc && session->replays)
        rc = take_recorded_kernel(session, err);
    GT_STEP(rc, gt_session_database(&database, cli, options->db, !options->stored, err));
    if (!rc && !session->replays)
        note_no_home(cli, session->cache_dir, database);
    if (!rc && options->stored && access(database, F_OK) != 0)
        rc = gt_err_set(err, GT_EDB, "%s: cannot read the database: %s", database, strerror(errno));
    GT_STEP(rc, open_store(&session->store, database,
                           options->shared ? GT_STORE_SHARED : GT_STORE_WRITE, cli->signals, err));
    if (!rc && !session->replays)
        rc = gt_store_apply_calibration(session->store, &session->evaluator->device, err);
    if (!rc && !session->replays)
        rc = gt_store_mark_device(session->store, &session->evaluator->device, err);
    if (rc) {
        gt_session_close(session);
        return rc;
    }
    name_operands(session, options);
    session->measures = session->evaluator->ops->provenance != GT_PREDICTED;
    announce(session, options, database);
    return GT_OK;
}

/* Whether the kernel is the recording's, which the evaluator owns. */
static bool has_recorded_kernel(const struct gt_session *session)
{
    return session->evaluator && session->evaluator->recording && session->kernels.count == 1 &&
           session->kernels.kernel[0] == session->evaluator->recording->kernel;
}

void gt_session_close(struct gt_session *session)
{
    gt_progress_free(session->progress);
    gt_scouts_free(session->foresight);
    if (has_recorded_kernel(session))
        session->kernels.count = 0;
    gt_evaluator_close(session->evaluator);
    gt_store_close(session->store);
    gt_rankings_release(&session->rankings);
    gt_kernels_release(&session->kernels);
    gt_kernels_release(&session->whole);
    gt_table_release(&session->shipped);
    free(session->cache_dir);
    memset(session, 0, sizeof(*session));
}

/* cmd_session.c - what the commands that tune share; see cmd_session.h. */
#include "console/passwords.h"
#include "session/cmd_session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cache.h"
#include "base/err.h"
#include "console/gpu_names.h"
#include "sweep/progress.h"
#include "exchange/recording.h"

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

/* Says what follows from a home that is not known. */
static void note_no_home(const struct gt_cli *cli, const char *cache, const char *database)
{
    if (!cli->quiet && !strcmp(cache, NO_CACHE))
        fprintf(cli->log,
                "HOME is not set: compiled kernels are kept for this run only (GEMMTUNE_CACHE may "
                "name a folder); the database is %s\n",
                database);
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

/* Loads the kernels and leaves of them what the options ask for. */
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
        rc = gt_session_narrow(session, options, err);
    GT_STEP(rc, gt_session_check_names(session, options, err));
    return rc;
}

/* Says what a recording's times are, and what of it is not taken as its tuner took it. */
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

/* Says where everything lies, if asked to, and that times are no measurements where that is so. */
static void announce(const struct gt_session *session, const struct gt_session_options *options,
                     const char *database)
{
    const struct gt_cli *cli = session->cli;
    const struct gt_device *device = &session->evaluator->device;
    const int cc = device->cc;

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
    if (device->profile && session->asked && !gt_device_called(device->name, session->asked))
        fprintf(cli->log,
                "there is no profile of %.60s: it is computed as %s, with %d SMs and %.0f GB/s; "
                "--device predict:FILE.json takes one of your own (configs/README.md)\n",
                session->asked, device->name, device->sms, device->memory_gbps);
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
    session->vendor = !options->kernels || gt_session_names_vendor(options->kernels);
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
        rc = gt_session_open_evaluator(session, options, cc, name, err);
        gt_progress_clear(session->progress);
    }
    GT_STEP(rc, gt_session_check_timing(session, options, err));
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
    gt_session_name_operands(session, options);
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

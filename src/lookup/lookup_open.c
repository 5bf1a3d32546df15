/* lookup_open.c - gt_open and gt_close: reads the options and opens the kernels and tables, or only
 * a deployed file.  Part of the look-up: see lookup_impl.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"

/* Loads a table that the caller named; a folder without tables is an error, because the name must
 * be wrong. */
static int load_named(struct gt *gt, const char *path, struct gt_err *err)
{
    size_t before = gt->sources.table.rows;
    int code = gt_table_load(&gt->sources.table, path, err);
    struct stat status;

    if (!code && gt->sources.table.rows == before && stat(path, &status) == 0 &&
        S_ISDIR(status.st_mode))
        return gt_err_set(err, GT_EDB, "%s: no table (*.csv, *.db) with a row in this folder",
                          path);
    return code;
}

/* Loads the default table.  A missing or empty table is skipped; a table that another user could
 * have written is an error. */
static int load_default(struct gt *gt, struct gt_err *err)
{
    char *path = NULL;
    struct stat status;
    int code = gt_default_database(&path, false, err);

    if (!code && stat(path, &status) == 0 && status.st_size > 0)
        code = gt_table_load(&gt->sources.table, path, err);
    free(path);
    return code == GT_ENOTFOUND ? GT_OK : code;
}

/* Loads the user's table, then the system's. */
static int load_tables(struct gt *gt, struct gt_err *err)
{
    const struct gt_options *options = &gt->options;
    char *shipped = NULL;
    int code = GT_OK;

    if (!options->user_db)
        code = load_default(gt, err);
    else if (*options->user_db)
        code = load_named(gt, options->user_db, err);
    gt->sources.user_rows = gt->sources.table.rows;
    if (code)
        return code;
    if (options->system_db)
        return load_named(gt, options->system_db, err);
    if (asprintf(&shipped, "%s/db/shipped", gt->data_dir) < 0)
        return gt_err_nomem(err);
    if (access(shipped, F_OK) == 0)
        code = gt_table_load(&gt->sources.table, shipped, err);
    free(shipped);
    return code;
}

/* The kernels of the data folder and of the program's own folders. */
static int load_kernels(struct gt *gt, struct gt_err *err)
{
    const char *const *dir = gt->options.kernels_dirs;
    int code = gt_kernels_load(&gt->sources.kernels, gt->data_dir, NULL, NULL, err);

    for (; !code && dir && *dir; dir++)
        code =
            gt_kernels_add(&gt->sources.kernels, gt->data_dir, *dir, gt->options.include_dirs, err);
    return code;
}

/* Copies the options as far as the program knows them, because the program may be older or newer
 * than the library.  A newer program may not set members that this library does not know. */
static int copy_options(struct gt *gt, const struct gt_options *options, struct gt_err *err)
{
    const size_t ours = sizeof(*options), size = options->size ? options->size : ours;

    for (size_t i = ours; i < size; i++)
        if (((const unsigned char *)options)[i] != 0)
            return gt_err_set(err, GT_ERANGE,
                              "gt_options has %zu bytes, and a member beyond the %zu that this "
                              "library knows is set",
                              size, ours);
    memcpy(&gt->options, options, size < ours ? size : ours);
    if (gt->options.plan_mode != GT_PLAN_ANSWER && gt->options.plan_mode != GT_PLAN_MEASURE)
        return gt_err_set(err, GT_ERANGE,
                          "gt_options.plan_mode is %d; it must be GT_PLAN_ANSWER (0) or "
                          "GT_PLAN_MEASURE (1)",
                          gt->options.plan_mode);
    return GT_OK;
}

/* Opens the user's table if it is a deployed file: then it is the only source. */
static int open_deployed(struct gt *gt, struct gt_err *err)
{
    const struct gt_options *options = &gt->options;
    char *path = NULL;
    int code = GT_OK;

    if (options->user_db)
        path = strdup(options->user_db);
    else if (gt_default_database(&path, false, NULL)) /* load_default says why, if it matters */
        return GT_OK;
    if (!path)
        return gt_err_nomem(err);
    if (gt_deployed_is(path)) {
        if ((options->system_db && *options->system_db) ||
            (options->kernels_dirs && *options->kernels_dirs))
            code = gt_err_set(err, GT_ERANGE,
                              "%s is a deployed file, which answers alone: no further tables "
                              "(system_db) and kernels (kernels_dirs) can be opened with it",
                              path);
        else
            code = gt_deployed_open(&gt->deployed, path, err);
    }
    free(path);
    return code;
}

/* Replaces *text, which is the caller's, by a copy; *own: the copy, to be freed. */
static int own_text(char **own, const char **text, struct gt_err *err)
{
    if (*text && !(*own = strdup(*text)))
        return gt_err_nomem(err);
    *text = *own;
    return GT_OK;
}

/* Copies the options that are used after the call.  The paths of tables and log are used only in
 * it. */
static int take_options(struct gt *gt, const struct gt_options *options, struct gt_err *err)
{
    int code = options ? copy_options(gt, options, err) : GT_OK;

    GT_STEP(code, open_deployed(gt, err));
    GT_STEP(code, own_text(&gt->cubin_dir, &gt->options.cubin_dir, err));
    if (code)
        return code;
    if (gt->deployed)
        gt->options.data_dir = NULL;
    else if (gt->options.data_dir)
        code = own_text(&gt->data_dir, &gt->options.data_dir, err);
    else
        code = gt_data_dir(&gt->data_dir, err);
    gt->options.data_dir = gt->data_dir;
    return code;
}

static int open_log(struct gt *gt, struct gt_err *err)
{
    const char *path = gt->options.log_path;

    if (!path)
        return GT_OK;
    gt->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (gt->log < 0)
        return gt_err_set(err, GT_EIO, "%s: cannot open the log of untuned problems: %s", path,
                          strerror(errno));
    return GT_OK;
}

static int open_sources(struct gt *gt, struct gt_err *err)
{
    struct gt_sources *sources = &gt->sources;
    int code = load_kernels(gt, err);

    GT_STEP(code, load_tables(gt, err));
    return code ? code
                : gt_rankings_add(&sources->rankings, &sources->kernels, sources->table.ranking,
                                  sources->table.rankings, err);
}

/* ---- fork() beside look-ups ----
 *
 * The locks of all open tables are held over the fork.  A child has only the thread that forked: if
 * another thread held a lock or was counted as a reader at that moment, the child would wait for it
 * for ever. */

/* All open tables: fork() concerns the whole process, and its handlers have no argument. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    struct gt *first;
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_ONCE_INIT, NULL};

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
    for (struct gt *gt = all.first; gt; gt = gt->next)
        pthread_mutex_lock(&gt->answers.lock);
}

static void after_fork(void)
{
    for (struct gt *gt = all.first; gt; gt = gt->next)
        pthread_mutex_unlock(&gt->answers.lock);
    pthread_mutex_unlock(&all.lock);
}

static void after_fork_in_child(void)
{
    for (struct gt *gt = all.first; gt; gt = gt->next)
        gt_answers_forget_readers(&gt->answers);
    after_fork();
}

static void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* From here until unguard_fork, fork() waits until no thread changes the answers and times that gt
 * remembers, so that the child does not inherit a lock that nobody will open. */
static void guard_fork(struct gt *gt)
{
    pthread_once(&all.once, register_handlers);
    pthread_mutex_lock(&all.lock);
    gt->next = all.first;
    all.first = gt;
    pthread_mutex_unlock(&all.lock);
}

static void unguard_fork(struct gt *gt)
{
    pthread_mutex_lock(&all.lock);
    for (struct gt **at = &all.first; *at; at = &(*at)->next)
        if (*at == gt) {
            *at = gt->next;
            break;
        }
    pthread_mutex_unlock(&all.lock);
}

/* ---- open and close ---- */

int gt_open(struct gt **gt, const struct gt_options *options, struct gt_err *err)
{
    struct gt *opened = calloc(1, sizeof(*opened));
    struct gt_err inner;
    int code;

    *gt = NULL;
    if (!opened)
        return gt_err_nomem(err);
    opened->log = -1;
    pthread_mutex_init(&opened->timed.lock, NULL); /* never fails: no attributes */
    code = gt_answers_begin(&opened->answers) ? take_options(opened, options, &inner)
                                              : gt_err_nomem(&inner);
    if (!code && !opened->deployed)
        code = open_sources(opened, &inner);
    GT_STEP(code, open_log(opened, &inner));
    opened->options.user_db = opened->options.system_db = opened->options.log_path = NULL;
    opened->options.kernels_dirs = NULL;
    opened->options.include_dirs = NULL;
    guard_fork(opened);
    if (code)
        gt_close(opened);
    else
        *gt = opened;
    return gt_err_pass(err, &inner, code);
}

void gt_close(struct gt *gt)
{
    if (!gt)
        return;
    unguard_fork(gt);
    gt_answers_end(&gt->answers);
    pthread_mutex_destroy(&gt->timed.lock);
    free(gt->timed.item);
    if (gt->log >= 0)
        close(gt->log);
    gt_table_release(&gt->sources.table);
    gt_rankings_release(&gt->sources.rankings);
    gt_kernels_release(&gt->sources.kernels);
    gt_deployed_close(gt->deployed);
    free(gt->data_dir);
    free(gt->cubin_dir);
    free(gt);
}

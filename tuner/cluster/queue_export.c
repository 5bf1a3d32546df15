/* queue_export.c - the results of a queue as a database: `tune queue export`, and the copy that a
 * command reads if its --db is an address; see queue.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cluster/queue.h"

/* Merges one result, through a file. */
static int merge_bytes(struct gt_queue_merged *merged, struct gt_store *store, const char *path,
                       const void *bytes, size_t size, struct gt_err *err)
{
    FILE *file = fopen(path, "wbe");
    bool written = file && fwrite(bytes, 1, size, file) == size;
    int64_t rows, refused = 0, dated = 0;
    int rc;

    if (file && fclose(file))
        written = false;
    rc = written ? gt_store_merge(store, path, &rows, err)
                 : gt_err_set(err, GT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (!rc)
        gt_store_merge_doubts(store, &refused, &dated);
    merged->rows += refused;
    merged->dated += dated;
    unlink(path);
    return rc;
}

/* Stores the kernels, if there is a data folder: a command that needs none has none. */
static int put_kernels(const struct gt_cli *cli, struct gt_store *store, struct gt_err *err)
{
    struct gt_kernels kernels = {0};
    int64_t id;
    int rc;

    if (!cli->data_dir)
        return GT_OK;
    rc = gt_kernels_load(&kernels, cli->data_dir, NULL, NULL, err);

    for (size_t i = 0; i < kernels.count && !rc; i++)
        rc = gt_store_kernel(store, kernels.kernel[i], &id, err);
    gt_kernels_release(&kernels);
    return rc;
}

/* Reads the results one by one, in the order of their jobs and workers. */
struct results {
    char job[24], *worker; /* of the last result that was read */
};

/* Reads the next result; *found false: there is no further result. */
static int next_result(struct results *results, struct gt_pq *pq, bool *found, struct gt_err *err)
{
    static const char next[] =
        "SELECT job::text AS id, worker, database FROM gemmtune.result"
        " WHERE (job, worker) > ($1::bigint, $2) ORDER BY job, worker LIMIT 1";
    const struct gt_pq_value value[] = {{.data = results->job}, {.data = results->worker}};
    int rc = gt_pq_run(pq, next, value, 2, true, err);

    *found = !rc && gt_pq_rows(pq) > 0;
    if (!*found)
        return rc;
    snprintf(results->job, sizeof(results->job), "%s", gt_pq_get(pq, 0, 0, NULL));
    free(results->worker); /* the whole name: a cut name would find the same row again */
    results->worker = strdup(gt_pq_get(pq, 0, 1, NULL));
    return results->worker ? GT_OK : gt_err_nomem(err);
}

/* Whether the worker's name ends with the mark. */
static bool is_marked(const char *worker, const char *mark)
{
    const size_t length = strlen(worker);

    return length >= strlen(mark) && strcmp(worker + length - strlen(mark), mark) == 0;
}

/* Counts a result that was merged. */
static void count(struct gt_queue_merged *merged, const char *worker)
{
    const bool predicted = is_marked(worker, GT_QUEUE_PREDICTS);

    merged->merged++;
    merged->predicted += predicted;
    merged->unmarked += !predicted && !is_marked(worker, GT_QUEUE_MEASURES);
}

/* Merges all results, each through the file at `path`. */
static int merge_all(struct gt_queue_merged *merged, struct gt_pq *pq, struct gt_store *store,
                     const char *path, struct gt_err *err)
{
    struct results results = {.job = "-1", .worker = strdup("")};
    bool found;
    int rc = results.worker ? GT_OK : gt_err_nomem(err);

    while (!rc && !(rc = next_result(&results, pq, &found, err)) && found) {
        struct gt_err why;
        size_t size;
        const char *bytes = gt_pq_get(pq, 0, 2, &size);

        rc = merge_bytes(merged, store, path, bytes, size, &why);
        if (!rc) {
            count(merged, results.worker);
        } else if (rc != GT_EDB && rc != GT_ESTALE) {
            gt_err_pass(err, &why, rc);
        } else { /* most likely the result's fault */
            if (!merged->refused++)
                gt_err_set(&merged->why, rc, "job %s of worker %.96s: %s", results.job,
                           results.worker, why.msg);
            rc = GT_OK;
        }
    }
    free(results.worker);
    return rc;
}

int gt_queue_export(struct gt_cli *cli, struct gt_pq *pq, struct gt_store *store,
                    struct gt_queue_merged *merged, struct gt_err *err)
{
    struct gt_scratch folder = {0};
    char path[PATH_MAX];
    int rc = put_kernels(cli, store, err);

    *merged = (struct gt_queue_merged){0};
    GT_STEP(rc, gt_scratch_make(&folder, err));
    if (rc)
        return rc;
    snprintf(path, sizeof(path), "%s/result.db", folder.path);
    rc = merge_all(merged, pq, store, path, err);
    gt_scratch_remove(&folder);
    return rc;
}

int gt_queue_refused(const struct gt_queue_merged *merged, struct gt_err *err)
{
    return merged->refused
               ? gt_err_set(err, merged->why.code,
                            "%lld of %lld results cannot be merged; the first: %s",
                            (long long)merged->refused,
                            (long long)(merged->refused + merged->merged), merged->why.msg)
               : GT_OK;
}

/* ---- the copy that a command reads ---- */

static int fill(struct gt_queue_copy *copy, struct gt_cli *cli, struct gt_pq *pq,
                struct gt_err *err)
{
    struct gt_store *store = NULL;
    struct gt_queue_merged merged;
    struct gt_err why;
    int rc = gt_scratch_make(&copy->folder, err);

    if (rc)
        return rc;
    snprintf(copy->file, sizeof(copy->file), "%s/queue.db", copy->folder.path);
    copy->path = copy->file;
    rc = gt_session_store(&store, copy->path, GT_STORE_WRITE, err);
    GT_STEP(rc, gt_queue_export(cli, pq, store, &merged, err));
    gt_store_close(store);
    if (!rc)
        gt_session_doubts(cli, copy->address, merged.rows, merged.dated);
    if (!rc && gt_queue_refused(&merged, &why)) { /* the other results are read */
        gt_copy_clean(why.msg, sizeof(why.msg), why.msg);
        fprintf(cli->log, "%s: %s\n", copy->address, why.msg);
    }
    if (!rc && !merged.merged)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "%s: no worker has uploaded a result yet",
                        copy->address);
    return rc;
}

int gt_queue_copy_open(struct gt_queue_copy *copy, struct gt_cli *cli, const char *named,
                       struct gt_err *err)
{
    struct gt_pq *pq = NULL;
    int rc;

    *copy = (struct gt_queue_copy){.path = NULL};
    if (!gt_pq_is_address(named))
        return gt_session_database(&copy->path, cli, named, false, err);
    copy->address = named;
    rc = gt_pq_open(&pq, named, NULL, err);
    GT_STEP(rc, gt_queue_check(pq, err));
    GT_STEP(rc, fill(copy, cli, pq, err));
    gt_pq_close(pq);
    if (rc)
        gt_queue_copy_close(copy, err);
    return rc;
}

/* Replaces the copy's name in the sentence by the address. */
static void rename_in(struct gt_err *err, const char *name, const char *address)
{
    const char *at = strstr(err->msg, name);
    const struct gt_err was = *err;

    if (at)
        snprintf(err->msg, sizeof(err->msg), "%.*s%s%s", (int)(at - err->msg), was.msg, address,
                 was.msg + (at - err->msg) + strlen(name));
}

void gt_queue_copy_close(struct gt_queue_copy *copy, struct gt_err *err)
{
    if (!copy->folder.path)
        return;
    if (err && err->code)
        rename_in(err, copy->file, copy->address);
    gt_scratch_remove(&copy->folder);
    *copy = (struct gt_queue_copy){.path = NULL};
}

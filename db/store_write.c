/* store_write.c - opens a tuning database for its one writer: the lock, the schema, what a database
 * that is written to must not keep.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* For the other processes' transactions, each of some milliseconds. */
#define SHARED_WAIT_MS 60000

/* What is written to has no digest until it is closed (gt_store_seal). */
static int drop_digest(struct gt_store *store, struct gt_err *err)
{
    int64_t entries;
    int code = gt_store_integer(store->db, store->path, "SELECT count(*) FROM meta", &entries, err);

    if (code || entries == 0)
        return code;
    code = gt_store_begin(store, err);
    return code ? code : gt_store_finish(store, gt_store_exec(store, "DELETE FROM meta", err), err);
}

/* A clock that was ahead must not make an older text of a kernel look newer than every text that is
 * used from now on. */
static int cap_clock(struct gt_store *store, struct gt_err *err)
{
    sqlite3_stmt *statement = NULL;
    int64_t ahead;
    char *query = sqlite3_mprintf("SELECT count(*) FROM kernel WHERE seen >= %lld",
                                  (long long)gt_clock_date_ms());
    int code =
        query ? gt_store_integer(store->db, store->path, query, &ahead, err) : gt_err_nomem(err);

    sqlite3_free(query);
    if (code || ahead == 0)
        return code;
    code = gt_store_prepare(store, &statement,
                            "UPDATE kernel SET seen = max(?1 - 1, 0) WHERE seen >= ?1", err);
    GT_STEP(code, gt_store_begin(store, err));
    if (!code) {
        sqlite3_bind_int64(statement, 1, gt_clock_date_ms());
        code =
            gt_store_finish(store, gt_store_run(store, statement, "correct its dates", err), err);
    }
    sqlite3_finalize(statement);
    return code;
}

/* Before the writer closes: the digest.  Without memory or disk there is none. */
static void seal(struct gt_store *store)
{
    if (gt_store_check_moved(store, NULL) == GT_OK)
        gt_store_seal(store, NULL);
}

/* Remembers which log is ours, and who may read the database: another one may take its place. */
static void note_file(struct gt_store *store)
{
    char *log = sqlite3_mprintf("%s-wal", store->path);
    struct stat status;

    store->mode = stat(store->path, &status) == 0 ? status.st_mode & 0666 : 0600;
    if (log && stat(log, &status) == 0) {
        store->log_device = (uint64_t)status.st_dev;
        store->log_inode = (uint64_t)status.st_ino;
    }
    sqlite3_free(log);
}

/* The lock lies beside the database itself, so that two links to it are not two databases. */
static int name_lock(struct gt_store *store, struct gt_err *err)
{
    struct stat status;
    bool linked = lstat(store->path, &status) == 0 && S_ISLNK(status.st_mode);
    char *target = linked ? realpath(store->path, NULL) : NULL; /* NULL: to nothing yet */
    int code = GT_OK;

    if (asprintf(&store->lock_path, "%s-lock", target ? target : store->path) < 0) {
        store->lock_path = NULL;
        code = gt_err_nomem(err);
    }
    GT_STEP(code, gt_store_check_place(target ? target : store->path, err));
    free(target);
    return code;
}

static int open_write(struct gt_store *store, struct gt_err *err)
{
    int64_t version = 0;
    bool fresh = false;
    int code = name_lock(store, err);

    GT_STEP(code, gt_store_lock(store, err));
    GT_STEP(code, gt_store_open_file(store, true, err));
    GT_STEP(code, gt_store_check(store, &fresh, &version, err));
    if (!code && !fresh)
        code = gt_store_check_pages(store, err);
    GT_STEP(code, gt_store_set_up(store, true, err));
    GT_STEP(code, gt_store_migrate(store->db, store->path, err));
    GT_STEP(code, gt_store_check_schema(store->db, store->path, err));
    GT_STEP(code, gt_store_check_digest(store, err)); /* of what a writer before this one closed */
    GT_STEP(code, cap_clock(store, err));
    GT_STEP(code, drop_digest(store, err));
    if (!code) {
        note_file(store);
        store->seal = seal;
    }
    return code;
}

/* Beside the holder of the lock, who has brought the schema forward and checked the file. */
static int open_shared(struct gt_store *store, struct gt_err *err)
{
    int code;

    store->shared = true;
    code = gt_store_open_file(store, true, err);
    GT_STEP(code, gt_store_set_up(store, true, err));
    if (code)
        return code;
    sqlite3_busy_timeout(store->db, SHARED_WAIT_MS);
    code = gt_store_check_schema(store->db, store->path, err);
    if (!code)
        note_file(store);
    return code;
}

int gt_store_open(struct gt_store **store, const char *path, enum gt_store_mode mode,
                  struct gt_err *err)
{
    return gt_store_open_watched(store, path, mode, NULL, err);
}

int gt_store_open_watched(struct gt_store **store, const char *path, enum gt_store_mode mode,
                          const volatile sig_atomic_t *signals, struct gt_err *err)
{
    struct gt_store *opened;
    int code;

    *store = NULL;
    code = mode == GT_STORE_READ ? gt_store_open_read(&opened, path, err)
                                 : gt_store_new(&opened, path, err);
    if (code)
        return code;
    opened->signals = signals;
    code = mode == GT_STORE_READ     ? gt_store_check_digest(opened, err)
           : mode == GT_STORE_SHARED ? open_shared(opened, err)
                                     : open_write(opened, err);
    opened->signals = NULL;
    if (code) {
        gt_store_close(opened);
        return code;
    }
    sqlite3_progress_handler(opened->db, 0, NULL, NULL);
    *store = opened;
    return GT_OK;
}

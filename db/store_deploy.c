/* store_deploy.c - writes copies of a database to hand out, with a digest of their winners
 * (store_rows.c).  Part of the store: see store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scratch.h"
#include "db/store_internal.h"

/* Gives the copy its digest, and a rollback journal instead of a write-ahead log, so that it can be
 * opened where nothing may be written. */
static int finish_copy(struct gt_store *copy, struct gt_err *err)
{
    int code = gt_store_exec(copy,
                             "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;"
                             "DELETE FROM meta", /* notes of jobs belong to the database itself */
                             err);

    return code ? code : gt_store_seal(copy, err);
}

int gt_store_seal(struct gt_store *store, struct gt_err *err)
{
    char hex[GT_DIGEST_HEX] = "";
    int code = gt_store_begin(store, err);

    if (code)
        return code;
    code = gt_store_winners_digest(store, hex, err);
    GT_STEP(code, gt_store_exec(store, "DELETE FROM meta WHERE key = 'digest'", err));
    GT_STEP(code, gt_store_do(store, "write the digest",
                              "INSERT OR REPLACE INTO meta (key, value) VALUES ('winners', ?1)",
                              err, "%s", hex));
    return gt_store_finish(store, code, err);
}

/* Copies the database into a new file at `path`. */
static int copy_into(struct gt_store *store, const char *path, struct gt_err *err)
{
    char *uri = gt_store_uri(path, "mode=rwc");
    int code;

    if (!uri)
        return gt_err_nomem(err);
    code = gt_store_exec(store, "PRAGMA query_only=OFF", err); /* it forbids copying */
    if (!code) {
        struct gt_query q = gt_query(store, "write the copy", "VACUUM INTO ?1", err);

        gt_store_bind(q.s, 1, uri);
        if (!q.code && sqlite3_step(q.s) != SQLITE_DONE)
            q.code = gt_store_fail(store->db, path, q.doing, err);
        code = gt_query_end(&q);
    }
    if (store->lock < 0) /* the store is a reader's */
        sqlite3_exec(store->db, "PRAGMA query_only=ON", NULL, NULL, NULL);
    free(uri);
    return code;
}

/* Opens the copy at `path` and gives it what a copy has. */
static int open_and_finish(const char *path, struct gt_err *err)
{
    struct gt_store *copy;
    int code = gt_store_new(&copy, path, err);

    if (code)
        return code;
    code = gt_store_open_file(copy, true, err);
    GT_STEP(code, finish_copy(copy, err));
    gt_store_close(copy);
    return code;
}

/* The copy appears under its name only when it is whole.  Until then it lies in a folder that only
 * this user may write, so that nobody else can put a link into it. */
int gt_store_export(struct gt_store *store, const char *path, struct gt_err *err)
{
    struct gt_scratch folder = {0};
    char *copy = NULL;
    int code;

    if (access(path, F_OK) == 0)
        return gt_err_set(err, GT_EIO, "%s exists already; name another file or remove it", path);
    code = gt_scratch_make_beside(&folder, path, err);
    if (!code && asprintf(&copy, "%s/copy", folder.path) < 0) {
        copy = NULL;
        code = gt_err_nomem(err);
    }
    GT_STEP(code, copy_into(store, copy, err));
    GT_STEP(code, open_and_finish(copy, err));
    if (!code && link(copy, path) != 0)
        code = gt_err_set(err, GT_EIO, "%s: cannot create: %s", path, strerror(errno));
    gt_scratch_remove(&folder);
    free(copy);
    return code;
}

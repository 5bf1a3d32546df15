/* store_deploy.c - copies of a database to hand out, sealed with a digest (store_winners.c).  Part
 * of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the finished copy: rollback journal, so that it opens where nothing may be written; and the
 * digest. */
static int finish_copy(struct gt_store *copy, struct gt_err *err)
{
    int code = gt_store_exec(copy, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL", err);

    return code ? code : gt_store_seal(copy, err);
}

int gt_store_seal(struct gt_store *store, struct gt_err *err)
{
    char hex[GT_DIGEST_HEX];
    sqlite3_stmt *statement = NULL;
    int code = gt_store_begin(store, err);

    if (code)
        return code;
    code = gt_store_winners_digest(store, hex, err);
    if (!code)
        code = gt_store_exec(store, "DELETE FROM meta WHERE key = 'digest'", err);
    if (!code)
        code = gt_store_prepare(store, &statement,
                                "INSERT OR REPLACE INTO meta (key, value) VALUES ('winners', ?1)",
                                err);
    if (!code) {
        gt_store_bind(statement, 1, hex);
        code = gt_store_run(store, statement, "write the digest", err);
    }
    sqlite3_finalize(statement);
    return gt_store_finish(store, code, err);
}

int gt_store_copy(struct gt_store *store, const char *path, struct gt_err *err)
{
    sqlite3_stmt *statement = NULL;
    char *uri = gt_store_uri(path, "mode=rwc");
    int code;

    if (!uri)
        return gt_err_nomem(err);
    code = gt_store_prepare(store, &statement, "VACUUM INTO ?1", err);
    if (!code) {
        gt_store_bind(statement, 1, uri);
        if (sqlite3_step(statement) != SQLITE_DONE)
            code = gt_store_fail(store->db, path, "write the copy", err);
    }
    sqlite3_finalize(statement);
    free(uri);
    return code;
}

/* The copy appears under its name only when it is whole. */
int gt_store_export(struct gt_store *store, const char *path, struct gt_err *err)
{
    struct gt_store copy = {.lock = -1};
    char *part = NULL;
    int code;

    if (access(path, F_OK) == 0)
        return gt_err_set(err, GT_EIO, "%s exists already; name another file or remove it", path);
    if (asprintf(&part, "%s.%ld.part", path, (long)getpid()) < 0)
        return gt_err_nomem(err);
    code = gt_store_copy(store, part, err);
    if (!code) {
        copy.path = part;
        if (sqlite3_open_v2(part, &copy.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK)
            code = gt_store_fail(copy.db, part, "open the copy", err);
        else
            code = finish_copy(&copy, err);
        for (size_t i = 0; i < GT_STORE_STATEMENTS; i++)
            sqlite3_finalize(copy.statement[i]);
        sqlite3_close_v2(copy.db);
    }
    if (!code && link(part, path) != 0)
        code = gt_err_set(err, GT_EIO, "%s: cannot create: %s", path, strerror(errno));
    unlink(part);
    free(part);
    return code;
}

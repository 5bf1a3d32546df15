/* store_statement.c - prepares, binds and runs one SQL statement, with a sentence when it fails.
 * Readers and the writer share it.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"

int gt_store_prepare(struct gt_store *store, sqlite3_stmt **statement, const char *sql,
                     struct gt_err *err)
{
    if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) !=
        SQLITE_OK)
        return gt_store_fail(store->db, store->path, "use it", err);
    return GT_OK;
}

int gt_store_exec(struct gt_store *store, const char *sql, struct gt_err *err)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return gt_store_fail(store->db, store->path, "write to it", err);
    return GT_OK;
}

int gt_store_run(struct gt_store *store, sqlite3_stmt *statement, const char *doing,
                 struct gt_err *err)
{
    int result, code = GT_OK;

    do
        result = sqlite3_step(statement);
    while (result == SQLITE_ROW);
    if (result != SQLITE_DONE)
        code = gt_store_fail(store->db, store->path, doing, err);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

void gt_store_bind(sqlite3_stmt *statement, int i, const char *value)
{
    /* A copy would need memory, and a parameter that stays NULL for want of it finds no row. */
    sqlite3_bind_text(statement, i, value ? value : "", -1, SQLITE_STATIC);
}

const char *gt_store_text(sqlite3_stmt *statement, int i)
{
    const char *value = (const char *)sqlite3_column_text(statement, i);

    return value ? value : "";
}

int gt_store_whole(struct gt_store *store, struct gt_err *err)
{
    return sqlite3_errcode(store->db) == SQLITE_NOMEM ? gt_err_nomem(err) : GT_OK;
}

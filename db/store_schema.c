/* store_schema.c - whether a database has the tables and views of this program and nothing else.
 *
 * Views and triggers are code that runs when rows are read or written, and a database may come from
 * anybody.  So its schema must be, letter by letter, the one that this program would have made.
 * Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"

#include <string.h>

/* What the schema says, one object a line.  Statistics of ANALYZE are no code and do not count. */
static int describe(sqlite3 *db, const char *path, struct gt_strbuf *text, struct gt_err *err)
{
    sqlite3_stmt *statement;
    int result;

    if (sqlite3_prepare_v2(db,
                           "SELECT type || ' ' || name || ' ' || coalesce(sql, '')"
                           " FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'"
                           " ORDER BY type, name",
                           -1, &statement, NULL) != SQLITE_OK)
        return gt_store_fail(db, path, "read it", err);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        gt_strbuf_addf(text, "%s\n", gt_store_text(statement, 0));
    if (sqlite3_errcode(db) == SQLITE_NOMEM)
        result = SQLITE_NOMEM;
    sqlite3_finalize(statement);
    if (result == SQLITE_NOMEM)
        return gt_err_nomem(err);
    return result == SQLITE_DONE ? gt_strbuf_check(text, err)
                                 : gt_store_fail(db, path, "read it", err);
}

int gt_store_foreign(const char *path, struct gt_err *err)
{
    return gt_err_set(err, GT_EDB,
                      "%s does not have the tables of a gemmtune database; it was changed or "
                      "damaged",
                      path);
}

int gt_store_check_schema(sqlite3 *db, const char *path, struct gt_err *err)
{
    struct gt_strbuf theirs = GT_STRBUF_INIT, ours = GT_STRBUF_INIT;
    sqlite3 *model;
    int code = gt_store_model(&model, err);

    GT_STEP(code, describe(model, "the schema", &ours, err));
    GT_STEP(code, describe(db, path, &theirs, err));
    if (!code && strcmp(ours.text, theirs.text) != 0)
        code = gt_store_foreign(path, err);
    sqlite3_close_v2(model);
    gt_strbuf_release(&ours);
    gt_strbuf_release(&theirs);
    return code;
}

int gt_store_check_triggers(struct gt_store *store, struct gt_err *err)
{
    int64_t triggers;
    int code = gt_store_integer(store->db, store->path,
                                "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'",
                                &triggers, err);

    if (!code && triggers)
        code = gt_err_set(err, GT_EDB,
                          "%s does not have the tables of a gemmtune database: it has triggers; it "
                          "was changed or damaged",
                          store->path);
    return code;
}

/* store_statement.c - prepares, binds and runs one SQL statement, with a sentence when it fails.
 * Readers and the writer share it.  Part of the store: see store.h. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "db/store_internal.h"

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

struct gt_query gt_query(struct gt_store *store, const char *doing, const char *sql,
                         struct gt_err *err)
{
    struct gt_query query = {.store = store, .doing = doing, .err = err};

    query.code = gt_store_prepare(store, &query.s, sql, err);
    return query;
}

struct gt_query gt_query_built(struct gt_store *store, const char *doing, struct gt_strbuf *sql,
                               struct gt_err *err)
{
    struct gt_query query = {.code = gt_strbuf_check(sql, err)};

    if (!query.code)
        query = gt_query(store, doing, sql->text, err);
    gt_strbuf_release(sql);
    return query;
}

bool gt_query_row(struct gt_query *query)
{
    const int result = query->code ? SQLITE_DONE : sqlite3_step(query->s);

    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        query->code = gt_store_fail(query->store->db, query->store->path, query->doing, query->err);
        sqlite3_reset(query->s);
    }
    return result == SQLITE_ROW;
}

void gt_query_run(struct gt_query *query)
{
    GT_STEP(query->code, gt_store_run(query->store, query->s, query->doing, query->err));
}

int gt_query_end(struct gt_query *query)
{
    sqlite3_finalize(query->s);
    query->s = NULL;
    return query->code;
}

void gt_query_bind_list(struct gt_query *q, int first, const char *format, va_list values)
{
    for (const char *at = format; (at = strchr(at, '%')); first++) {
        const char kind = *++at;

        if (kind == 's')
            gt_store_bind(q->s, first, va_arg(values, const char *));
        else if (kind == 'd')
            sqlite3_bind_int(q->s, first, va_arg(values, int));
        else if (kind == 'l')
            sqlite3_bind_int64(q->s, first, va_arg(values, int64_t));
        else
            sqlite3_bind_double(q->s, first, va_arg(values, double));
    }
}

void gt_query_bind(struct gt_query *q, int first, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    gt_query_bind_list(q, first, format, values);
    va_end(values);
}

int gt_store_do(struct gt_store *store, const char *doing, const char *sql, struct gt_err *err,
                const char *format, ...)
{
    struct gt_query q = gt_query(store, doing, sql, err);
    va_list values;

    va_start(values, format);
    gt_query_bind_list(&q, 1, format, values);
    va_end(values);
    gt_query_run(&q);
    return gt_query_end(&q);
}

/* A number that may be stored and read.  A half-measured value of a failed trial becomes 0. */
static double bounded(enum gt_field_kind kind, double value)
{
    if (kind == GT_FIELD_TIME)
        return value >= GT_LEAST_US && value < GT_MOST_US ? value : 0;
    return isfinite(value) ? fabs(value) : DBL_MAX;
}

void gt_store_bind_fields(sqlite3_stmt *s, int first, const struct gt_field *field, size_t fields,
                          const void *record)
{
    for (const struct gt_field *f = field; f < field + fields; f++) {
        const void *from = (const char *)record + f->offset;
        const int i = first + (int)(f - field);

        if (f->kind == GT_FIELD_TEXT)
            gt_store_bind(s, i, *(const char *const *)from);
        else if (f->kind == GT_FIELD_INT64)
            sqlite3_bind_int64(s, i, *(const int64_t *)from);
        else if (f->kind == GT_FIELD_INT)
            sqlite3_bind_int(s, i, *(const int *)from);
        else if (f->kind == GT_FIELD_BOOL)
            sqlite3_bind_int(s, i, *(const bool *)from);
        else
            sqlite3_bind_double(s, i, bounded(f->kind, *(const double *)from));
    }
}

void gt_store_read_fields(sqlite3_stmt *s, int first, const struct gt_field *field, size_t fields,
                          void *record)
{
    for (const struct gt_field *f = field; f < field + fields; f++) {
        void *to = (char *)record + f->offset;
        const int i = first + (int)(f - field);

        if (f->kind == GT_FIELD_TEXT)
            *(const char **)to = gt_store_text(s, i);
        else if (f->kind == GT_FIELD_INT64)
            *(int64_t *)to = sqlite3_column_int64(s, i);
        else if (f->kind == GT_FIELD_INT)
            *(int *)to = sqlite3_column_int(s, i);
        else if (f->kind == GT_FIELD_BOOL)
            *(bool *)to = sqlite3_column_int(s, i);
        else
            *(double *)to = bounded(f->kind, sqlite3_column_double(s, i));
    }
}

void gt_store_bind(sqlite3_stmt *statement, int i, const char *value)
{
    /* The text is not copied: a copy needs memory, and a parameter that stays NULL for want of
     * memory finds no row. */
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

/* ---- sentences for SQLite's errors, with advice ---- */

/* The system's words for an error of the disk; "" if errno is that of another call, because SQLite
 * asks for errno late. */
static const char *disk_error(int number)
{
    static const int of_disks[] = {EIO, ENXIO, ENODEV, EROFS, EFBIG, ENOSPC, EDQUOT, ESTALE};

    for (size_t i = 0; i < sizeof(of_disks) / sizeof(*of_disks); i++)
        if (number == of_disks[i])
            return strerror(number);
    return "";
}

int gt_store_fail(sqlite3 *db, const char *path, const char *doing, struct gt_err *err)
{
    const char *why = sqlite3_errmsg(db);
    const int system_errno = sqlite3_system_errno(db);
    const char *disk = disk_error(system_errno);

    switch (sqlite3_errcode(db)) {
    case SQLITE_NOMEM:
        return gt_err_nomem(err);
    case SQLITE_INTERRUPT:
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted while %s was read", path);
    case SQLITE_FULL:
        return gt_err_set(err, GT_EDB,
                          "%s: cannot %s: the disk is full; free some space and run the same "
                          "command again, finished trials are kept",
                          path, doing);
    case SQLITE_READONLY:
        return gt_err_set(err, GT_EDB,
                          "%s: cannot %s: the database or its folder is read-only; name a writable "
                          "one with --db",
                          path, doing);
    case SQLITE_NOTADB:
        return gt_err_set(err, GT_ESTALE, "%s is not a SQLite database; name another with --db",
                          path);
    case SQLITE_CORRUPT:
        return gt_err_set(err, GT_EDB,
                          "%s is damaged (%s); move it away, or save what can be read with "
                          "`sqlite3 FILE .recover`",
                          path, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gt_err_set(err, GT_EBUSY,
                          "%s: cannot %s: another program holds the database; close it and run "
                          "again",
                          path, doing);
    case SQLITE_CANTOPEN:
        if (system_errno)
            return gt_err_set(err, GT_EDB, "%s: cannot %s: %s", path, doing,
                              strerror(system_errno));
        return gt_err_set(err, GT_EDB,
                          "%s: cannot %s: the file cannot be opened or created; check that its "
                          "folder exists and who may write there",
                          path, doing);
    case SQLITE_IOERR:
        return gt_err_set(err, GT_EDB,
                          "%s: cannot %s: %s%s%s%s; check the disk and run the same command again",
                          path, doing, why, *disk ? " (" : "", disk, *disk ? ")" : "");
    default:
        return gt_err_set(err, GT_EDB, "%s: cannot %s: %s", path, doing, why);
    }
}

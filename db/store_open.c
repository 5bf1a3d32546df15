/* store_open.c - opens a tuning database: whose file it is, whether it is sound, its settings; the
 * sentences for what SQLite reports.  Part of the store: see store.h. */
#include "store_internal.h"

#include "../src/err.h"
#include "db/migrate_1_sql.h"
#include "db/migrate_2_sql.h"
#include "db/migrate_3_sql.h"
#include "db/migrate_4_sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Steps from older schemas. */
static const struct gt_store_migration migration[] = {{1, gt_migrate_1_sql},
                                                      {2, gt_migrate_2_sql},
                                                      {3, gt_migrate_3_sql},
                                                      {4, gt_migrate_4_sql},
                                                      {0, NULL}};

int gt_store_fail(sqlite3 *db, const char *path, const char *doing, struct gt_err *err)
{
    const char *why = sqlite3_errmsg(db);

    switch (sqlite3_errcode(db)) {
    case SQLITE_NOMEM:
        return gt_err_nomem(err);
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
        return gt_err_set(err, GT_EDB,
                          "%s: cannot %s: the file cannot be opened or created; check that its "
                          "folder exists and who may write there",
                          path, doing);
    case SQLITE_IOERR:
        return gt_err_set(err, GT_EDB,
                          "%s: cannot %s: %s (%s); check the disk and run the same command again",
                          path, doing, why, strerror(sqlite3_system_errno(db)));
    default:
        return gt_err_set(err, GT_EDB, "%s: cannot %s: %s", path, doing, why);
    }
}

int gt_store_integer(sqlite3 *db, const char *path, const char *sql, int64_t *value,
                     struct gt_err *err)
{
    sqlite3_stmt *statement;
    int code = GT_OK;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return gt_store_fail(db, path, "read it", err);
    if (sqlite3_step(statement) == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    else
        code = gt_store_fail(db, path, "read it", err);
    sqlite3_finalize(statement);
    return code;
}

static int set_up(struct gt_store *store, bool write, struct gt_err *err)
{
    sqlite3 *db = store->db;

    sqlite3_extended_result_codes(db, 0);
    sqlite3_busy_timeout(db, 10000);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (sqlite3_exec(db, "PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0",
                     NULL, NULL, NULL) != SQLITE_OK)
        return gt_store_fail(db, store->path, "open it", err);
    if (write && sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", NULL, NULL,
                              NULL) != SQLITE_OK)
        return gt_store_fail(db, store->path, "open it for writing", err);
    return GT_OK;
}

/* Whose file it is.  *version: of its schema; *fresh: it is empty and may become ours. */
static int check_identity(struct gt_store *store, int64_t *version, bool *fresh, struct gt_err *err)
{
    int64_t application, objects;
    int code = gt_store_integer(store->db, store->path, "PRAGMA application_id", &application, err);

    if (!code)
        code = gt_store_integer(store->db, store->path, "PRAGMA user_version", version, err);
    if (!code)
        code = gt_store_integer(store->db, store->path, "SELECT count(*) FROM sqlite_schema",
                                &objects, err);
    if (code)
        return code;
    *fresh = application == 0 && *version == 0 && objects == 0;
    if (*fresh)
        return GT_OK;
    if (application != GT_STORE_APPLICATION)
        return gt_err_set(
            err, GT_ESTALE,
            "%s is another program's database, not gemmtune's; name another with --db",
            store->path);
    if (*version > GT_STORE_VERSION)
        return gt_err_set(err, GT_ESTALE,
                          "%s was written by a newer gemmtune (schema version %lld, this program "
                          "knows %d); update gemmtune or name another database with --db",
                          store->path, (long long)*version, GT_STORE_VERSION);
    return GT_OK;
}

static int check_soundness(struct gt_store *store, struct gt_err *err)
{
    sqlite3_stmt *statement = NULL;
    const char *verdict;
    int code = gt_store_prepare(store, &statement, "PRAGMA quick_check(1)", err);

    if (code)
        return code;
    if (sqlite3_step(statement) != SQLITE_ROW) {
        code = gt_store_fail(store->db, store->path, "check it", err);
    } else {
        verdict = (const char *)sqlite3_column_text(statement, 0);
        if (!verdict || strcmp(verdict, "ok") != 0)
            code = gt_err_set(err, GT_EDB,
                              "%s is damaged (%s); move it away, or save what can be read with "
                              "`sqlite3 FILE .recover`",
                              store->path, verdict ? verdict : "unreadable");
    }
    sqlite3_finalize(statement);
    return code;
}

char *gt_store_uri(const char *path, const char *query)
{
    struct gt_strbuf uri = GT_STRBUF_INIT;

    gt_strbuf_add(&uri, *path == '/' ? "file:" : "file:./");
    for (; *path; path++)
        if (strchr("%?#", *path))
            gt_strbuf_addf(&uri, "%%%02X", (unsigned)(unsigned char)*path);
        else
            gt_strbuf_add_char(&uri, *path);
    gt_strbuf_addf(&uri, "?%s", query);
    return gt_strbuf_detach(&uri);
}

/* A WAL database in a folder that may not be written opens only as immutable, which is right as
 * long as nobody has a log beside it. */
static int open_immutable(struct gt_store *store, struct gt_err *err)
{
    char *uri, *log = sqlite3_mprintf("%s-wal", store->path);
    bool logged = log && access(log, F_OK) == 0;
    int result;

    sqlite3_free(log);
    if (logged)
        return gt_store_fail(store->db, store->path, "read it", err);
    uri = gt_store_uri(store->path, "immutable=1");
    if (!uri)
        return gt_err_nomem(err);
    sqlite3_close_v2(store->db);
    store->db = NULL;
    store->immutable = true;
    result = sqlite3_open_v2(uri, &store->db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    return result == SQLITE_OK ? set_up(store, false, err)
                               : gt_store_fail(store->db, store->path, "open it", err);
}

static int open_file(struct gt_store *store, bool write, struct gt_err *err)
{
    int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    sqlite3_stmt *probe;
    char *name;
    int code, result;

    if (!write && access(store->path, R_OK) != 0)
        return gt_err_set(err, GT_EDB, "%s: cannot read the database: %s", store->path,
                          strerror(errno));
    /* "./" keeps SQLite from taking ":memory:" or "file:..." for more than a file's name. */
    name = sqlite3_mprintf("%s%s", *store->path == '/' ? "" : "./", store->path);
    if (!name)
        return gt_err_nomem(err);
    result = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    sqlite3_free(name);
    if (result != SQLITE_OK)
        return store->db ? gt_store_fail(store->db, store->path, "open it", err)
                         : gt_err_nomem(err);
    if (write && sqlite3_db_readonly(store->db, "main") == 1)
        return gt_err_set(err, GT_EDB, "%s is read-only; name a writable database with --db",
                          store->path);
    code = set_up(store, false, err);
    if (code || write)
        return code;
    result = sqlite3_prepare_v2(store->db, "SELECT count(*) FROM sqlite_schema", -1, &probe, NULL);
    if (result == SQLITE_OK && sqlite3_step(probe) != SQLITE_ROW)
        result = sqlite3_errcode(store->db);
    sqlite3_finalize(probe);
    return result == SQLITE_CANTOPEN || result == SQLITE_READONLY ? open_immutable(store, err)
                                                                  : GT_OK;
}

/* An exported copy that is written to is a live database again. */
static int drop_digest(struct gt_store *store, struct gt_err *err)
{
    int64_t entries;
    int code = gt_store_integer(store->db, store->path, "SELECT count(*) FROM meta", &entries, err);

    if (code || entries == 0)
        return code;
    code = gt_store_begin(store, err);
    return code ? code : gt_store_finish(store, gt_store_exec(store, "DELETE FROM meta", err), err);
}

/* An older database, which a reader must not change: it gets a copy in memory, and that is brought
 * forward. */
static int read_forwarded(struct gt_store *store, struct gt_err *err)
{
    sqlite3 *file = store->db;
    int code = GT_OK;

    store->db = NULL;
    if (sqlite3_open_v2(":memory:", &store->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        code = gt_err_nomem(err);
    if (!code)
        code = gt_store_fill(store->db, "main", file, store->path, err);
    sqlite3_close_v2(file);
    if (!code)
        code = set_up(store, false, err);
    if (!code)
        code = gt_store_migrate(store->db, store->path, migration, GT_STORE_VERSION, err);
    store->forwarded = !code;
    return code;
}

/* What follows once the file is open. */
static int check_and_prepare(struct gt_store *store, bool write, struct gt_err *err)
{
    int64_t version = 0;
    bool fresh = false;
    int code = check_identity(store, &version, &fresh, err);

    if (!code && fresh && !write)
        code =
            gt_err_set(err, GT_ESTALE, "%s is empty: nothing was tuned into it yet", store->path);
    if (!code && !fresh)
        code = check_soundness(store, err);
    if (!code && !write && version < GT_STORE_VERSION)
        code = read_forwarded(store, err);
    if (!code && write)
        code = set_up(store, true, err);
    if (!code && write)
        code = gt_store_migrate(store->db, store->path, migration, GT_STORE_VERSION, err);
    if (!code && write)
        code = drop_digest(store, err);
    return code;
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
    if (!code)
        code = gt_store_check_place(target ? target : store->path, err);
    free(target);
    return code;
}

/* SQLite would wait for ever on a pipe, and blame the disk for a folder. */
static int check_kind(const char *path, struct gt_err *err)
{
    struct stat status;

    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return GT_OK; /* what is not there is created, or reported where it is opened */
    return gt_err_set(err, GT_EDB, "%s is %s, not a database file; name another with --db", path,
                      S_ISDIR(status.st_mode) ? "a folder" : "a device or a pipe");
}

int gt_store_open(struct gt_store **store, const char *path, enum gt_store_mode mode,
                  struct gt_err *err)
{
    bool write = mode == GT_STORE_WRITE;
    struct gt_store *opened = calloc(1, sizeof(*opened));
    int code = GT_OK;

    *store = NULL;
    if (!opened)
        return gt_err_nomem(err);
    opened->lock = -1;
    opened->path = strdup(path);
    if (!opened->path)
        code = gt_err_nomem(err);
    if (!code)
        code = check_kind(path, err);
    if (!code && write)
        code = name_lock(opened, err);
    if (!code && write)
        code = gt_store_lock(opened, err);
    if (!code)
        code = open_file(opened, write, err);
    if (!code)
        code = check_and_prepare(opened, write, err);
    if (code)
        gt_store_close(opened);
    else
        *store = opened;
    return code;
}

void gt_store_close(struct gt_store *store)
{
    if (!store)
        return;
    if (store->db)
        gt_store_settle(store, NULL);
    for (size_t i = 0; i < GT_STORE_STATEMENTS; i++)
        sqlite3_finalize(store->statement[i]);
    sqlite3_close_v2(store->db);
    if (store->lock >= 0) {
        unlink(store->lock_path);
        close(store->lock);
    }
    free(store->lock_path);
    free(store->path);
    free(store);
}

/* store_open.c - opens a tuning database for reading: whose file it is, whether it is sound, its
 * settings.  Opening for writing: store_write.c. */
#include "db/store_internal.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int was_told_to_stop(void *context)
{
    const struct gt_store *store = context;

    return store->signals && *store->signals;
}

int gt_store_set_up(struct gt_store *store, bool write, struct gt_err *err)
{
    enum { OPCODES = 100000 }; /* of SQLite's machine: about a millisecond */
    sqlite3 *db = store->db;

    sqlite3_progress_handler(db, store->signals ? OPCODES : 0, was_told_to_stop, store);

    sqlite3_extended_result_codes(db, 0);
    sqlite3_busy_timeout(db, 10000);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
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

    GT_STEP(code, gt_store_integer(store->db, store->path, "PRAGMA user_version", version, err));
    GT_STEP(code, gt_store_integer(store->db, store->path, "SELECT count(*) FROM sqlite_schema",
                                   &objects, err));
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

/* The sentence for a verdict of quick_check.  A page that cannot be read is reported with SQLite's
 * result code: memory and disk are at fault then, not the database. */
static int refuse_unsound(const struct gt_store *store, const char *verdict, struct gt_err *err)
{
    const char *at = strstr(verdict, "error code=");
    const long result = at ? strtol(at + strlen("error code="), NULL, 10) & 0xff : 0;

    if (result == SQLITE_NOMEM)
        return gt_err_nomem(err);
    if (result == SQLITE_IOERR)
        return gt_err_set(err, GT_EDB,
                          "%s: cannot check it: the disk reports an error (%s); check the disk and "
                          "run the same command again",
                          store->path, verdict);
    return gt_err_set(err, GT_EDB,
                      "%s is damaged (%s); move it away, or save what can be read with "
                      "`sqlite3 FILE .recover`",
                      store->path, verdict);
}

/* One check; *sound says how it went where it could be made at all.  err holds the sentence if not
 * sound. */
static int check_pages(struct gt_store *store, bool *sound, struct gt_err *err)
{
    sqlite3_stmt *statement = NULL;
    const char *verdict;
    int code = gt_store_prepare(store, &statement, "PRAGMA quick_check(1)", err);

    *sound = false;
    if (code)
        return code;
    if (sqlite3_step(statement) != SQLITE_ROW) {
        code = gt_store_fail(store->db, store->path, "check it", err);
    } else {
        verdict = (const char *)sqlite3_column_text(statement, 0);
        *sound = verdict && strcmp(verdict, "ok") == 0;
        if (!*sound)
            code = verdict ? refuse_unsound(store, verdict, err) : gt_err_nomem(err);
    }
    sqlite3_finalize(statement);
    return code;
}

/* A page that could not be read once, for want of memory, looks like damage: what is damaged fails
 * a second check, too. */
int gt_store_check_pages(struct gt_store *store, struct gt_err *err)
{
    bool sound;
    int code = check_pages(store, &sound, NULL);

    return sound ? GT_OK : code == GT_ENOMEM ? gt_err_nomem(err) : check_pages(store, &sound, err);
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
    return result == SQLITE_OK ? gt_store_set_up(store, false, err)
                               : gt_store_fail(store->db, store->path, "open it", err);
}

/* A reader of a database without a log makes the log's files.  Only a connection with the right to
 * write removes them when it closes; query_only keeps it from writing anything else.  An empty log
 * is another reader's, which may close first.  Where something is in the log, because a writer is
 * there or was killed, a reader leaves it alone. */
static int reader_flags(const char *path)
{
    char *log = sqlite3_mprintf("%s-wal", path);
    struct stat status;
    const bool logged = !log || (stat(log, &status) == 0 && status.st_size > 0);

    sqlite3_free(log);
    return logged ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
}

int gt_store_open_file(struct gt_store *store, bool write, struct gt_err *err)
{
    const int create = store->shared ? 0 : SQLITE_OPEN_CREATE; /* the lock's holder made it */
    int flags = write ? SQLITE_OPEN_READWRITE | create : reader_flags(store->path);
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
    code = gt_store_set_up(store, false, err);
    if (!code && !write)
        code = gt_store_exec(store, "PRAGMA query_only=ON", err);
    if (code || write)
        return code;
    result = sqlite3_prepare_v2(store->db, "SELECT count(*) FROM sqlite_schema", -1, &probe, NULL);
    if (result == SQLITE_OK && sqlite3_step(probe) != SQLITE_ROW)
        result = sqlite3_errcode(store->db);
    sqlite3_finalize(probe);
    return result == SQLITE_CANTOPEN || result == SQLITE_READONLY ? open_immutable(store, err)
                                                                  : GT_OK;
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
    GT_STEP(code, gt_store_fill(store->db, "main", file, store->path, err));
    sqlite3_close_v2(file);
    GT_STEP(code, gt_store_set_up(store, false, err));
    GT_STEP(code, gt_store_migrate(store->db, store->path, err));
    store->forwarded = !code;
    return code;
}

int gt_store_check(struct gt_store *store, bool *fresh, int64_t *version, struct gt_err *err)
{
    int code = check_identity(store, version, fresh, err);

    if (code || *fresh)
        return code;
    code = gt_store_check_triggers(store, err);
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

int gt_store_new(struct gt_store **store, const char *path, struct gt_err *err)
{
    struct gt_store *made = calloc(1, sizeof(*made));
    int code = GT_OK;

    *store = NULL;
    if (!made)
        return gt_err_nomem(err);
    made->lock = -1;
    made->path = strdup(path);
    code = made->path ? check_kind(path, err) : gt_err_nomem(err);
    if (code)
        gt_store_close(made);
    else
        *store = made;
    return code;
}

int gt_store_open_unchecked(struct gt_store **store, const char *path, struct gt_err *err)
{
    struct gt_store *opened;
    int64_t version = 0;
    bool fresh = false;
    int code = gt_store_new(&opened, path, err);

    *store = NULL;
    if (code)
        return code;
    code = gt_store_open_file(opened, false, err);
    GT_STEP(code, gt_store_check(opened, &fresh, &version, err));
    if (!code && fresh)
        code = gt_err_set(err, GT_ESTALE, "%s is empty: nothing was tuned into it yet", path);
    if (!code && version < GT_STORE_VERSION) {
        code = gt_store_check_pages(opened, err);
        GT_STEP(code, read_forwarded(opened, err));
    }
    GT_STEP(code, gt_store_check_schema(opened->db, path, err));
    if (code)
        gt_store_close(opened);
    else
        *store = opened;
    return code;
}

int gt_store_open_read(struct gt_store **store, const char *path, struct gt_err *err)
{
    int code = gt_store_open_unchecked(store, path, err);

    if (!code && !(*store)->forwarded)
        code = gt_store_check_pages(*store, err);
    if (code) {
        gt_store_close(*store);
        *store = NULL;
    }
    return code;
}

void gt_store_drop_log(const struct gt_store *store)
{
    char *log = sqlite3_mprintf("%s-wal", store->path);
    char *index = sqlite3_mprintf("%s-shm", store->path);
    struct stat status;

    if (log && index && store->log_inode && stat(log, &status) == 0 &&
        (uint64_t)status.st_dev == store->log_device &&
        (uint64_t)status.st_ino == store->log_inode) {
        unlink(log);
        unlink(index);
    }
    sqlite3_free(log);
    sqlite3_free(index);
}

bool gt_store_lock_is_named(const struct gt_store *store, int lock)
{
    struct stat held, named;

    return fstat(lock, &held) == 0 && stat(store->lock_path, &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Writes what is pending, and ends every statement. */
static int end_writing(struct gt_store *store, struct gt_err *err)
{
    int code = GT_OK;

    if (store->db && !sqlite3_get_autocommit(store->db)) /* trials are pending */
        code = gt_store_exec(store, "COMMIT", err);
    if (code && !sqlite3_get_autocommit(store->db))
        gt_store_exec(store, "ROLLBACK", NULL);
    if (store->seal)
        store->seal(store);
    for (size_t i = 0; i < GT_STORE_STATEMENTS; i++) {
        sqlite3_finalize(store->statement[i]);
        store->statement[i] = NULL;
    }
    store->seal = NULL;
    return code;
}

static int close_file(struct gt_store *store, struct gt_err *err)
{
    const int code = end_writing(store, err);

    sqlite3_close_v2(store->db);
    store->db = NULL;
    if (store->moved)
        gt_store_drop_log(store);
    return code;
}

int gt_store_close_whole(struct gt_store *store, struct gt_err *err)
{
    int code = end_writing(store, err);

    if (!code && sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL))
        code = gt_store_fail(store->db, store->path, "write all of it", err);
    gt_store_close(store);
    return code;
}

int gt_store_hand_over(struct gt_store *store, struct gt_err *err)
{
    store->seal = NULL; /* what the others write would not match its digest */
    return close_file(store, err);
}

void gt_store_close(struct gt_store *store)
{
    if (!store)
        return;
    close_file(store, NULL);
    if (store->lock >= 0) {
        if (gt_store_lock_is_named(store, store->lock))
            unlink(store->lock_path);
        close(store->lock);
    }
    free(store->lock_path);
    free(store->saved);
    free(store->path);
    free(store);
}

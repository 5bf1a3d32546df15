/* store_open.c - opens and closes a tuning database: checks whose file it is, whether it is sound,
 * its settings and its schema; and notices that the file was moved.  Opening for writing:
 * store_writer.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "db/schema_sql.h"
#include "db/store_internal.h"

int gt_store_integer(struct gt_store *store, const char *sql, int64_t *value, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read it", sql, err);

    if (gt_query_row(&q))
        *value = sqlite3_column_int64(q.s, 0);
    return gt_query_end(&q);
}

static int was_told_to_stop(void *context)
{
    const struct gt_store *store = context;

    return store->signals && *store->signals;
}

int gt_store_set_up(struct gt_store *store, bool write, struct gt_err *err)
{
    enum { OPCODES = 100000 }; /* instructions of SQLite's machine: about a millisecond */
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

/* Checks whose file it is.  *version: its schema's; *fresh: the file is empty and may become
 * ours. */
static int check_identity(struct gt_store *store, int64_t *version, bool *fresh, struct gt_err *err)
{
    int64_t application, objects;
    int code = gt_store_integer(store, "PRAGMA application_id", &application, err);

    GT_STEP(code, gt_store_integer(store, "PRAGMA user_version", version, err));
    GT_STEP(code, gt_store_integer(store, "SELECT count(*) FROM sqlite_schema", &objects, err));
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
 * result code, because then memory or disk is at fault, not the database. */
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

/* Makes one check.  *sound: its result, if the check could be made at all; if not sound, err has
 * the sentence. */
static int check_pages(struct gt_store *store, bool *sound, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "check it", "PRAGMA quick_check(1)", err);

    *sound = false;
    if (gt_query_row(&q)) {
        const char *verdict = gt_store_text(q.s, 0);

        *sound = strcmp(verdict, "ok") == 0;
        if (!*sound)
            q.code = *verdict ? refuse_unsound(store, verdict, err) : gt_err_nomem(err);
    }
    return gt_query_end(&q);
}

/* A page that could not be read once, for want of memory, looks like damage: real damage fails a
 * second check, too. */
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

/* A WAL database in a folder that may not be written opens only as immutable, which is correct as
 * long as it has no log beside it. */
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
 * write removes them when it closes; query_only keeps that connection from writing anything else.
 * An empty log is another reader's, which may close first.  If the log is not empty, because a
 * writer is there or was killed, a reader leaves the log alone. */
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
    const int create = store->shared ? 0 : SQLITE_OPEN_CREATE; /* the lock's holder made the file */
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

int gt_store_open_memory(struct gt_store *store, struct gt_err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;

    store->db = NULL;
    return sqlite3_open_v2(":memory:", &store->db, flags | SQLITE_OPEN_URI, NULL) == SQLITE_OK
               ? gt_store_set_up(store, false, err)
               : gt_err_nomem(err);
}

/* A reader must not change an older database, so it copies the database to memory and brings the
 * copy forward. */
static int read_forwarded(struct gt_store *store, int version, struct gt_err *err)
{
    sqlite3 *file = store->db;
    int code = gt_store_open_memory(store, err);

    GT_STEP(code, gt_store_fill(store->db, "main", file, store->path, err));
    sqlite3_close_v2(file);
    GT_STEP(code, gt_store_migrate(store, err));
    store->forwarded = code ? 0 : version;
    return code;
}

static int check_triggers(struct gt_store *store, struct gt_err *err)
{
    int64_t triggers;
    int code = gt_store_integer(store, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'",
                                &triggers, err);

    if (!code && triggers)
        code = gt_err_set(err, GT_EDB,
                          "%s does not have the tables of a gemmtune database: it has triggers; it "
                          "was changed or damaged",
                          store->path);
    return code;
}

int gt_store_check(struct gt_store *store, bool *fresh, int64_t *version, struct gt_err *err)
{
    int code = check_identity(store, version, fresh, err);

    return code || *fresh ? code : check_triggers(store, err);
}

/* SQLite would wait for ever on a pipe, and blame the disk for a folder. */
static int check_kind(const char *path, struct gt_err *err)
{
    struct stat status;

    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return GT_OK; /* a missing file is created, or reported when it is opened */
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
        GT_STEP(code, read_forwarded(opened, (int)version, err));
    }
    GT_STEP(code, gt_store_check_schema(opened, err));
    if (code)
        gt_store_close(opened);
    else
        *store = opened;
    return code;
}

int gt_store_older(const struct gt_store *store)
{
    return store->forwarded;
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

/* SQLite leaves behind the log of a database that is not at its path any more.  The log must go,
 * because it would overwrite the database that took the place. */
static void drop_log(const struct gt_store *store)
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

/* Writes pending trials, ends every statement and closes the file. */
static int close_file(struct gt_store *store, struct gt_err *err)
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
    sqlite3_close_v2(store->db);
    store->db = NULL;
    if (store->moved)
        drop_log(store);
    return code;
}

int gt_store_hand_over(struct gt_store *store, struct gt_err *err)
{
    store->seal = NULL; /* the rows of the other processes would not match this store's digest */
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

/* ---- whether a database has the tables and views of this program and nothing else ----
 *
 * Views and triggers are code that runs when rows are read or written, and a database may come from
 * anybody.  So its schema must be, letter by letter, the one that this program would have made.
 */

/* Describes the schema, one object a line.  Statistics of ANALYZE are no code and are left out. */
static int describe(struct gt_store *store, struct gt_strbuf *text, struct gt_err *err)
{
    struct gt_query q =
        gt_query(store, "read it",
                 "SELECT type || ' ' || name || ' ' || coalesce(sql, '')"
                 " FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'"
                 " ORDER BY type, name",
                 err);

    while (gt_query_row(&q)) {
        gt_strbuf_addf(text, "%s\n", gt_store_text(q.s, 0));
        q.code = gt_store_whole(store, err);
    }
    GT_STEP(q.code, gt_strbuf_check(text, err));
    return gt_query_end(&q);
}

static int refuse_tables(const struct gt_store *store, struct gt_err *err)
{
    return gt_err_set(err, GT_EDB,
                      "%s does not have the tables of a gemmtune database; it was changed or "
                      "damaged",
                      store->path);
}

/* Opens a database in memory with the tables of db/schema.sql and no rows, to compare with.  Its
 * connection is to be closed, also after a failure. */
static int open_model(struct gt_store *model, struct gt_err *err)
{
    int code;

    *model = (struct gt_store){.path = (char *)"the schema", .lock = -1};
    code = gt_store_open_memory(model, err);
    return code ? code : gt_store_exec(model, gt_schema_sql, err);
}

int gt_store_check_schema(struct gt_store *store, struct gt_err *err)
{
    struct gt_strbuf theirs = GT_STRBUF_INIT, ours = GT_STRBUF_INIT;
    struct gt_store model;
    int code = open_model(&model, err);

    GT_STEP(code, describe(&model, &ours, err));
    GT_STEP(code, describe(store, &theirs, err));
    if (!code && strcmp(ours.text, theirs.text) != 0)
        code = refuse_tables(store, err);
    sqlite3_close_v2(model.db);
    gt_strbuf_release(&ours);
    gt_strbuf_release(&theirs);
    return code;
}

/* ---- giving a new database its schema and taking an older one forward ----
 *
 * There is only the present text of the schema, db/schema.sql, and one way to it from every earlier
 * version.  Every object of the schema that the database does not have letter by letter is made
 * anew, and a new table takes the rows of the table that it replaces.  A change of the schema
 * raises GT_STORE_VERSION.  If it adds a column, the list `given` has the value for older rows; a
 * generated column has its own. */

/* A name that no file has yet: "<path>-v6.backup", else with ".2", ".3"... behind it. */
static char *backup_name(const char *path, int version)
{
    char *name = sqlite3_mprintf("%s-v%d.backup", path, version);

    for (int i = 2; name && access(name, F_OK) == 0; i++) {
        sqlite3_free(name);
        name = sqlite3_mprintf("%s-v%d.backup.%d", path, version, i);
    }
    return name;
}

/* Copies the database into the new file `part`, which whoever may read the database may read, and
 * waits until the disk has it: VACUUM INTO does not. */
static int write_backup(struct gt_store *store, const char *part, struct gt_err *err)
{
    struct stat status;
    int fd, code = GT_OK;

    unlink(part);
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
              stat(store->path, &status) == 0 ? status.st_mode & 0666 : 0600);
    if (fd >= 0)
        code = gt_store_do(store, "make the backup before a migration", "VACUUM INTO ?1", err, "%s",
                           part);
    if (!code && (fd < 0 || fsync(fd) != 0))
        code = gt_err_set(err, GT_EDB, "%s: the backup before a migration cannot be written: %s",
                          part, strerror(errno));
    if (fd >= 0)
        close(fd);
    return code;
}

/* Makes a copy beside the database, which is kept because a migration cannot be undone.  The copy
 * gets its name only when it is whole; a part that a killed migration left is made anew.  *backup
 * is to be freed by sqlite3_free. */
static int back_up(struct gt_store *store, int version, char **backup, struct gt_err *err)
{
    char *part = sqlite3_mprintf("%s-v%d.part", store->path, version);
    int code = GT_OK;

    *backup = backup_name(store->path, version);
    if (!part || !*backup) {
        code = gt_err_nomem(err);
    } else {
        code = write_backup(store, part, err);
        if (!code && rename(part, *backup) != 0)
            code = gt_err_set(err, GT_EDB, "%s: cannot be renamed to %s: %s", part, *backup,
                              strerror(errno));
        if (code)
            unlink(part);
    }
    sqlite3_free(part);
    return code;
}

/* The first text of a query with the values ?1 and ?2, or *text is NULL; to be freed. */
static int ask(struct gt_store *store, const char *sql, const char *first, const char *second,
               char **text, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read it", sql, err);

    *text = NULL;
    gt_query_bind(&q, 1, "%s%s", first, second);
    if (gt_query_row(&q) && sqlite3_column_type(q.s, 0) != SQLITE_NULL) {
        *text = strdup(gt_store_text(q.s, 0));
        q.code = *text ? gt_store_whole(store, err) : gt_err_nomem(err);
    }
    return gt_query_end(&q);
}

/* The values of rows in columns that their version did not know, and the older columns that they
 * come from.  The query gives the statements that fill a table from the table that it replaces;
 * NULL if a column of either table has no counterpart, because then the database was not made by
 * this program. */
static const char fill_query[] =
    "WITH given(name, value) AS (VALUES"
    " ('provenance', 'CASE predicted WHEN 0 THEN ''measured'' ELSE ''predicted'' END'),"
    " ('timing', 'warm_l2'), ('algo', ''''''), ('untuned', ''''''), ('move_us', '0'),"
    " ('baseline_err_u', '0'), ('best_us', '0'), ('untuned_us', '0'), ('worse', '0')),"
    " used(name) AS (VALUES ('predicted'), ('warm_l2'))"
    " SELECT CASE WHEN count(*) = count(coalesce(o.name, g.value)) AND NOT EXISTS ("
    "SELECT 1 FROM pragma_table_xinfo('older') WHERE name NOT IN used"
    " AND name NOT IN (SELECT name FROM pragma_table_xinfo(?1))) THEN"
    " 'INSERT INTO ' || ?2 || ' (' || group_concat(n.name) || ') SELECT '"
    " || group_concat(coalesce(o.name, g.value)) || ' FROM older; DROP TABLE older' END"
    " FROM pragma_table_info(?1) AS n LEFT JOIN pragma_table_info('older') AS o USING (name)"
    " LEFT JOIN given AS g USING (name)";

/* Copies the rows of `older` to the table that takes its place. */
static int fill(struct gt_store *store, const char *table, struct gt_err *err)
{
    char *sql;
    int code = ask(store, fill_query, table, table, &sql, err);

    if (!code)
        code = sql ? gt_store_exec(store, sql, err) : refuse_tables(store, err);
    free(sql);
    return code;
}

/* Makes one object of the schema; type: "table", "index" or "view". */
static int bring(struct gt_store *store, const char *type, const char *name, const char *sql,
                 struct gt_err *err)
{
    const bool table = strcmp(type, "table") == 0;
    char *was, *away = NULL;
    int code = ask(store, "SELECT sql FROM sqlite_schema WHERE (type, name) = (?1, ?2)", type, name,
                   &was, err);

    if (!code && !(was && strcmp(was, sql) == 0)) {
        if (was) {
            away = sqlite3_mprintf(table ? "ALTER TABLE \"%w\" RENAME TO older" : "DROP %s \"%w\"",
                                   table ? name : type, name);
            code = away ? gt_store_exec(store, away, err) : gt_err_nomem(err);
        }
        GT_STEP(code, gt_store_exec(store, sql, err));
        if (was && table)
            GT_STEP(code, fill(store, name, err));
    }
    sqlite3_free(away);
    free(was);
    return code;
}

/* Makes every object that the database lacks, inside a transaction that the caller holds. */
static int bring_all(struct gt_store *store, struct gt_err *err)
{
    struct gt_store model;
    struct gt_query q = {.code = open_model(&model, err)};

    if (!q.code)
        q = gt_query(
            &model, "read it",
            "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid", err);
    while (gt_query_row(&q)) {
        const char *type = gt_store_text(q.s, 0), *name = gt_store_text(q.s, 1);
        const char *sql = gt_store_text(q.s, 2);

        q.code = gt_store_whole(&model, err);
        GT_STEP(q.code, bring(store, type, name, sql, err));
    }
    gt_query_end(&q);
    sqlite3_close_v2(model.db);
    return q.code;
}

/* Makes all changes and checks them, inside a transaction that the caller holds. */
static int change(struct gt_store *store, struct gt_err *err)
{
    char pragma[96];
    int64_t lost = 0;
    int code = bring_all(store, err);

    snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             GT_STORE_APPLICATION, GT_STORE_VERSION);
    GT_STEP(code, gt_store_exec(store, pragma, err));
    GT_STEP(code,
            gt_store_integer(store, "SELECT count(*) FROM pragma_foreign_key_check", &lost, err));
    if (!code && lost)
        code = gt_err_set(err, GT_EDB, "%s: the migration would lose what %lld rows refer to",
                          store->path, (long long)lost);
    return code ? code : gt_store_check_schema(store, err);
}

int gt_store_migrate(struct gt_store *store, struct gt_err *err)
{
    const char *file = sqlite3_db_filename(store->db, "main");
    char *backup = NULL;
    int64_t version;
    int code = gt_store_integer(store, "PRAGMA user_version", &version, err);

    if (code || version == GT_STORE_VERSION)
        return code;
    if (version != 0 && file && *file) /* NULL or "": in memory */
        code = back_up(store, (int)version, &backup, err);
    /* A table that is made anew is missing for a moment, so SQLite must not check or change the
     * references to it. */
    GT_STEP(code,
            gt_store_exec(store, "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON", err));
    GT_STEP(code, gt_store_exec(store, "BEGIN IMMEDIATE", err));
    GT_STEP(code, change(store, err));
    if (code && backup)
        unlink(backup); /* the database is unchanged, and the next attempt makes another backup */
    GT_STEP(code, gt_store_exec(store, "COMMIT", err));
    if (code && !sqlite3_get_autocommit(store->db))
        gt_store_exec(store, "ROLLBACK", NULL);
    GT_STEP(code,
            gt_store_exec(store, "PRAGMA foreign_keys=ON; PRAGMA legacy_alter_table=OFF", err));
    sqlite3_free(backup);
    return code;
}

int gt_store_fill(sqlite3 *to, const char *schema, sqlite3 *from, const char *path,
                  struct gt_err *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, schema, from, "main");
    int result = SQLITE_ERROR;

    if (backup) {
        sqlite3_backup_step(backup, -1);
        result = sqlite3_backup_finish(backup);
    }
    return result == SQLITE_OK ? GT_OK : gt_store_fail(to, path, "read it into memory", err);
}

/* ---- a database that was moved, removed or replaced while a sweep ran ----
 *
 * SQLite goes on writing to the open file, whatever is at the path.  Without this check a sweep
 * ended with success and left nothing behind, or its log overwrote the database that had taken the
 * place.  So the whole database is saved beside the path. */

static int save_into(sqlite3 *from, const char *name)
{
    sqlite3 *to = NULL;
    int code =
        sqlite3_open_v2(name, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK
            ? gt_store_fill(to, "main", from, name, NULL)
            : GT_EDB;

    sqlite3_close_v2(to);
    return code;
}

#define SAVED_TRIES 100 /* names that may be taken: x.db.saved, x.db.saved.2... */

/* Creates a new file, which may be read by whoever may read the database.  Returns its name,
 * malloc'ed; NULL after a failure. */
static char *create_beside(const struct gt_store *store, const char *path)
{
    char *name = NULL;

    for (int i = 1; i <= SAVED_TRIES; i++) {
        int file, length = i == 1 ? asprintf(&name, "%s.saved", path)
                                  : asprintf(&name, "%s.saved.%d", path, i);

        if (length < 0)
            return NULL;
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, store->mode);
        if (file >= 0) {
            close(file);
            return name;
        }
        free(name);
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

/* A new file beside the database, or in the current folder where its folder is gone. */
static char *create_saved(const struct gt_store *store)
{
    const char *slash = strrchr(store->path, '/');
    char *name = create_beside(store, store->path);

    return name || !slash ? name : create_beside(store, slash + 1);
}

/* The file to which all writers of a shared database save.  The writers note its name in the
 * database itself, which is the only thing that all of them still share.  The next writer that
 * opens the database removes the note. */
static char *agree(struct gt_store *store)
{
    struct gt_query q;
    char *name = NULL;

    if (gt_store_exec(store, "BEGIN IMMEDIATE", NULL))
        return create_saved(store);
    q = gt_query(store, "read it", "SELECT value FROM meta WHERE key = 'saved'", NULL);
    if (gt_query_row(&q))
        name = strdup(gt_store_text(q.s, 0));
    gt_query_end(&q);
    if (!name && (name = create_saved(store)))
        gt_store_do(store, "write to it", "INSERT INTO meta VALUES ('saved', ?1)", NULL, "%s",
                    name);
    if (gt_store_exec(store, "COMMIT", NULL))
        gt_store_exec(store, "ROLLBACK", NULL);
    return name;
}

/* Saves the whole database.  Several writers do so one after the other into one file, which then
 * also has the rows that the later writers have stored meanwhile. */
static char *save(struct gt_store *store)
{
    char *name = store->shared ? agree(store) : create_saved(store);
    const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;

    if (file >= 0)
        flock(file, LOCK_EX);
    if (name && save_into(store->db, name) != GT_OK && file >= 0 && fstat(file, &status) == 0 &&
        status.st_size == 0) {
        unlink(name);
        free(name);
        name = NULL;
    }
    if (file >= 0)
        close(file);
    return name;
}

int gt_store_check_moved(struct gt_store *store, struct gt_err *err)
{
    int moved = 0;

    if (store->lock < 0 && !store->shared) /* a reader */
        return GT_OK;
    if (!store->moved) {
        if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
            !moved)
            return GT_OK;
        store->moved = true;
        store->saved = save(store);
        if (store->shared) /* a shared writer's process may be killed before it closes the store */
            drop_log(store);
    }
    if (store->saved)
        return gt_err_set(err, GT_EDB,
                          "%s was moved, removed or replaced while it was in use; all that it held "
                          "is saved in %s",
                          store->path, store->saved);
    return gt_err_set(err, GT_EDB,
                      "%s was moved, removed or replaced while it was in use, and what it held "
                      "could not be saved beside it",
                      store->path);
}

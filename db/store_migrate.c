/* store_migrate.c - gives a new database its schema and takes an older one forward.
 *
 * There is one text of a schema, db/schema.sql, and one way to it from each earlier version: every
 * object of the schema that the database does not have letter by letter is made anew, and a table
 * takes the rows of the one that it replaces.  A change of the schema raises GT_STORE_VERSION; if
 * it adds a column, the list `given` says what older rows have in it.  Part of the store: see
 * store.h. */
#include "db/store_internal.h"

#include "base/err.h"
#include "db/schema_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gt_store_model(sqlite3 **model, struct gt_err *err)
{
    *model = NULL;
    if (sqlite3_open_v2(":memory:", model,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(*model, gt_schema_sql, NULL, NULL, NULL) != SQLITE_OK)
        return *model ? gt_store_fail(*model, "the schema", "compare", err) : gt_err_nomem(err);
    return GT_OK;
}

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
static int copy(sqlite3 *db, const char *path, const char *part, struct gt_err *err)
{
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", part);
    struct stat status;
    int fd, code = GT_OK;

    unlink(part);
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
              stat(path, &status) == 0 ? status.st_mode & 0666 : 0600);
    if (!sql)
        code = gt_err_nomem(err);
    else if (fd >= 0 && sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        code = gt_store_fail(db, path, "make the backup before a migration", err);
    else if (fd < 0 || fsync(fd) != 0)
        code = gt_err_set(err, GT_EDB, "%s: the backup before a migration cannot be written: %s",
                          part, strerror(errno));
    if (fd >= 0)
        close(fd);
    sqlite3_free(sql);
    return code;
}

/* A copy beside the database, kept: a migration cannot be undone.  It has its name only once it is
 * whole: what a killed migration left of one is made anew.  *backup is to be freed by
 * sqlite3_free. */
static int back_up(sqlite3 *db, const char *path, int version, char **backup, struct gt_err *err)
{
    char *part = sqlite3_mprintf("%s-v%d.part", path, version);
    int code = GT_OK;

    *backup = backup_name(path, version);
    if (!part || !*backup) {
        code = gt_err_nomem(err);
    } else {
        code = copy(db, path, part, err);
        if (!code && rename(part, *backup) != 0)
            code = gt_err_set(err, GT_EDB, "%s: cannot be renamed to %s: %s", part, *backup,
                              strerror(errno));
        if (code)
            unlink(part);
    }
    sqlite3_free(part);
    return code;
}

static int run(sqlite3 *db, const char *path, const char *sql, struct gt_err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return gt_store_fail(db, path, "create or migrate the tables", err);
    return GT_OK;
}

/* The first text of a query, or *text is NULL; to be freed by sqlite3_free, as `query` is here. */
static int ask(sqlite3 *db, const char *path, char *query, char **text, struct gt_err *err)
{
    sqlite3_stmt *s = NULL;
    int result = query ? sqlite3_prepare_v2(db, query, -1, &s, NULL) : SQLITE_NOMEM;

    *text = NULL;
    if (result == SQLITE_OK)
        result = sqlite3_step(s);
    if (result == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL) {
        const char *value = (const char *)sqlite3_column_text(s, 0); /* NULL: without memory */

        *text = value ? sqlite3_mprintf("%s", value) : NULL;
        result = *text ? SQLITE_DONE : SQLITE_NOMEM;
    }
    sqlite3_finalize(s);
    sqlite3_free(query);
    if (result == SQLITE_NOMEM)
        return gt_err_nomem(err);
    return result == SQLITE_ROW || result == SQLITE_DONE ? GT_OK
                                                         : gt_store_fail(db, path, "read it", err);
}

/* What rows have in columns that their version did not know, and the columns that these come from.
 * The query gives the statements that fill a table from the one that it replaces; NULL if a column
 * of either has no counterpart: the database was not made by this program. */
static const char fill_query[] =
    "WITH given(name, value) AS (VALUES"
    " ('provenance', 'CASE predicted WHEN 0 THEN ''measured'' ELSE ''predicted'' END'),"
    " ('timing', 'warm_l2'), ('algo', ''''''), ('untuned', ''''''), ('move_us', '0'),"
    " ('baseline_err_u', '0'), ('best_us', '0'), ('untuned_us', '0'), ('worse', '0')),"
    " used(name) AS (VALUES ('predicted'), ('warm_l2'))"
    " SELECT CASE WHEN count(*) = count(coalesce(o.name, g.value)) AND NOT EXISTS ("
    "SELECT 1 FROM pragma_table_xinfo('older') WHERE name NOT IN used"
    " AND name NOT IN (SELECT name FROM pragma_table_info(%Q))) THEN"
    " 'INSERT INTO ' || %Q || ' (' || group_concat(n.name) || ') SELECT '"
    " || group_concat(coalesce(o.name, g.value)) || ' FROM older; DROP TABLE older' END"
    " FROM pragma_table_info(%Q) AS n LEFT JOIN pragma_table_info('older') AS o USING (name)"
    " LEFT JOIN given AS g USING (name)";

/* The rows of `older` go to the table that takes its place. */
static int fill(sqlite3 *db, const char *path, const char *table, struct gt_err *err)
{
    char *sql;
    int code = ask(db, path, sqlite3_mprintf(fill_query, table, table, table), &sql, err);

    if (!code)
        code = sql ? run(db, path, sql, err) : gt_store_foreign(path, err);
    sqlite3_free(sql);
    return code;
}

/* One object of the schema; type: "table", "index" or "view". */
static int bring(sqlite3 *db, const char *path, const char *type, const char *name, const char *sql,
                 struct gt_err *err)
{
    const bool table = strcmp(type, "table") == 0;
    char *was, *away = NULL;
    int code = ask(
        db, path,
        sqlite3_mprintf("SELECT sql FROM sqlite_schema WHERE (type, name) = (%Q, %Q)", type, name),
        &was, err);

    if (!code && !(was && strcmp(was, sql) == 0)) {
        if (was) {
            away = sqlite3_mprintf(table ? "ALTER TABLE \"%w\" RENAME TO older" : "DROP %s \"%w\"",
                                   table ? name : type, name);
            code = away ? run(db, path, away, err) : gt_err_nomem(err);
        }
        GT_STEP(code, run(db, path, sql, err));
        if (was && table)
            GT_STEP(code, fill(db, path, name, err));
    }
    sqlite3_free(away);
    sqlite3_free(was);
    return code;
}

/* All that the schema has and the database has not, inside a transaction that the caller holds. */
static int bring_all(sqlite3 *db, const char *path, struct gt_err *err)
{
    sqlite3_stmt *s = NULL;
    sqlite3 *model;
    int result = SQLITE_OK, code = gt_store_model(&model, err);

    if (!code)
        result = sqlite3_prepare_v2(model,
                                    "SELECT type, name, sql FROM sqlite_schema"
                                    " WHERE sql IS NOT NULL ORDER BY rowid",
                                    -1, &s, NULL);
    while (!code && s && (result = sqlite3_step(s)) == SQLITE_ROW) {
        const char *type = gt_store_text(s, 0), *name = gt_store_text(s, 1);
        const char *sql = gt_store_text(s, 2);

        code = *type && *name && *sql ? bring(db, path, type, name, sql, err) : gt_err_nomem(err);
    }
    if (!code && result != SQLITE_DONE)
        code = gt_store_fail(model, "the schema", "read it", err);
    sqlite3_finalize(s);
    sqlite3_close_v2(model);
    return code;
}

/* Every row that another one refers to is still there. */
static int check_references(sqlite3 *db, const char *path, struct gt_err *err)
{
    int64_t lost;
    int code =
        gt_store_integer(db, path, "SELECT count(*) FROM pragma_foreign_key_check", &lost, err);

    if (!code && lost)
        code = gt_err_set(err, GT_EDB, "%s: the migration would lose what %lld rows refer to", path,
                          (long long)lost);
    return code;
}

/* All that changes, and what makes sure of it, inside a transaction that the caller holds. */
static int change(sqlite3 *db, const char *path, struct gt_err *err)
{
    char pragma[96];
    int code = bring_all(db, path, err);

    snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             GT_STORE_APPLICATION, GT_STORE_VERSION);
    GT_STEP(code, run(db, path, pragma, err));
    GT_STEP(code, check_references(db, path, err));
    return code ? code : gt_store_check_schema(db, path, err);
}

int gt_store_migrate(sqlite3 *db, const char *path, struct gt_err *err)
{
    const char *file = sqlite3_db_filename(db, "main");
    char *backup = NULL;
    int64_t version;
    int code = gt_store_integer(db, path, "PRAGMA user_version", &version, err);

    if (code || version == GT_STORE_VERSION)
        return code;
    if (version != 0 && file && *file) /* NULL or "": in memory */
        code = back_up(db, path, (int)version, &backup, err);
    /* A table that is made anew goes away for a moment, and what refers to it is left alone. */
    GT_STEP(code, run(db, path, "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON", err));
    GT_STEP(code, run(db, path, "BEGIN IMMEDIATE", err));
    GT_STEP(code, change(db, path, err));
    if (code && backup)
        unlink(backup); /* the database stays as it is, and the next attempt makes another one */
    GT_STEP(code, run(db, path, "COMMIT", err));
    if (code && !sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    GT_STEP(code, run(db, path, "PRAGMA foreign_keys=ON; PRAGMA legacy_alter_table=OFF", err));
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

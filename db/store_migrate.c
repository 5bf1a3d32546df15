/* store_migrate.c - gives a new database its schema and takes an older one forward.
 *
 * A change of db/schema.sql raises GT_STORE_VERSION and adds one row to the list in this file:
 * the statements that lead from the version before.  Views are not among them: each migration makes
 * all of them anew.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"
#include "db/migrate_1_sql.h"
#include "db/migrate_2_sql.h"
#include "db/migrate_3_sql.h"
#include "db/migrate_4_sql.h"
#include "db/migrate_5_sql.h"
#include "db/migrate_6_sql.h"
#include "db/migrate_7_sql.h"
#include "db/schema_sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Steps from older schemas. */
const struct gt_store_migration gt_store_migrations[] = {
    {1, gt_migrate_1_sql},
    {2, gt_migrate_2_sql},
    {3, gt_migrate_3_sql},
    {4, gt_migrate_4_sql},
    {5, gt_migrate_5_sql},
    {6, gt_migrate_6_sql},
    {7, gt_migrate_7_sql},
    {8, ""}, /* version 9 has another view `objective` */
    {0, NULL}};

const char *gt_store_schema(void)
{
    return gt_schema_sql;
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

/* A copy beside the database, kept: a migration cannot be undone.  It has its name only once it is
 * whole: what a killed migration left of one is made anew.  *backup is to be freed by
 * sqlite3_free. */
static int back_up(sqlite3 *db, const char *path, int version, char **backup, struct gt_err *err)
{
    char *part = sqlite3_mprintf("%s-v%d.part", path, version);
    char *sql = part ? sqlite3_mprintf("VACUUM INTO %Q", part) : NULL;
    int code = GT_OK;

    *backup = backup_name(path, version);
    if (!sql || !*backup) {
        code = gt_err_nomem(err);
    } else {
        unlink(part);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
            code = gt_store_fail(db, path, "make the backup before a migration", err);
        else if (rename(part, *backup) != 0)
            code = gt_err_set(err, GT_EDB, "%s: cannot be renamed to %s: %s", part, *backup,
                              strerror(errno));
        if (code)
            unlink(part);
    }
    sqlite3_free(sql);
    sqlite3_free(part);
    return code;
}

static int run(sqlite3 *db, const char *path, const char *sql, struct gt_err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return gt_store_fail(db, path, "create or migrate the tables", err);
    return GT_OK;
}

/* All steps from `version` on, inside a transaction that the caller holds. */
static int step(sqlite3 *db, const char *path, const struct gt_store_migration *list,
                int64_t version, int to, struct gt_err *err)
{
    char pragma[96];
    int code = GT_OK;

    if (version == 0) {
        code = run(db, path, gt_schema_sql, err);
        version = to;
    }
    for (; !code && list->sql && version < to; list++)
        if (list->from == version) {
            code = run(db, path, list->sql, err);
            version++;
        }
    if (!code && version != to)
        code = gt_err_set(err, GT_ESTALE, "%s: no way leads from schema version %d to %d", path,
                          (int)version, to);
    if (!code) {
        snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d",
                 GT_STORE_APPLICATION, to);
        code = run(db, path, pragma, err);
    }
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
static int change(sqlite3 *db, const char *path, const struct gt_store_migration *list,
                  int64_t version, int to, struct gt_err *err)
{
    int code = run(db, path,
                   "DROP VIEW IF EXISTS objective; DROP VIEW IF EXISTS winner;"
                   "DROP VIEW IF EXISTS line",
                   err);

    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL); /* for migrate_6.sql */
    GT_STEP(code, step(db, path, list, version, to, err));
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (!code && version && to == GT_STORE_VERSION) /* the views are made anew */
        code = run(db, path, strstr(gt_schema_sql, "CREATE VIEW"), err);
    GT_STEP(code, check_references(db, path, err));
    if (!code && to == GT_STORE_VERSION)
        code = gt_store_check_schema(db, path, err);
    return code;
}

int gt_store_migrate(sqlite3 *db, const char *path, const struct gt_store_migration *list, int to,
                     struct gt_err *err)
{
    const char *file = sqlite3_db_filename(db, "main");
    char *backup = NULL;
    int64_t version;
    int code = gt_store_integer(db, path, "PRAGMA user_version", &version, err);

    if (code || version == to)
        return code;
    if (version > 0 && file && *file) /* NULL or "": in memory */
        code = back_up(db, path, (int)version, &backup, err);
    /* A table that is made anew goes away for a moment, and what refers to it is left alone. */
    GT_STEP(code, run(db, path, "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON", err));
    GT_STEP(code, run(db, path, "BEGIN IMMEDIATE", err));
    GT_STEP(code, change(db, path, list, version, to, err));
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

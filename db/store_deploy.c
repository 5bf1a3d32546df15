/* store_deploy.c - writes copies of a database to hand out, with a digest of their winners
 * (store_rows.c).  Part of the store: see store.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
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

/* ---- the folder that a copy is written in ---- */

#define PART      ".part-" /* between the copy's name and six letters */
#define LETTERS   6
#define LEFT_OVER 3600 /* seconds after which no export writes there any more */

static const char *const part_files[] = {"copy", "copy-journal"};

static void remove_part(const char *folder)
{
    char *path = NULL;

    for (size_t i = 0; i < sizeof(part_files) / sizeof(part_files[0]); i++) {
        if (asprintf(&path, "%s/%s", folder, part_files[i]) < 0)
            return;
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

/* Removes the folders of exports to the same name that were killed. */
static void remove_left_overs(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(name);
    char *folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    DIR *entries = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    struct stat status;
    char *part = NULL;

    while (entries && (entry = readdir(entries))) {
        const char *rest = entry->d_name + length;

        if (strncmp(entry->d_name, name, length) != 0 || strncmp(rest, PART, strlen(PART)) != 0 ||
            strlen(rest) != strlen(PART) + LETTERS || asprintf(&part, "%s%s", path, rest) < 0)
            continue;
        if (!lstat(part, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
            time(NULL) - status.st_mtime > LEFT_OVER)
            remove_part(part);
        free(part);
    }
    if (entries)
        closedir(entries);
    free(folder);
}

/* Makes a folder beside `path` that only this user may write, so that nobody else can put a link
 * into it. */
static int make_part(char **folder, const char *path, struct gt_err *err)
{
    remove_left_overs(path);
    if (asprintf(folder, "%s" PART "XXXXXX", path) < 0)
        return gt_err_nomem(err);
    if (mkdtemp(*folder))
        return GT_OK;
    return gt_err_set(err, GT_EIO, "%s: cannot create a folder beside it: %s", path,
                      strerror(errno));
}

/* The copy appears under its name only when it is whole. */
int gt_store_export(struct gt_store *store, const char *path, struct gt_err *err)
{
    struct gt_store copy = {.lock = -1};
    char *folder = NULL, *part = NULL;
    int code;

    if (access(path, F_OK) == 0)
        return gt_err_set(err, GT_EIO, "%s exists already; name another file or remove it", path);
    code = make_part(&folder, path, err);
    if (code)
        goto out;
    if (asprintf(&part, "%s/%s", folder, part_files[0]) < 0)
        code = gt_err_nomem(err);
    else
        code = copy_into(store, part, err);
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
    remove_part(folder);
out:
    free(folder);
    free(part);
    return code;
}

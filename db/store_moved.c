/* store_moved.c - notices that the database of a running sweep was moved, removed or replaced, and
 * saves what was measured beside it.
 *
 * SQLite goes on writing to the file it has open, whatever is at the path.  Without this check a
 * sweep ended with success and left nothing behind, or its log overwrote the database that had
 * taken the place.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GT_SAVED_TRIES 100 /* names that may be taken: x.db.saved, x.db.saved.2... */

/* Creates a file that was not there before, which whoever may read the database may read; its name
 * is malloc'ed, NULL if that fails. */
static char *create(const struct gt_store *store, const char *path)
{
    char *name = NULL;

    for (int i = 1; i <= GT_SAVED_TRIES; i++) {
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

static int copy(sqlite3 *from, const char *name)
{
    sqlite3 *to = NULL;
    int code =
        sqlite3_open_v2(name, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK
            ? gt_store_fill(to, "main", from, name, NULL)
            : GT_EDB;

    sqlite3_close_v2(to);
    return code;
}

/* A new file beside the database, or in the current folder where its folder is gone. */
static char *create_saved(const struct gt_store *store)
{
    const char *slash = strrchr(store->path, '/');
    char *name = create(store, store->path);

    return name || !slash ? name : create(store, slash + 1);
}

/* The file that all writers of a shared database save to.  Which one it is they tell each other in
 * the database itself, the only thing that all of them still have; the next writer's opening
 * removes the note. */
static char *agree(const struct gt_store *store)
{
    sqlite3_stmt *note = NULL;
    char *name = NULL;

    if (sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return create_saved(store);
    if (sqlite3_prepare_v2(store->db, "SELECT value FROM meta WHERE key = 'saved'", -1, &note,
                           NULL) == SQLITE_OK &&
        sqlite3_step(note) == SQLITE_ROW)
        name = strdup(gt_store_text(note, 0));
    sqlite3_finalize(note);
    if (!name && (name = create_saved(store))) {
        char *sql = sqlite3_mprintf("INSERT INTO meta VALUES ('saved', %Q)", name);

        if (sql)
            sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        sqlite3_free(sql);
    }
    if (sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return name;
}

/* Saves everything.  Of several writers each does so, one after the other into one file: what a
 * later one has stored meanwhile is in it, too. */
static char *save(const struct gt_store *store)
{
    char *name = store->shared ? agree(store) : create_saved(store);
    const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;

    if (file >= 0)
        flock(file, LOCK_EX);
    if (name && copy(store->db, name) != GT_OK && file >= 0 && fstat(file, &status) == 0 &&
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
        if (store->shared) /* its process may be killed before it closes */
            gt_store_drop_log(store);
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

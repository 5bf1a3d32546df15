/* store_fail.c - the sentences for what SQLite reports, with what to do about it.  Part of the
 * store: see store_internal.h. */
#include "db/store_internal.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

/* What the system says of a disk; "" where errno is that of a call that had nothing to do with it,
 * as SQLite asks for it late. */
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

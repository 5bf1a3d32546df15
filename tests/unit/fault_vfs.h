/* fault_vfs.h - a SQLite VFS over the default one that fails on purpose.
 *
 * Operations (writes, syncs, truncations; for I/O errors reads too) are counted; at number `at`
 *   GT_FAULT_IO     that one fails;
 *   GT_FAULT_DEAD   every one from there on fails;
 *   GT_FAULT_FULL   every write from there on finds the disk full;
 *   GT_FAULT_CRASH  a random half of the 512-byte sectors written since their file's last sync are
 *                   lost, and the process ends: a power cut.
 * Limits: directory entries count as durable, sectors as atomic.  Syncs are counted, not made: what
 * would survive them is known here anyway. */
#ifndef GT_FAULT_VFS_H
#define GT_FAULT_VFS_H

#include "base/stats.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT_SECTOR 512
#define FAULT_EXIT   77 /* of a process that crashed as planned */

enum fault_kind { GT_FAULT_NONE, GT_FAULT_IO, GT_FAULT_DEAD, GT_FAULT_FULL, GT_FAULT_CRASH };

/* What a sector held when its file was last synced. */
struct fault_sector {
    struct fault_sector *next;
    sqlite3_int64 offset;
    unsigned char bytes[FAULT_SECTOR];
};

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct fault_sector *unsynced;
    struct fault_file *next; /* all that are open */
};

static struct {
    enum fault_kind kind;
    long at, count;
    int lying; /* 1: a disk that reports syncs it did not make */
    struct gt_random random;
    struct fault_file *open;
    sqlite3_vfs vfs, *real;
    sqlite3_io_methods methods;
} fault;

static void fault_plan(enum fault_kind kind, long at)
{
    fault.kind = kind;
    fault.at = at;
    fault.count = 0;
    fault.random.state = (uint64_t)at * 2654435761u;
}

static void fault_forget(struct fault_file *file)
{
    for (struct fault_sector *next; file->unsynced; file->unsynced = next) {
        next = file->unsynced->next;
        free(file->unsynced);
    }
}

static void fault_crash(void)
{
    for (struct fault_file *file = fault.open; file; file = file->next)
        for (struct fault_sector *s = file->unsynced; s; s = s->next)
            if (gt_random_below(&fault.random, 2))
                file->real->pMethods->xWrite(file->real, s->bytes, FAULT_SECTOR, s->offset);
    _exit(FAULT_EXIT);
}

/* Counts an operation; whether it is to fail. */
static int fault_due(int write)
{
    const int from_there_on = fault.kind == GT_FAULT_FULL || fault.kind == GT_FAULT_DEAD;

    if (fault.kind == GT_FAULT_NONE ||
        (!write && fault.kind != GT_FAULT_IO && fault.kind != GT_FAULT_DEAD))
        return 0;
    fault.count++;
    if (fault.kind == GT_FAULT_CRASH && fault.count == fault.at)
        fault_crash();
    return from_there_on ? fault.count >= fault.at
                         : fault.kind == GT_FAULT_IO && fault.count == fault.at;
}

static void fault_remember(struct fault_file *file, sqlite3_int64 offset)
{
    struct fault_sector *s;

    for (s = file->unsynced; s; s = s->next)
        if (s->offset == offset)
            return;
    s = calloc(1, sizeof(*s));
    if (!s)
        abort();
    s->offset = offset; /* a read past the end leaves zeros: so would the file system */
    file->real->pMethods->xRead(file->real, s->bytes, FAULT_SECTOR, offset);
    s->next = file->unsynced;
    file->unsynced = s;
}

static int fault_read(sqlite3_file *base, void *to, int size, sqlite3_int64 offset)
{
    struct fault_file *file = (struct fault_file *)base;

    return fault_due(0) ? SQLITE_IOERR_READ
                        : file->real->pMethods->xRead(file->real, to, size, offset);
}

static int fault_write(sqlite3_file *base, const void *from, int size, sqlite3_int64 offset)
{
    struct fault_file *file = (struct fault_file *)base;

    if (fault_due(1))
        return fault.kind == GT_FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    if (fault.kind == GT_FAULT_CRASH)
        for (sqlite3_int64 at = offset / FAULT_SECTOR * FAULT_SECTOR; at < offset + size;
             at += FAULT_SECTOR)
            fault_remember(file, at);
    return file->real->pMethods->xWrite(file->real, from, size, offset);
}

static int fault_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct fault_file *file = (struct fault_file *)base;

    return fault_due(1) ? SQLITE_IOERR_TRUNCATE : file->real->pMethods->xTruncate(file->real, size);
}

static int fault_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    if (fault_due(1) && (fault.kind == GT_FAULT_IO || fault.kind == GT_FAULT_DEAD))
        return SQLITE_IOERR_FSYNC;
    if (!fault.lying)
        fault_forget((struct fault_file *)base);
    return SQLITE_OK;
}

static int fault_close(sqlite3_file *base)
{
    struct fault_file *file = (struct fault_file *)base, **at = &fault.open;
    int result = file->real->pMethods->xClose(file->real);

    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    fault_forget(file);
    free(file->real);
    return result;
}

/* The rest only passes on. */
#define FAULT_REAL(base) ((struct fault_file *)(base))->real
#define FAULT_PASS(name, params, ...)                                          \
    static int fault_##name params                                             \
    {                                                                          \
        return FAULT_REAL(base)->pMethods->name(FAULT_REAL(base) __VA_ARGS__); \
    }
FAULT_PASS(xFileSize, (sqlite3_file * base, sqlite3_int64 *size), , size)
FAULT_PASS(xLock, (sqlite3_file * base, int level), , level)
FAULT_PASS(xUnlock, (sqlite3_file * base, int level), , level)
FAULT_PASS(xCheckReservedLock, (sqlite3_file * base, int *held), , held)
FAULT_PASS(xFileControl, (sqlite3_file * base, int op, void *arg), , op, arg)
FAULT_PASS(xSectorSize, (sqlite3_file * base))
FAULT_PASS(xShmMap, (sqlite3_file * base, int page, int size, int extend, void volatile **at), ,
           page, size, extend, at)
FAULT_PASS(xShmLock, (sqlite3_file * base, int offset, int n, int flags), , offset, n, flags)
FAULT_PASS(xShmUnmap, (sqlite3_file * base, int erase), , erase)

/* Nothing is guaranteed beyond sectors: SQLite must not rely on atomic or ordered writes. */
static int fault_characteristics(sqlite3_file *base)
{
    (void)base;
    return 0;
}

static void fault_barrier(sqlite3_file *base)
{
    FAULT_REAL(base)->pMethods->xShmBarrier(FAULT_REAL(base));
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out)
{
    struct fault_file *file = (struct fault_file *)base;
    int result;

    (void)vfs;
    memset(file, 0, sizeof(*file));
    file->real = calloc(1, (size_t)fault.real->szOsFile);
    if (!file->real)
        return SQLITE_NOMEM;
    result = fault.real->xOpen(fault.real, name, file->real, flags, out);
    if (result != SQLITE_OK) {
        free(file->real);
        return result;
    }
    file->base.pMethods = &fault.methods;
    file->next = fault.open;
    fault.open = file;
    return SQLITE_OK;
}

/* Puts itself before the default VFS. */
static void fault_register(void)
{
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile = sizeof(struct fault_file);
    fault.vfs.xOpen = fault_open;
    fault.methods = (sqlite3_io_methods){.iVersion = 2,
                                         .xClose = fault_close,
                                         .xRead = fault_read,
                                         .xWrite = fault_write,
                                         .xTruncate = fault_truncate,
                                         .xSync = fault_sync,
                                         .xFileSize = fault_xFileSize,
                                         .xLock = fault_xLock,
                                         .xUnlock = fault_xUnlock,
                                         .xCheckReservedLock = fault_xCheckReservedLock,
                                         .xFileControl = fault_xFileControl,
                                         .xSectorSize = fault_xSectorSize,
                                         .xDeviceCharacteristics = fault_characteristics,
                                         .xShmMap = fault_xShmMap,
                                         .xShmLock = fault_xShmLock,
                                         .xShmBarrier = fault_barrier,
                                         .xShmUnmap = fault_xShmUnmap};
    sqlite3_vfs_register(&fault.vfs, 1);
}

#endif

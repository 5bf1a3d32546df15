/* store_writer.c - opens a database for writing: checks where it may lie, and lets only one process
 * write it.  Part of the store: see store.h.
 *
 * WAL allows one writer at a time anyway, and two tuners on one database would repeat each other's
 * work. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/store_internal.h"

#define LOCK_TRIES     20         /* x 50 ms: a killed holder's children may take a moment to go */
#define FUSE           0x65735546 /* f_type of every file system in user space, near or far */
#define SHARED_WAIT_MS 60000      /* most, for others' transactions, of some milliseconds each */

/* ---- where a database that is written may lie ---- */

const char *gt_store_network(long f_type)
{
    static const struct {
        unsigned type;
        const char *name;
    } network[] = {
        /* linux/magic.h; Lustre, GPFS, BeeGFS and Ceph from their own sources */
        {0x6969, "NFS"},        {0x517b, "SMB"},      {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
        {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}, {0x00c36400, "Ceph"},
        {0x5346414f, "AFS"},    {0x564c, "NCP"},      {0x73757245, "Coda"},   {0x7461636f, "OCFS2"},
        {0x01161970, "GFS2"},
    };

    for (size_t i = 0; i < sizeof(network) / sizeof(*network); i++)
        if ((unsigned)f_type == network[i].type)
            return network[i].name;
    return NULL;
}

const char *gt_store_network_fuse(const char *type)
{
    static const char *const remote[] = {
        "fuse.sshfs",  "fuse.glusterfs", "fuse.ceph",     "fuse.ceph-fuse", "fuse.s3fs",
        "fuse.rclone", "fuse.gcsfuse",   "fuse.davfs",    "fuse.juicefs",   "fuse.mfs",
        "fuse.nfs",    "fuse.smbnetfs",  "fuse.orangefs",
    };

    for (size_t i = 0; i < sizeof(remote) / sizeof(*remote); i++)
        if (strcmp(type, remote[i]) == 0)
            return remote[i];
    return NULL;
}

/* The kind of FUSE that a folder is on, from the mount table.  Many kinds are local (containers,
 * virtual machines).  NULL: the kind is not known to be remote. */
static const char *find_fuse(const char *folder)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    const char *found = NULL;
    char *line = NULL;
    struct stat status;
    size_t size = 0;

    if (!mounts)
        return NULL;
    while (stat(folder, &status) == 0 && !found && getline(&line, &size, mounts) > 0) {
        unsigned major_number, minor_number;
        const char *dash = strstr(line, " - ");
        char type[64];

        if (dash && sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) == 2 &&
            major_number == major(status.st_dev) && minor_number == minor(status.st_dev) &&
            sscanf(dash + 3, "%63s", type) == 1)
            found = gt_store_network_fuse(type);
    }
    free(line);
    fclose(mounts);
    return found;
}

static int check_network(const char *path, struct gt_err *err)
{
    const char *slash = strrchr(path, '/'), *name = NULL;
    struct statfs fs;
    char *folder;

    folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
    if (!folder)
        return gt_err_nomem(err);
    if (statfs(folder, &fs) == 0)
        name = fs.f_type == FUSE ? find_fuse(folder) : gt_store_network((long)fs.f_type);
    free(folder);
    if (!name)
        return GT_OK;
    return gt_err_set(err, GT_EDB,
                      "%s lies on a network file system (%s), where a database can be damaged; "
                      "tune into one on a local disk and add it to another with `tune merge`",
                      path, name);
}

/* The names of SQLite's log and of the lock follow from the file's name.  A process that writes the
 * file by another name does not see them, and then the trials of both processes are lost. */
static int check_own(const char *name, const struct stat *status, struct gt_err *err)
{
    if (!S_ISREG(status->st_mode))
        return gt_err_set(
            err, GT_EDB,
            "%s is a link, a folder or a pipe, not a file of a database; remove it, or "
            "name another database with --db",
            name);
    if (status->st_nlink > 1)
        return gt_err_set(err, GT_EDB,
                          "%s has %ju names (hard links), and a file that is written may have one; "
                          "make it a file of its own: cp FILE FILE.own && mv FILE.own FILE",
                          name, (uintmax_t)status->st_nlink);
    return GT_OK;
}

static int check_names(const char *path, struct gt_err *err)
{
    static const char *const tail[] = {"", "-wal", "-shm", "-journal"};
    int code = GT_OK;

    for (size_t i = 0; i < sizeof(tail) / sizeof(*tail) && !code; i++) {
        struct stat status;
        char *name;

        if (asprintf(&name, "%s%s", path, tail[i]) < 0)
            return gt_err_nomem(err);
        if (fstatat(AT_FDCWD, name, &status, i ? AT_SYMLINK_NOFOLLOW : 0) == 0)
            code = check_own(name, &status, err);
        free(name);
    }
    return code;
}

int gt_store_check_place(const char *path, struct gt_err *err)
{
    const int code = check_network(path, err);

    return code ? code : check_names(path, err);
}

/* ---- the lock: only one process writes ---- */

/* GT_EBUSY with the holder's process id, which it wrote into the lock file. */
static int report_holder(const struct gt_store *store, int lock, struct gt_err *err)
{
    char pid[24] = "";
    ssize_t length = pread(lock, pid, sizeof(pid) - 1, 0);

    pid[length > 0 ? length : 0] = '\0';
    pid[strspn(pid, "0123456789")] = '\0';
    return gt_err_set(err, GT_EBUSY,
                      "%s is being written by process %s; wait for it, or name another database "
                      "with --db",
                      store->path, *pid ? pid : "(unknown)");
}

/* Tries to lock once.  GT_OK with store->lock still -1: the lock file was replaced meanwhile, and
 * the caller tries again. */
static int try_lock(struct gt_store *store, struct gt_err *err)
{
    int lock = open(store->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    struct stat status;
    int code = GT_OK;

    if (lock < 0)
        return gt_err_set(err, GT_EDB,
                          "%s: cannot create the lock file %s: %s; name a database in a folder you "
                          "may write with --db",
                          store->path, store->lock_path, strerror(errno));
    if (flock(lock, LOCK_EX | LOCK_NB) != 0)
        code = errno == EWOULDBLOCK
                   ? report_holder(store, lock, err)
                   : gt_err_set(err, GT_EDB,
                                "%s: cannot lock %s: %s; name a database on a disk of this machine "
                                "with --db",
                                store->path, store->lock_path, strerror(errno));
    else if (gt_store_lock_is_named(store, lock)) {
        if (fstat(lock, &status) == 0)
            code = check_own(store->lock_path, &status, err);
        if (!code && ftruncate(lock, 0) == 0 && dprintf(lock, "%ld\n", (long)getpid()) >= 0) {
            store->lock = lock;
            return GT_OK;
        }
        if (!code)
            code =
                gt_err_set(err, GT_EDB, "%s: cannot write: %s", store->lock_path, strerror(errno));
    }
    close(lock);
    return code;
}

static int lock_file(struct gt_store *store, struct gt_err *err)
{
    const struct timespec pause = {0, 50 * 1000 * 1000};
    int code = GT_EBUSY;

    for (int i = 0; i < LOCK_TRIES && store->lock < 0; i++) {
        code = try_lock(store, err);
        if (code && code != GT_EBUSY)
            return code;
        if (store->lock < 0)
            nanosleep(&pause, NULL);
    }
    return store->lock < 0 && !code
               ? gt_err_set(err, GT_EBUSY, "%s: the lock file keeps changing", store->lock_path)
               : code;
}

/* ---- opening ---- */

#define BUT_JOBS " FROM meta WHERE key NOT GLOB 'job *'"

/* Runs a statement with the value ?1 if the query, with the same value, counts any rows. */
static int correct(struct gt_store *store, const char *count, const char *sql, int64_t value,
                   struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read it", count, err);
    bool any;

    gt_query_bind(&q, 1, "%ld", value);
    any = gt_query_row(&q) && sqlite3_column_int64(q.s, 0) > 0;
    if (gt_query_end(&q) || !any)
        return q.code;
    return gt_store_insert(store, NULL, "correct it", sql, err, "%ld", value);
}

/* Removes the digest, because a database that is written has none until it is closed
 * (gt_store_seal); notes of jobs stay.  And a clock that was ahead must not make an older text of a
 * kernel look newer than every text that is used from now on. */
static int correct_all(struct gt_store *store, struct gt_err *err)
{
    int code = correct(store, "SELECT count(*) FROM kernel WHERE seen >= ?1",
                       "UPDATE kernel SET seen = max(?1 - 1, 0) WHERE seen >= ?1",
                       gt_clock_date_ms(), err);

    return code ? code
                : correct(store, "SELECT count(*) FROM meta WHERE key NOT GLOB 'job *' OR ?1",
                          "DELETE FROM meta WHERE key NOT GLOB 'job *' OR ?1", 0, err);
}

/* Writes the digest before the writer closes.  Without memory or room on the disk there is no
 * digest. */
static void seal(struct gt_store *store)
{
    if (gt_store_check_moved(store, NULL) == GT_OK)
        gt_store_seal(store, NULL);
}

/* Remembers which log is ours, and who may read the database, because another database may take its
 * place. */
static void note_file(struct gt_store *store)
{
    char *log = sqlite3_mprintf("%s-wal", store->path);
    struct stat status;

    store->mode = stat(store->path, &status) == 0 ? status.st_mode & 0666 : 0600;
    if (log && stat(log, &status) == 0) {
        store->log_device = (uint64_t)status.st_dev;
        store->log_inode = (uint64_t)status.st_ino;
    }
    sqlite3_free(log);
}

/* The lock lies beside the database itself, so that two links to it are not two databases. */
static int name_lock(struct gt_store *store, struct gt_err *err)
{
    struct stat status;
    bool linked = lstat(store->path, &status) == 0 && S_ISLNK(status.st_mode);
    char *target = linked ? realpath(store->path, NULL) : NULL; /* NULL: no such file yet */
    int code = GT_OK;

    if (asprintf(&store->lock_path, "%s-lock", target ? target : store->path) < 0) {
        store->lock_path = NULL;
        code = gt_err_nomem(err);
    }
    GT_STEP(code, gt_store_check_place(target ? target : store->path, err));
    free(target);
    return code;
}

static int open_write(struct gt_store *store, struct gt_err *err)
{
    int64_t version = 0;
    bool fresh = false;
    int code = name_lock(store, err);

    GT_STEP(code, lock_file(store, err));
    GT_STEP(code, gt_store_open_file(store, true, err));
    GT_STEP(code, gt_store_check(store, &fresh, &version, err));
    if (!code && !fresh)
        code = gt_store_check_pages(store, err);
    GT_STEP(code, gt_store_set_up(store, true, err));
    GT_STEP(code, gt_store_migrate(store, err));
    GT_STEP(code, gt_store_check_schema(store, err));
    GT_STEP(code, gt_store_check_digest(store, err)); /* the digest of the writer before this one */
    GT_STEP(code, correct_all(store, err));
    if (!code) {
        note_file(store);
        store->seal = seal;
    }
    return code;
}

/* Opens for writing beside the holder of the lock, which has brought the schema forward and checked
 * the file. */
static int open_shared(struct gt_store *store, struct gt_err *err)
{
    int code;

    store->shared = true;
    code = gt_store_open_file(store, true, err);
    GT_STEP(code, gt_store_set_up(store, true, err));
    if (code)
        return code;
    sqlite3_busy_timeout(store->db, SHARED_WAIT_MS);
    code = gt_store_check_schema(store, err);
    if (!code)
        note_file(store);
    return code;
}

int gt_store_open(struct gt_store **store, const char *path, enum gt_store_mode mode,
                  struct gt_err *err)
{
    return gt_store_open_watched(store, path, mode, NULL, err);
}

int gt_store_open_watched(struct gt_store **store, const char *path, enum gt_store_mode mode,
                          const volatile sig_atomic_t *signals, struct gt_err *err)
{
    struct gt_store *opened;
    int code;

    *store = NULL;
    code = mode == GT_STORE_READ ? gt_store_open_read(&opened, path, err)
                                 : gt_store_new(&opened, path, err);
    if (code)
        return code;
    opened->signals = signals;
    code = mode == GT_STORE_READ     ? gt_store_check_digest(opened, err)
           : mode == GT_STORE_SHARED ? open_shared(opened, err)
                                     : open_write(opened, err);
    opened->signals = NULL;
    if (code) {
        gt_store_close(opened);
        return code;
    }
    sqlite3_progress_handler(opened->db, 0, NULL, NULL);
    *store = opened;
    return GT_OK;
}

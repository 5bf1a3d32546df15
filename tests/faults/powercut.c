/* powercut.c - tests what a power cut at any moment of a sweep leaves behind.
 *
 *   powercut [--cuts N] [--seed N] [--stub DIR] [--lying] TUNE CUTLOG.so
 *
 * Each round runs a sweep whose writes cutlog.so logs (on the predictor, on a recording and, with
 * --stub, on the stub GPU in turn), then cuts the power after a third of its writes, drawn at
 * random.  The disk keeps what was synced; of every 512-byte sector written since then it has
 * either the old or the new content.  Each such database must open, be sound and hold all rows that
 * were durable at the last sync.
 *
 * --lying simulates a disk that reports syncs of the log which it did not make.  Trials must then
 * be found missing, or this test could not fail.  Limits: directory entries count as durable,
 * sectors as atomic.  The last line of the output is for programs. */
#include "base/stats.h"
#include "cutlog.h"
#include "db/store_internal.h"
#include "run.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECTOR    512
#define MAX_FILES 16
#define DB        "/cut.db"

struct bytes {
    unsigned char *at;
    size_t size, capacity;
};

/* A file of the folder, as the program sees it and as it was at its last sync. */
struct file {
    char path[96];
    struct bytes now, synced;
    unsigned char *dirty; /* a flag for each sector of `now` */
    size_t sectors;
};

struct cuts {
    struct run_options run;
    const char *log_library;
    struct file file[MAX_FILES];
    size_t files;
    char (*expected)[160]; /* "kernel problem point" of the durable trials */
    size_t expect;
    struct gt_random random;
    bool lying;
    long wanted, made, rounds, unreadable, lost;
};

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void resize(struct bytes *bytes, size_t size)
{
    if (size > bytes->capacity) {
        bytes->capacity = 2 * size;
        bytes->at = realloc(bytes->at, bytes->capacity);
        if (!bytes->at)
            die("realloc");
    }
    if (size > bytes->size)
        memset(bytes->at + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

static struct file *find_file(struct cuts *cuts, const char *path, bool make)
{
    for (size_t i = 0; i < cuts->files; i++)
        if (!strcmp(cuts->file[i].path, path))
            return &cuts->file[i];
    if (!make)
        return NULL;
    if (cuts->files == MAX_FILES)
        die("more files than are expected");
    snprintf(cuts->file[cuts->files].path, sizeof(cuts->file[0].path), "%s", path);
    return &cuts->file[cuts->files++];
}

static void forget(struct cuts *cuts, struct file *file)
{
    free(file->now.at);
    free(file->synced.at);
    free(file->dirty);
    *file = cuts->file[--cuts->files];
    memset(&cuts->file[cuts->files], 0, sizeof(*file));
}

static void mark_dirty(struct file *file, size_t from, size_t to)
{
    size_t sectors = (to + SECTOR - 1) / SECTOR;

    if (sectors > file->sectors) {
        file->dirty = realloc(file->dirty, sectors);
        if (!file->dirty)
            die("realloc");
        memset(file->dirty + file->sectors, 0, sectors - file->sectors);
        file->sectors = sectors;
    }
    for (size_t i = from / SECTOR; i < sectors; i++)
        file->dirty[i] = 1;
}

/* ---- what the disk holds ---- */

static void write_file(const struct cuts *cuts, const struct file *file, const unsigned char *bytes,
                       size_t size)
{
    char path[256];
    FILE *to;

    snprintf(path, sizeof(path), "%s/disk%s", cuts->run.folder, file->path);
    to = fopen(path, "w");
    if (!to || (size && fwrite(bytes, 1, size, to) != size) || fclose(to))
        die(path);
}

/* Makes an image of the disk.  lossy: a random half of the unsynced sectors is lost; otherwise all
 * of them are, so that only durable content is left. */
static void make_disk(struct cuts *cuts, bool lossy)
{
    char command[256];

    snprintf(command, sizeof(command), "rm -rf '%s/disk'", cuts->run.folder);
    if (system(command))
        die(command);
    snprintf(command, sizeof(command), "%s/disk", cuts->run.folder);
    if (mkdir(command, 0700))
        die(command);
    for (size_t i = 0; i < cuts->files; i++) {
        struct file *file = &cuts->file[i];
        struct bytes image = {0};

        if (!lossy) {
            write_file(cuts, file, file->synced.at, file->synced.size);
            continue;
        }
        resize(&image, file->now.size);
        if (image.size)
            memcpy(image.at, file->now.at, image.size);
        for (size_t s = 0; s < file->sectors && s * SECTOR < image.size; s++) {
            size_t left = image.size - s * SECTOR, size = left < SECTOR ? left : SECTOR;
            size_t old = file->synced.size > s * SECTOR ? file->synced.size - s * SECTOR : 0;

            if (!file->dirty[s] || gt_random_below(&cuts->random, 2))
                continue;
            memset(image.at + s * SECTOR, 0, size);
            memcpy(image.at + s * SECTOR, file->synced.at + s * SECTOR, old < size ? old : size);
        }
        write_file(cuts, file, image.at, image.size);
        free(image.at);
    }
}

/* ---- what must be there ---- */

static int open_disk(struct cuts *cuts, struct gt_store **store, struct gt_err *err)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/disk" DB, cuts->run.folder);
    return gt_store_open(store, path, GT_STORE_WRITE, err);
}

static const char trials_sql[] =
    "SELECT k.name || ' ' || t.problem || ' ' || t.point FROM trial AS t"
    " JOIN kernel AS k ON k.id = t.kernel ORDER BY t.id";

/* Reads the trials that are durable after a sync. */
static void read_expected(struct cuts *cuts)
{
    struct gt_store *store = NULL;
    struct gt_err err = {0};
    sqlite3_stmt *s;

    make_disk(cuts, false);
    cuts->expect = 0;
    if (open_disk(cuts, &store, &err) || gt_store_prepare(store, &s, trials_sql, &err)) {
        printf("VIOLATION: what was synced cannot be read: %s\n", err.msg);
        cuts->unreadable++;
        gt_store_close(store);
        return;
    }
    while (sqlite3_step(s) == SQLITE_ROW) {
        cuts->expected = realloc(cuts->expected, (cuts->expect + 1) * sizeof(*cuts->expected));
        if (!cuts->expected)
            die("realloc");
        snprintf(cuts->expected[cuts->expect++], sizeof(*cuts->expected), "%s",
                 (const char *)sqlite3_column_text(s, 0));
    }
    sqlite3_finalize(s);
    gt_store_close(store);
}

/* Counts the expected trials that are stored; both lists are in the order of their ids. */
static size_t count_kept(struct cuts *cuts, sqlite3_stmt *s)
{
    size_t kept = 0;
    char row[160];

    while (kept < cuts->expect && sqlite3_step(s) == SQLITE_ROW) {
        snprintf(row, sizeof(row), "%s", (const char *)sqlite3_column_text(s, 0));
        kept += !strcmp(row, cuts->expected[kept]);
    }
    return kept;
}

static void cut(struct cuts *cuts)
{
    struct gt_store *store = NULL;
    struct gt_err err = {0};
    sqlite3_stmt *s = NULL;
    int64_t broken = 0;
    size_t kept;

    make_disk(cuts, true);
    cuts->made++;
    if (open_disk(cuts, &store, &err) || gt_store_prepare(store, &s, trials_sql, &err) ||
        gt_store_integer(store->db, "cut.db", "SELECT count(*) FROM pragma_foreign_key_check",
                         &broken, &err) ||
        broken) {
        printf("VIOLATION at cut %ld: %s, %lld references lead nowhere\n", cuts->made, err.msg,
               (long long)broken);
        cuts->unreadable++;
    } else {
        kept = count_kept(cuts, s);
        if (kept < cuts->expect) {
            printf("VIOLATION at cut %ld: %zu of %zu durable trials are there\n", cuts->made, kept,
                   cuts->expect);
            cuts->lost++;
        }
    }
    sqlite3_finalize(s);
    gt_store_close(store);
}

/* ---- the log ---- */

static void apply(struct cuts *cuts, const struct cut_record *record, const unsigned char *bytes)
{
    struct file *file = find_file(cuts, record->path, record->op <= CUT_TRUNCATE), *other;
    size_t offset = (size_t)record->offset;

    if (!file)
        return;
    switch (record->op) {
    case CUT_WRITE:
        if (offset + record->size > file->now.size)
            resize(&file->now, offset + record->size);
        memcpy(file->now.at + offset, bytes, record->size);
        mark_dirty(file, offset, offset + record->size);
        break;
    case CUT_TRUNCATE:
        resize(&file->now, offset);
        mark_dirty(file, offset, offset);
        break;
    case CUT_SYNC:
        resize(&file->synced, file->now.size);
        if (file->now.size)
            memcpy(file->synced.at, file->now.at, file->now.size);
        memset(file->dirty, 0, file->sectors);
        break;
    case CUT_UNLINK:
        forget(cuts, file);
        break;
    case CUT_RENAME:
        other = find_file(cuts, record->other, false);
        if (other)
            forget(cuts, other);
        file = find_file(cuts, record->path, false);
        snprintf(file->path, sizeof(file->path), "%s", record->other);
        break;
    default:
        break;
    }
}

/* Whether the record is of the database and not of its lock file. */
static bool of_database(const struct cut_record *record)
{
    return !strncmp(record->path, DB, strlen(DB)) && !strstr(record->path, "-lock");
}

/* Applies a sync; its content must be on the disk from now on.  A lying disk loses it again. */
static void sync_file(struct cuts *cuts, const struct cut_record *record)
{
    struct file *file = find_file(cuts, record->path, false);
    struct bytes before = {0};

    if (!file)
        return;
    resize(&before, file->synced.size);
    if (before.size)
        memcpy(before.at, file->synced.at, before.size);
    apply(cuts, record, NULL);
    read_expected(cuts);
    if (cuts->lying && strstr(file->path, "-wal")) {
        free(file->synced.at);
        file->synced = before;
        memset(file->dirty, 1, file->sectors);
    } else {
        free(before.at);
    }
}

/* Reads the log and cuts the power after one write in three. */
static void cut_everywhere(struct cuts *cuts)
{
    static unsigned char bytes[1 << 20];
    struct cut_record record;
    char path[256];
    FILE *log;

    snprintf(path, sizeof(path), "%s/log", cuts->run.folder);
    log = fopen(path, "r");
    if (!log)
        die(path);
    cuts->expect = 0;
    while (cuts->made < cuts->wanted && fread(&record, sizeof(record), 1, log) == 1) {
        if (record.size > sizeof(bytes) || (record.size && fread(bytes, record.size, 1, log) != 1))
            die("the log is cut short");
        if (!of_database(&record))
            continue;
        if (record.op == CUT_SYNC) {
            sync_file(cuts, &record);
        } else {
            apply(cuts, &record, bytes);
            if (!gt_random_below(&cuts->random, 3))
                cut(cuts);
        }
    }
    fclose(log);
    while (cuts->files)
        forget(cuts, &cuts->file[0]);
}

/* ---- sweeps ---- */

static void exec_tune(const struct cuts *cuts, char *const argv[])
{
    char path[512];

    snprintf(path, sizeof(path), "%s/work", cuts->run.folder);
    setenv("GT_CUTLOG_FOLDER", path, 1);
    snprintf(path, sizeof(path), "%s/log", cuts->run.folder);
    setenv("GT_CUTLOG_FILE", path, 1);
    snprintf(path, sizeof(path), "%s/cache", cuts->run.folder);
    setenv("GEMMTUNE_CACHE", path, 1);
    setenv("GEMMTUNE_LOCKS", cuts->run.folder, 1);
    run_use_stub(&cuts->run);
    setenv("LD_PRELOAD", cuts->log_library, 1);
    execv(cuts->run.program, argv);
    _exit(126);
}

/* Runs a sweep in an empty folder; the log has all its writes. */
static void sweep(struct cuts *cuts)
{
    static const char *const kinds[][2] = {
        {"replay:tests/replay/h200-simt-2048.json.gz", "2048x2048x2048"},
        {"predict:sm_86", "96x80x64"},
        {"cuda", "96x80x64"},
    };
    const size_t kind = (size_t)cuts->rounds % (cuts->run.stub ? 3 : 2);
    char db[256], seed[32], command[512];
    char *const argv[] = {(char *)"tune",
                          (char *)"--device",
                          (char *)kinds[kind][0],
                          (char *)"--shape",
                          (char *)kinds[kind][1],
                          (char *)"--db",
                          db,
                          (char *)"--seed",
                          seed,
                          (char *)"--budget",
                          (char *)(kind ? "12" : "60"),
                          (char *)"--kernels",
                          (char *)(kind ? "simt_naive" : "simt"),
                          (char *)"-q",
                          NULL};
    pid_t pid;

    snprintf(command, sizeof(command), "rm -rf '%s/work' '%s/log'", cuts->run.folder,
             cuts->run.folder);
    if (system(command))
        die(command);
    snprintf(command, sizeof(command), "%s/work", cuts->run.folder);
    if (mkdir(command, 0700))
        die(command);
    snprintf(db, sizeof(db), "%s/work" DB, cuts->run.folder);
    snprintf(seed, sizeof(seed), "%ld", cuts->rounds + 1);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(125);
        exec_tune(cuts, argv);
    }
    if (run_wait(pid, 300))
        die("the sweep failed");
    cuts->rounds++;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"cuts", required_argument, NULL, 'c'},
                                                 {"seed", required_argument, NULL, 'r'},
                                                 {"stub", required_argument, NULL, 't'},
                                                 {"lying", no_argument, NULL, 'l'},
                                                 {NULL, 0, NULL, 0}};
    struct cuts cuts = {.wanted = 300, .random = {1}};
    char command[256];
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'c')
            cuts.wanted = strtol(optarg, NULL, 10);
        else if (option == 'r')
            cuts.random.state = strtoull(optarg, NULL, 10);
        else if (option == 't')
            cuts.run.stub = optarg;
        else if (option == 'l')
            cuts.lying = true;
        else
            return 2;
    }
    /* Thousands of databases are opened, so they are in memory if that is possible. */
    snprintf(cuts.run.folder, sizeof(cuts.run.folder), "%s/gemmtune-cut-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (argc - optind != 2 || !mkdtemp(cuts.run.folder)) {
        fprintf(stderr,
                "usage: powercut [--cuts N] [--seed N] [--stub DIR] [--lying] TUNE CUTLOG.so\n");
        return 2;
    }
    cuts.run.program = argv[optind];
    cuts.log_library = argv[optind + 1];
    while (cuts.made < cuts.wanted && cuts.unreadable + cuts.lost < 20) {
        sweep(&cuts);
        cut_everywhere(&cuts);
    }
    printf("powercut: sweeps=%ld cuts=%ld unreadable=%ld lost=%ld\n", cuts.rounds, cuts.made,
           cuts.unreadable, cuts.lost);
    snprintf(command, sizeof(command), "rm -rf '%s'", cuts.run.folder);
    free(cuts.expected);
    return system(command) != 0 || cuts.unreadable || cuts.lost;
}

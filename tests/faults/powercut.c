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
#include "cutdisk.h"
#include "db/store_internal.h"
#include "run.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DB "/cut.db"

struct cuts {
    struct run_options run;
    char log_library[96]; /* a link: LD_PRELOAD takes no path with a blank */
    struct disk disk;
    char (*expected)[160]; /* "kernel problem point" of the durable trials */
    size_t expect;
    bool lying;
    long wanted, made, rounds, unreadable, lost;
};

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
static void read_expected(void *context)
{
    struct cuts *cuts = context;
    struct gt_store *store = NULL;
    struct gt_err err = {0};
    sqlite3_stmt *s;

    disk_image(&cuts->disk, false);
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

    disk_image(&cuts->disk, true);
    cuts->made++;
    if (open_disk(cuts, &store, &err) || gt_store_prepare(store, &s, trials_sql, &err) ||
        gt_store_integer(store, "SELECT count(*) FROM pragma_foreign_key_check", &broken, &err) ||
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

/* Whether the record is of the database and not of its lock file. */
static bool of_database(const struct cut_record *record)
{
    return !strncmp(record->path, DB, strlen(DB)) && !strstr(record->path, "-lock");
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
            disk_sync(&cuts->disk, &record, cuts->lying, read_expected, cuts);
        } else {
            disk_apply(&cuts->disk, &record, bytes);
            if (!gt_random_below(&cuts->disk.random, 3))
                cut(cuts);
        }
    }
    fclose(log);
    disk_release(&cuts->disk);
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
    struct cuts cuts = {.wanted = 300, .disk.random = {1}};
    char command[256], *library;
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'c')
            cuts.wanted = strtol(optarg, NULL, 10);
        else if (option == 'r')
            cuts.disk.random.state = strtoull(optarg, NULL, 10);
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
    cuts.disk.folder = cuts.run.folder;
    cuts.run.program = argv[optind];
    library = realpath(argv[optind + 1], NULL);
    snprintf(cuts.log_library, sizeof(cuts.log_library), "%s/cutlog.so", cuts.run.folder);
    if (!library || symlink(library, cuts.log_library))
        die(argv[optind + 1]);
    free(library);
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

/* test_store_faults.c - the tuning database under failing disks, power cuts, kill -9 and missing
 * memory: what was acknowledged is there afterwards, and every failure is an error with a sentence.
 */
#include "fault_vfs.h"
#include "store_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define TRIALS  6
#define SECONDS 8 /* bound of each loop over crash points */

static int count_trials(void *context, const char *point, const struct gt_trial *trial,
                        int attempts, struct gt_err *err)
{
    (void)point;
    (void)err;
    if (trial->status == GT_STATUS_OK && !attempts)
        ++*(int *)context;
    return GT_OK;
}

/* What a sweep does to a database: opens it, names things, tries candidates. */
struct run {
    const char *path;
    int first, trials; /* points BM=first .. */
    int tell;          /* a pipe that gets one byte per trial acknowledged, or -1 */
    int done;          /* trials acknowledged */
};

static int sweep(struct run *run, struct gt_err *err)
{
    struct fixture f = {0};
    struct gt_device device = fixture_device();
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa");
    struct gt_trial trial = fixture_trial(50, 1);
    struct gt_problem problem;
    char point[32];
    int code = gt_store_open(&f.store, run->path, GT_STORE_WRITE, err);

    run->done = 0;
    gt_problem_init(&problem, 256, 128, 64);
    f.key.point = point;
    if (!code)
        code = gt_store_device(f.store, &device, &f.key.device, err);
    if (!code)
        code = gt_store_toolchain(f.store, 13000, &f.key.toolchain, err);
    if (!code)
        code = gt_store_kernel(f.store, &kernel, &f.key.kernel, err);
    if (!code)
        code = gt_store_problem(f.store, &problem, &f.key.problem, err);
    if (!code)
        code = gt_store_sweep_begin(f.store, "tune", &f.key.sweep, err);
    for (int i = 0; !code && i < run->trials; i++) {
        snprintf(point, sizeof(point), "BM=%d", run->first + i);
        code = gt_store_attempt(f.store, &f.key, err);
        if (!code)
            code = gt_store_trial(f.store, &f.key, &trial, err);
        if (!code && run->tell >= 0 && write(run->tell, "t", 1) != 1)
            code = GT_EIO;
        run->done += !code;
    }
    gt_store_close(f.store);
    return code;
}

/* Opens a database that something happened to: it must be sound and hold at least `done` trials,
 * each with its attempt. */
static void expect_kept(struct fixture *f, int done, long at)
{
    struct gt_trial_key key;
    struct gt_device device = fixture_device();
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa");
    struct gt_problem problem;
    int64_t trials, orphans;
    int found = 0;

    memset(&key, 0, sizeof(key));
    gt_problem_init(&problem, 256, 128, 64);
    if (gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err))
        fail_msg("after fault %ld: %s", at, f->err.msg);
    OK(f, gt_store_device(f->store, &device, &key.device, &f->err));
    OK(f, gt_store_toolchain(f->store, 13000, &key.toolchain, &f->err));
    OK(f, gt_store_kernel(f->store, &kernel, &key.kernel, &f->err));
    OK(f, gt_store_problem(f->store, &problem, &key.problem, &f->err));
    OK(f, gt_store_resume(f->store, &key, false, count_trials, &found, &f->err));
    if (found < done)
        fail_msg("after fault %ld: %d trials of %d acknowledged ones are left", at, found, done);
    OK(f, gt_store_integer(f->store->db, f->path, "SELECT count(*) FROM trial", &trials, &f->err));
    assert_int_equal(trials, found);
    OK(f, gt_store_integer(f->store->db, f->path,
                           "SELECT count(*) FROM trial LEFT JOIN attempt USING (point)"
                           " WHERE coalesce(open, 1)",
                           &orphans, &f->err));
    assert_int_equal(orphans, 0); /* a trial closes its attempt in the same transaction */
    gt_store_close(f->store);
    f->store = NULL;
}

static void remove_database(const struct fixture *f)
{
    static const char *const suffix[] = {"", "-wal", "-shm", "-journal", "-lock"};
    char path[128];

    for (size_t i = 0; i < sizeof(suffix) / sizeof(*suffix); i++) {
        snprintf(path, sizeof(path), "%s%s", f->path, suffix[i]);
        unlink(path);
    }
}

/* Shared memory does not survive a power cut. */
static void lose_shared_memory(const struct fixture *f)
{
    char path[128];

    snprintf(path, sizeof(path), "%s-shm", f->path);
    unlink(path);
}

/* A disk that fails is not a damaged database, and its error is not called a success. */
static void expect_a_disk_at_fault(const struct gt_err *err)
{
    if (strstr(err->msg, "Success") || strstr(err->msg, "No such file") ||
        strstr(err->msg, "damaged"))
        fail_msg("%s", err->msg);
}

static void fail_at_every_operation(struct fixture *f, enum fault_kind kind)
{
    struct run run = {f->path, 0, TRIALS, -1, 0};
    int failures = 0;

    for (long at = 1; run.done < TRIALS; at++) {
        int code;

        remove_database(f);
        f->err.msg[0] = '\0';
        fault_plan(kind, at);
        code = sweep(&run, &f->err);
        fault_plan(GT_FAULT_NONE, 0);
        if (code) {
            if (code != GT_EDB && code != GT_ENOMEM && code != GT_ESTALE)
                fail_msg("operation %ld: code %d: %s", at, code, f->err.msg);
            assert_non_null(strstr(f->err.msg, f->path));
            if (kind == GT_FAULT_FULL)
                assert_non_null(strstr(f->err.msg, "disk is full"));
            expect_a_disk_at_fault(&f->err);
            failures++;
        }
        expect_kept(f, run.done, at);
    }
    print_message("%d operations failed\n", failures);
    assert_true(failures > 20);
}

static void close_fixture(struct fixture *f)
{
    gt_store_close(f->store);
    f->store = NULL;
}

static void test_io_error_at_every_operation(void **state)
{
    close_fixture(*state);
    fail_at_every_operation(*state, GT_FAULT_IO);
}

/* A sound database on a disk that fails for good: opening it never says that it is damaged, and
 * does not quote the error of a call that had nothing to do with it. */
static void test_io_error_while_opening(void **state)
{
    struct fixture *f = *state;
    struct run run = {f->path, 0, TRIALS, -1, 0};
    bool reached = true;
    int failures = 0;

    close_fixture(f);
    remove_database(f);
    OK(f, sweep(&run, &f->err));
    for (long at = 1; reached; at++) {
        int code;

        f->err = (struct gt_err){0};
        errno = at % 2 ? 0 : ENOENT; /* of an earlier call: SQLite asks for it */
        fault_plan(GT_FAULT_DEAD, at);
        code = gt_store_open(&f->store, f->path, GT_STORE_READ, &f->err);
        reached = fault.count >= at;
        fault_plan(GT_FAULT_NONE, 0);
        close_fixture(f);
        failures += code != GT_OK;
        expect_a_disk_at_fault(&f->err);
        if (code)
            assert_non_null(strstr(f->err.msg, "disk"));
    }
    print_message("%d operations failed\n", failures);
    assert_true(failures > 3);
}

static void test_disk_full_from_every_operation_on(void **state)
{
    close_fixture(*state);
    fail_at_every_operation(*state, GT_FAULT_FULL);
}

/* Runs the sweep in a child that loses power at operation `at`; returns trials acknowledged, or -1
 * if the child came to its end before. */
static int cut_power(struct fixture *f, long at)
{
    char bytes[64];
    int pipes[2], status, done = 0;
    ssize_t count;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct run run = {f->path, 0, TRIALS, pipes[1], 0};

        close(pipes[0]);
        fault_plan(GT_FAULT_CRASH, at);
        sweep(&run, NULL);
        _exit(0);
    }
    close(pipes[1]);
    while ((count = read(pipes[0], bytes, sizeof(bytes))) > 0)
        done += (int)count;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    lose_shared_memory(f);
    return WEXITSTATUS(status) == FAULT_EXIT ? done : -1;
}

static void test_power_cut_at_every_operation(void **state)
{
    struct fixture *f = *state;
    const time_t end = time(NULL) + SECONDS;
    long at, cuts = 0;
    int done = 0;

    close_fixture(f);
    for (at = 1; done >= 0 && (cuts <= 50 || time(NULL) < end); at++) {
        remove_database(f);
        done = cut_power(f, at);
        cuts += done >= 0;
        expect_kept(f, done >= 0 ? done : TRIALS, at);
    }
    print_message("%ld power cuts\n", cuts);
    assert_true(cuts > 50);
}

/* The harness has teeth: with a disk that lies about syncs, something is lost. */
static void test_power_cut_on_a_lying_disk_is_noticed(void **state)
{
    struct fixture *f = *state;
    int lost = 0, done = 0;

    close_fixture(f);
    fault.lying = 1;
    for (long at = 40; !lost && done >= 0; at++) {
        int64_t trials = -1;

        remove_database(f);
        done = cut_power(f, at);
        if (gt_store_open(&f->store, f->path, GT_STORE_WRITE, NULL) ||
            gt_store_integer(f->store->db, f->path, "SELECT count(*) FROM trial", &trials, NULL) ||
            trials < done)
            lost++;
        close_fixture(f);
    }
    fault.lying = 0;
    assert_true(lost > 0);
}

/* kill -9 at random moments: the next run goes on from what was acknowledged. */
static void test_killed_writer(void **state)
{
    struct fixture *f = *state;
    struct gt_random random = {7};
    int acknowledged = 0;

    close_fixture(f);
    for (int round = 0; round < 25; round++) {
        struct timespec pause = {0, 1000000 + (long)gt_random_below(&random, 20000000)};
        char bytes[4096];
        int pipes[2], status, done = 0;
        ssize_t count;
        pid_t child;

        assert_int_equal(pipe(pipes), 0);
        child = fork();
        if (child == 0) {
            struct run run = {f->path, round * 10000, 10000, pipes[1], 0};

            close(pipes[0]);
            sweep(&run, NULL);
            _exit(0);
        }
        close(pipes[1]);
        if (round % 2) /* every other kill comes after a trial was acknowledged */
            done = read(pipes[0], bytes, 1) == 1;
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        while ((count = read(pipes[0], bytes, sizeof(bytes))) > 0)
            done += (int)count;
        close(pipes[0]);
        acknowledged += done;
        expect_kept(f, acknowledged, round);
    }
    print_message("%d trials acknowledged before a kill\n", acknowledged);
    assert_true(acknowledged > 0);
}

/* SQLite's allocator, failing at the planned allocation (and, if `forever`, at all later ones). */
static struct {
    sqlite3_mem_methods real;
    long at, count;
    int forever;
} memory;

static int memory_due(void)
{
    memory.count++;
    return memory.at && (memory.forever ? memory.count >= memory.at : memory.count == memory.at);
}

static void *failing_malloc(int size)
{
    return memory_due() ? NULL : memory.real.xMalloc(size);
}

static void *failing_realloc(void *old, int size)
{
    return memory_due() ? NULL : memory.real.xRealloc(old, size);
}

static void test_sqlite_without_memory(void **state)
{
    struct fixture *f = *state;
    struct run run = {f->path, 0, TRIALS, -1, 0};
    int failures = 0;
    long total;

    close_fixture(f);
    remove_database(f);
    memory.count = 0;
    assert_int_equal(sweep(&run, &f->err), GT_OK);
    total = memory.count;
    for (long step = 0; step < 150; step++) {
        long at = 1 + step * total / 150;
        int code;

        remove_database(f);
        memory.count = 0;
        memory.forever = step % 2;
        memory.at = at;
        code = sweep(&run, &f->err);
        memory.at = 0;
        if (code && code != GT_ENOMEM && code != GT_EDB)
            fail_msg("allocation %ld: code %d: %s", at, code, f->err.msg);
        failures += code != GT_OK;
        expect_kept(f, run.done, at);
    }
    print_message("%d of 150 failed allocations were errors, out of %ld\n", failures, total);
    assert_true(failures > 50);
}

static int add_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s %s %s %s %s\n", row->device, row->problem, row->kernel, row->point,
                   row->date);
    return gt_strbuf_check(context, err);
}

static int add_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s %s %s %s %g\n", named->device, named->problem, named->kernel,
                   named->point, named->trial.us);
    return gt_strbuf_check(context, err);
}

static int add_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s %s %s %s\n", turn->device, turn->problem, turn->kernels,
                   turn->strategy);
    return gt_strbuf_check(context, err);
}

/* Everything that readers are given, as text. */
static int read_all(const char *path, struct gt_strbuf *text, struct gt_err *err)
{
    const struct gt_row_filter all = {0};
    struct gt_store *store;
    int code = gt_store_winners(path, add_row, text, err);

    if (code)
        return code;
    code = gt_store_open(&store, path, GT_STORE_READ, err);
    if (!code)
        code = gt_store_rows(store, &all, add_row, text, err);
    if (!code)
        code = gt_store_trials(store, &all, add_trial, text, err);
    if (!code)
        code = gt_store_turns(store, &all, add_turn, text, err);
    if (!code)
        code = gt_store_description(store, "simt", "aaaa", text, err);
    gt_store_close(store);
    return code;
}

/* A reader without memory says so, and never gives less than there is. */
static void test_reading_without_memory(void **state)
{
    const struct gt_turn turn = {.kernels = "simt", .strategy = "auto", .trials = 1, .us = 3};
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 2);
    struct gt_strbuf sound = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
    char point[1200];
    int failures = 0;
    long total;

    snprintf(point, sizeof(point), "BM=%01100d", 64); /* longer than what fits a row's own memory */
    fixture_put(f, point, &trial);
    fixture_put(f, "BM=32", &trial);
    OK(f, gt_store_put_turn(f->store, &f->key, &turn, &f->err));
    close_fixture(f);
    memory.count = 0;
    OK(f, read_all(f->path, &sound, &f->err));
    total = memory.count;
    for (memory.at = 1; memory.at <= total; memory.at += memory.at < total - 700 ? 100 : 1) {
        int code;

        memory.count = 0;
        memory.forever = 0;
        gt_strbuf_reset(&text);
        code = read_all(f->path, &text, &f->err);
        if (code && code != GT_ENOMEM)
            fail_msg("allocation %ld: code %d: %s", memory.at, code, f->err.msg);
        if (!code && strcmp(text.text, sound.text) != 0)
            fail_msg("allocation %ld of %ld: %zu bytes were read instead of %zu: ...%s", memory.at,
                     total, text.length, sound.length,
                     text.length > 80 ? text.text + text.length - 80 : text.text);
        failures += code != GT_OK;
    }
    memory.at = 0;
    print_message("%d of %ld failed allocations were errors\n", failures, total);
    assert_true(failures > 10);
    gt_strbuf_release(&sound);
    gt_strbuf_release(&text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_io_error_at_every_operation),
        TEST(test_io_error_while_opening),
        TEST(test_disk_full_from_every_operation_on),
        TEST(test_power_cut_at_every_operation),
        TEST(test_power_cut_on_a_lying_disk_is_noticed),
        TEST(test_killed_writer),
        TEST(test_sqlite_without_memory),
        TEST(test_reading_without_memory),
    };
    sqlite3_mem_methods failing;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory.real);
    failing = memory.real;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

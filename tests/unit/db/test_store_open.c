/* test_store_open.c - databases that cannot be used, each with one clear sentence; the writer's
 * lock. */
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Opening fails with `code` and a sentence that holds the path and `words`. */
static void expect_refusal(struct fixture *f, enum gt_store_mode mode, int code, const char *words)
{
    struct gt_store *store = (struct gt_store *)f;

    f->err.msg[0] = '\0';
    assert_int_equal(gt_store_open(&store, f->path, mode, &f->err), code);
    assert_null(store);
    if (!strstr(f->err.msg, words) || !strstr(f->err.msg, f->path))
        fail_msg("'%s' should say '%s'", f->err.msg, words);
}

static void write_file(struct fixture *f, const char *text)
{
    FILE *file = fopen(f->path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_missing(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    unlink(f->path);
    expect_refusal(f, GT_STORE_READ, GT_EDB, "No such file");
    snprintf(f->path, sizeof(f->path), "%s/no/t.db", f->folder);
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, "No such file");
}

static void test_not_a_database(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    write_file(f, "point,us\nBM=64,3\nand some more text, so that it is longer than a header is\n");
    expect_refusal(f, GT_STORE_READ, GT_ESTALE, "not a SQLite database");
    expect_refusal(f, GT_STORE_WRITE, GT_ESTALE, "not a SQLite database");
}

static void test_of_another_program(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    unlink(f->path);
    fixture_sql(f, "CREATE TABLE recipe (name TEXT); PRAGMA user_version = 1");
    expect_refusal(f, GT_STORE_WRITE, GT_ESTALE, "another program");
    fixture_sql(f, "SELECT name FROM recipe"); /* and it was left alone */
}

static void test_of_a_newer_version(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    fixture_sql(f, "PRAGMA user_version = 99");
    expect_refusal(f, GT_STORE_READ, GT_ESTALE, "newer gemmtune (schema version 99");
    expect_refusal(f, GT_STORE_WRITE, GT_ESTALE, "newer gemmtune");
}

static void test_empty(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    write_file(f, "");
    expect_refusal(f, GT_STORE_READ, GT_ESTALE, "is empty");
    fixture_reopen(f, GT_STORE_WRITE);
}

static void test_damaged(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    int file;

    fixture_close(f);
    assert_int_equal(stat(f->path, &status), 0);
    file = open(f->path, O_RDWR);
    for (off_t at = 4096 + 100; at < status.st_size; at += 4096)
        assert_int_equal(pwrite(file, "damage damage damage damage", 27, at - 98), 27);
    close(file);
    expect_refusal(f, GT_STORE_READ, GT_EDB, "is damaged");
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, "is damaged");
}

static void test_cut_off(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    assert_int_equal(truncate(f->path, 8192), 0);
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, "is damaged");
}

/* Permissions do not bind root: the check runs as nobody in a child. */
static void test_read_only(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    fixture_close(f);
    chmod(f->path, 0444);
    chmod(f->folder, 0555);
    child = fork();
    if (child == 0) {
        struct gt_store *store = NULL;
        int code;

        if (getuid() == 0 && setuid(65534) != 0)
            _exit(9);
        code = gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err);
        if (code != GT_EDB || !strstr(f->err.msg, f->path))
            _exit(1);
        if (gt_store_open(&store, f->path, GT_STORE_READ, &f->err))
            _exit(2);
        gt_store_close(store);
        _exit(0);
    }
    waitpid(child, &status, 0);
    chmod(f->folder, 0755);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_read_only_file_in_a_writable_folder(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    fixture_close(f);
    chmod(f->path, 0444);
    chmod(f->folder, 0777);
    child = fork();
    if (child == 0) {
        struct gt_store *store = NULL;

        if (getuid() == 0 && setuid(65534) != 0)
            _exit(9);
        _exit(gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err) == GT_EDB &&
                      strstr(f->err.msg, "is read-only")
                  ? 0
                  : 1);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_one_writer(void **state)
{
    struct fixture *f = *state;
    struct gt_store *reader;
    char words[64], lock[120];

    snprintf(words, sizeof(words), "written by process %ld", (long)getpid());
    expect_refusal(f, GT_STORE_WRITE, GT_EBUSY, words);
    OK(f, gt_store_open(&reader, f->path, GT_STORE_READ, &f->err));
    gt_store_close(reader);
    fixture_close(f);
    snprintf(lock, sizeof(lock), "%s-lock", f->path);
    assert_int_not_equal(access(lock, F_OK), 0);
    fixture_reopen(f, GT_STORE_WRITE);
}

/* Under another name it is the same database, with the same writer. */
static void test_one_writer_through_a_link(void **state)
{
    struct fixture *f = *state;
    struct gt_store *second = NULL;
    char link[128];

    snprintf(link, sizeof(link), "%s/link.db", f->folder);
    assert_int_equal(symlink(f->path, link), 0);
    assert_int_equal(gt_store_open(&second, link, GT_STORE_WRITE, &f->err), GT_EBUSY);
    assert_null(second);
    fixture_close(f);
    OK(f, gt_store_open(&second, link, GT_STORE_WRITE, &f->err));
    gt_store_close(second);
}

/* What the store's locking gets from the system. */
static struct {
    int locks;         /* so often it was asked for a lock */
    int refusal;       /* errno of the next one; 0: the system's own answer */
    bool other_device; /* the next file that is looked at lies on another disk */
} told;

int flock(int file, int operation)
{
    told.locks++;
    if (!told.refusal)
        return (int)syscall(SYS_flock, file, operation);
    errno = told.refusal;
    return -1;
}

int fstat(int file, struct stat *status)
{
    const int result = fstatat(file, "", status, AT_EMPTY_PATH);

    if (told.other_device)
        status->st_dev++;
    told.other_device = false;
    return result;
}

/* A disk that has no locks is no other writer. */
/* Two names of one file have two logs and two locks: the trials of both were lost.  Nothing that
 * has another name is written to. */
static void test_no_second_name(void **state)
{
    static const char *const tail[] = {"", "-wal", "-shm", "-journal", "-lock"};
    struct fixture *f = *state;
    struct gt_store *store = NULL;
    char path[128], other[128], text[8] = "";
    FILE *file;

    fixture_close(f);
    snprintf(other, sizeof(other), "%s.other", f->path);
    for (size_t i = 0; i < sizeof(tail) / sizeof(*tail); i++) {
        snprintf(path, sizeof(path), "%s%s", f->path, tail[i]);
        if (i) {
            file = fopen(other, "w");
            assert_non_null(file);
            fputs("secret", file);
            fclose(file);
        }
        assert_int_equal(i ? link(other, path) : link(path, other), 0);
        f->err = (struct gt_err){0};
        assert_int_equal(gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err), GT_EDB);
        assert_non_null(strstr(f->err.msg, "2 names (hard links)"));
        assert_non_null(strstr(f->err.msg, path));
        if (!i) {
            assert_int_equal(gt_store_open(&store, other, GT_STORE_WRITE, &f->err), GT_EDB);
        } else {
            file = fopen(other, "r");
            assert_non_null(file);
            assert_non_null(fgets(text, sizeof(text), file));
            fclose(file);
            assert_string_equal(text, "secret");
            assert_int_equal(unlink(path), 0);
            assert_int_equal(symlink(other, path), 0);
            assert_int_equal(gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err), GT_EDB);
            assert_int_equal(unlink(path), 0);
        }
        assert_int_equal(unlink(other), 0);
    }
    OK(f, gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err));
    gt_store_close(store);
}

static void test_a_disk_without_locks(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    told.refusal = ENOLCK;
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, strerror(ENOLCK));
    told.refusal = 0;
    fixture_reopen(f, GT_STORE_WRITE);
}

/* A file of the same number on another disk is another lock. */
static void test_a_lock_on_another_disk(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    told.locks = 0;
    told.other_device = true;
    fixture_reopen(f, GT_STORE_WRITE);
    assert_int_equal(told.locks, 2);
}

static void test_network_file_systems_by_name(void **state)
{
    (void)state;
    assert_string_equal(gt_store_network(0x6969), "NFS");
    assert_string_equal(gt_store_network((long)0xff534d42), "CIFS");
    assert_string_equal(gt_store_network((int)0xff534d42), "CIFS");
    assert_string_equal(gt_store_network(0x0bd00bd0), "Lustre");
    assert_string_equal(gt_store_network_fuse("fuse.sshfs"), "fuse.sshfs");
    assert_null(gt_store_network_fuse("fuse.fuse-overlayfs")); /* a container's root */
    assert_null(gt_store_network_fuse("virtiofs"));            /* a virtual machine's */
    assert_null(gt_store_network(0xef53));                     /* ext4 */
    assert_null(gt_store_network(0x9123683e));                 /* btrfs */
    assert_null(gt_store_network(0x794c7630));                 /* overlayfs */
}

static void test_a_path_is_only_a_path(void **state)
{
    struct fixture *f = *state;
    char before[256];

    fixture_close(f);
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(f->folder), 0);
    OK(f, gt_store_open(&f->store, ":memory:", GT_STORE_WRITE, &f->err));
    assert_int_equal(access(":memory:", F_OK), 0);
    fixture_close(f);
    OK(f, gt_store_open(&f->store, "file:x?mode=memory", GT_STORE_WRITE, &f->err));
    assert_int_equal(access("file:x?mode=memory", F_OK), 0);
    assert_int_equal(chdir(before), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_missing),
        TEST(test_not_a_database),
        TEST(test_of_another_program),
        TEST(test_of_a_newer_version),
        TEST(test_empty),
        TEST(test_damaged),
        TEST(test_cut_off),
        TEST(test_read_only),
        TEST(test_read_only_file_in_a_writable_folder),
        TEST(test_one_writer),
        TEST(test_one_writer_through_a_link),
        TEST(test_no_second_name),
        TEST(test_a_disk_without_locks),
        TEST(test_a_lock_on_another_disk),
        TEST(test_network_file_systems_by_name),
        TEST(test_a_path_is_only_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

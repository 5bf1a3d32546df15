/* test_cache.c - the cubin cache: what is saved comes back, what is damaged does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cuda/cache.h"

#define KEY "0123456789abcdef0123456789abcdef"

struct fixture {
    char root[64], dir[96], file[256];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    if (!f)
        return 1;
    strcpy(f->root, "/tmp/gemmtune-cache-XXXXXX");
    if (!mkdtemp(f->root))
        return 1;
    snprintf(f->dir, sizeof(f->dir), "%s/new/folder", f->root);
    snprintf(f->file, sizeof(f->file), "%s/" KEY ".bin", f->dir);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", f->root);
    free(f);
    return system(command);
}

static struct gt_binary sample_binary(void)
{
    static char image[5000], log[] = "ptxas info";

    memset(image, 'x', sizeof(image));
    return (struct gt_binary){.image = image,
                              .size = sizeof(image),
                              .log = log,
                              .registers = 130,
                              .spill_bytes = 8,
                              .static_shared = 1024,
                              .ms = 12.5};
}

/* An empty file of the folder that was last written `age` seconds ago. */
static void leave(const struct fixture *f, const char *name, time_t age)
{
    const struct timespec then[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", f->dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, then), 0);
    close(fd);
}

static bool present(const struct fixture *f, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", f->dir, name);
    return access(path, F_OK) == 0;
}

static void test_round_trip(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary(), loaded;
    struct gt_err err = {0};
    struct stat status;

    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_OK);
    assert_int_equal(loaded.size, saved.size);
    assert_memory_equal(loaded.image, saved.image, saved.size);
    assert_string_equal(loaded.log, "ptxas info");
    assert_int_equal(loaded.registers, 130);
    assert_int_equal(loaded.spill_bytes, 8);
    assert_int_equal(loaded.static_shared, 1024);
    assert_true(loaded.ms == 12.5);
    gt_binary_release(&loaded);
    assert_int_equal(stat(f->dir, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(stat(f->file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    /* Saving again replaces it. */
    saved.registers = 7;
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_OK);
    assert_int_equal(loaded.registers, 7);
    gt_binary_release(&loaded);
}

/* Any byte that changed, and any byte that is missing, makes the file a miss. */
static void test_damage_is_a_miss(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary(), loaded;
    struct stat status;

    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, NULL), GT_OK);
    assert_int_equal(stat(f->file, &status), 0);
    for (long at = 0; at < status.st_size; at += at < 120 ? 1 : 97) {
        FILE *file = fopen(f->file, "r+b");
        int byte;

        assert_non_null(file);
        fseek(file, at, SEEK_SET);
        byte = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(byte ^ 1, file);
        fclose(file);
        assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, NULL), GT_ENOTFOUND);
        file = fopen(f->file, "r+b");
        fseek(file, at, SEEK_SET);
        fputc(byte, file);
        fclose(file);
    }
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, NULL), GT_OK);
    gt_binary_release(&loaded);
    assert_int_equal(truncate(f->file, status.st_size - 1), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, NULL), GT_ENOTFOUND);
    assert_int_equal(truncate(f->file, 0), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, NULL), GT_ENOTFOUND);
}

static void test_links_and_foreign_folders(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary(), loaded;
    struct gt_err err = {0};
    char other[256];

    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    snprintf(other, sizeof(other), "%s/other", f->root);
    assert_int_equal(rename(f->file, other), 0);
    assert_int_equal(symlink(other, f->file), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    /* Saving replaces the link, not what it points to. */
    assert_int_equal(truncate(other, 1), 0);
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_OK);
    gt_binary_release(&loaded);
    assert_int_equal(chmod(f->dir, 0777), 0);
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_EIO);
    assert_non_null(strstr(err.msg, f->dir));
    assert_int_equal(gt_cache_save(other, KEY, &saved, &err), GT_EIO);
}

/* What somebody else may have put there is not loaded: it would run on this user's GPU. */
static void test_forged_images_are_not_loaded(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary(), loaded;
    struct gt_err err = {0};

    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    assert_int_equal(chmod(f->dir, 0777), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "must be a folder that belongs to this user"));
    assert_int_equal(chmod(f->dir, 01777), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    assert_int_equal(gt_cache_trim(f->dir, 0, NULL, &err), GT_EIO);
    assert_int_equal(chmod(f->dir, 0700), 0);
    assert_int_equal(chmod(f->file, 0622), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    assert_int_equal(chmod(f->file, 0600), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_OK);
    gt_binary_release(&loaded);
    if (geteuid() != 0)
        return; /* only root can give files away */
    assert_int_equal(chown(f->file, 65534, 65534), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    assert_int_equal(chown(f->file, 0, 0), 0);
    assert_int_equal(chown(f->dir, 65534, 65534), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_ENOTFOUND);
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_EIO);
    assert_int_equal(chown(f->dir, 0, 0), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, &err), GT_OK);
    gt_binary_release(&loaded);
}

/* Neither waits nor reads. */
static void test_entries_are_plain_files(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary(), loaded;

    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, NULL), GT_OK);
    assert_int_equal(unlink(f->file), 0);
    assert_int_equal(mkfifo(f->file, 0600), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, NULL), GT_ENOTFOUND);
    assert_int_equal(unlink(f->file), 0);
    assert_int_equal(mkdir(f->file, 0700), 0);
    assert_int_equal(gt_cache_load(f->dir, KEY, &loaded, NULL), GT_ENOTFOUND);
    assert_int_equal(rmdir(f->file), 0);
}

static void test_sizes(void **state)
{
    static const char *const wrong[] = {"", "x", "-1", "1.5G", "5GB", "99999999999T", " 1"};
    struct gt_err err = {0};
    int64_t bytes;

    (void)state;
    assert_int_equal(gt_cache_parse_size(&bytes, "1000", &err), GT_OK);
    assert_int_equal(bytes, 1000);
    assert_int_equal(gt_cache_parse_size(&bytes, "500M", &err), GT_OK);
    assert_int_equal(bytes, 500 << 20);
    assert_int_equal(gt_cache_parse_size(&bytes, "3g", &err), GT_OK);
    assert_true(bytes == (int64_t)3 << 30);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(gt_cache_parse_size(&bytes, wrong[i], &err), GT_ESYNTAX);
        assert_non_null(strstr(err.msg, "is not a size"));
    }
    unsetenv("GEMMTUNE_CACHE_LIMIT");
    assert_int_equal(gt_cache_limit(&bytes, &err), GT_OK);
    assert_true(bytes == (int64_t)2 << 30);
    setenv("GEMMTUNE_CACHE_LIMIT", "64K", 1);
    assert_int_equal(gt_cache_limit(&bytes, &err), GT_OK);
    assert_int_equal(bytes, 65536);
    setenv("GEMMTUNE_CACHE_LIMIT", "much", 1);
    assert_int_equal(gt_cache_limit(&bytes, &err), GT_ESYNTAX);
    assert_non_null(strstr(err.msg, "GEMMTUNE_CACHE_LIMIT: \"much\""));
    unsetenv("GEMMTUNE_CACHE_LIMIT");
}

/* The entry of the number, used `age` seconds ago. */
static void add_aged(const struct fixture *f, int number, time_t age)
{
    const struct timespec then[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    struct gt_binary saved = sample_binary();
    char key[GT_DIGEST_HEX], path[256];

    snprintf(key, sizeof(key), "%032x", (unsigned)number);
    assert_int_equal(gt_cache_save(f->dir, key, &saved, NULL), GT_OK);
    snprintf(path, sizeof(path), "%s/%s.bin", f->dir, key);
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

static bool holds(const struct fixture *f, int number)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%032x.bin", f->dir, (unsigned)number);
    return access(path, F_OK) == 0;
}

/* Ten entries of about 5 KB, of which 32 KiB may stay: those that were used last. */
static void test_least_recently_used_go_first(void **state)
{
    struct fixture *f = *state;
    struct gt_cache_usage left;
    struct gt_binary loaded;
    struct gt_err err = {0};

    assert_int_equal(gt_cache_trim(f->dir, 1000, &left, &err), GT_OK); /* no folder yet */
    assert_int_equal(left.entries, 0);
    for (int i = 0; i < 10; i++)
        add_aged(f, i, 1000 - 10 * i);
    assert_int_equal(gt_cache_trim(f->dir, 1 << 20, &left, &err), GT_OK);
    assert_int_equal(left.entries, 10);
    assert_int_equal(gt_cache_load(f->dir, "00000000000000000000000000000000", &loaded, &err),
                     GT_OK); /* the oldest has been used now */
    gt_binary_release(&loaded);
    assert_int_equal(gt_cache_trim(f->dir, 32768, &left, &err), GT_OK);
    assert_int_equal(left.entries, 5);
    assert_true(left.bytes <= 32768 - 32768 / 8);
    assert_true(holds(f, 0));
    for (int i = 1; i < 10; i++)
        assert_int_equal(holds(f, i), i >= 6);
    leave(f, "notes.bin", 0); /* not ours */
    assert_int_equal(gt_cache_trim(f->dir, 0, &left, &err), GT_OK);
    assert_int_equal(left.entries, 0);
    assert_false(holds(f, 9));
    assert_true(present(f, "notes.bin"));
}

static void test_key_depends_on_everything(void **state)
{
    struct gt_compile_request request = {.source = "a", .name = "n", .arch = 86, .device_cc = 86};
    char key[8][GT_DIGEST_HEX];
    int n = 0;

    (void)state;
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 13000, NULL), GT_OK);
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 12080, NULL), GT_OK);
    request.source = "b";
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 13000, NULL), GT_OK);
    request.arch = 80;
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 13000, NULL), GT_OK);
    request.ptx = true;
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 13000, NULL), GT_OK);
    request.device_cc = 90; /* PTX is made a cubin for it */
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 13000, NULL), GT_OK);
    request.max_registers = 128;
    assert_int_equal(gt_cache_key(key[n++], NULL, &request, 13000, NULL), GT_OK);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(key[i], key[j]);
    /* But not on where the templates lie. */
    request.include_dirs = "/elsewhere";
    assert_int_equal(gt_cache_key(key[n], NULL, &request, 13000, NULL), GT_OK);
    assert_string_equal(key[n], key[n - 1]);
}

static void test_folder_by_environment(void **state)
{
    struct gt_err err = {0};
    char *path;

    (void)state;
    setenv("GEMMTUNE_CACHE", "/a/b", 1);
    assert_int_equal(gt_cache_dir(&path, &err), GT_OK);
    assert_string_equal(path, "/a/b");
    free(path);
    unsetenv("GEMMTUNE_CACHE");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_int_equal(gt_cache_dir(&path, &err), GT_OK);
    assert_string_equal(path, "/x/gemmtune");
    free(path);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
    assert_int_equal(gt_cache_dir(&path, &err), GT_OK);
    assert_string_equal(path, "/h/.cache/gemmtune");
    free(path);
    unsetenv("HOME");
    assert_int_equal(gt_cache_dir(&path, &err), GT_EIO);
    assert_null(path);
}

static void test_leftovers_of_killed_writers(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary();
    struct gt_err err = {0};

    /* no folder yet: nothing to do */
    assert_int_equal(gt_cache_trim(f->dir, 1 << 20, NULL, &err), GT_OK);
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    leave(f, "." KEY ".aB3xYz", 2 * 3600);
    leave(f, "." KEY ".aB3xYy", 60);        /* somebody may still be writing it */
    leave(f, "." KEY ".aB3xYz7", 2 * 3600); /* a letter more than ours have */
    leave(f, ".notes", 2 * 3600);
    assert_int_equal(gt_cache_trim(f->dir, 1 << 20, NULL, &err), GT_OK);
    assert_false(present(f, "." KEY ".aB3xYz"));
    assert_true(present(f, "." KEY ".aB3xYy"));
    assert_true(present(f, "." KEY ".aB3xYz7"));
    assert_true(present(f, ".notes"));
    assert_int_equal(access(f->file, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_leftovers_of_killed_writers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage_is_a_miss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_and_foreign_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forged_images_are_not_loaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_entries_are_plain_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_least_recently_used_go_first, set_up, tear_down),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_key_depends_on_everything),
        cmocka_unit_test(test_folder_by_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

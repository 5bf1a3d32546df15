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
    gt_cache_path(f->file, sizeof(f->file), f->dir, KEY);
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
    request.include_dir = "/elsewhere";
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

static void test_leftovers_of_killed_writers(void **state)
{
    struct fixture *f = *state;
    struct gt_binary saved = sample_binary();
    struct gt_err err = {0};

    gt_cache_tidy(f->dir); /* no folder yet: nothing to do */
    assert_int_equal(gt_cache_save(f->dir, KEY, &saved, &err), GT_OK);
    leave(f, "." KEY ".aB3xYz", 2 * 3600);
    leave(f, "." KEY ".aB3xYy", 60);        /* somebody may still be writing it */
    leave(f, "." KEY ".aB3xYz7", 2 * 3600); /* a letter more than ours have */
    leave(f, ".notes", 2 * 3600);
    gt_cache_tidy(f->dir);
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
        cmocka_unit_test(test_key_depends_on_everything),
        cmocka_unit_test(test_folder_by_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* search_fixture.h - what the tests of the search share: kernels written on the fly into a folder
 * of their own, so that a test shows the space it is about. */
#ifndef GT_SEARCH_FIXTURE_H
#define GT_SEARCH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "problem/problem.h"

/* Fails the test with the sentence if a call that should succeed does not. */
#define OK(err, call)                              \
    do {                                           \
        if (call)                                  \
            fail_msg("%s: %s", #call, (err)->msg); \
    } while (0)

struct search {
    char folder[64];
    struct gt_err err;
    struct gt_device device;
    struct gt_problem problem;
};

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline int search_setup(void **state)
{
    struct search *search = calloc(1, sizeof(*search));
    char path[128];

    assert_non_null(search);
    /* In memory where possible: the store syncs after every trial. */
    snprintf(search->folder, sizeof(search->folder), "%s/gemmtune-search-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(search->folder));
    snprintf(path, sizeof(path), "%s/templates", search->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/configs", search->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    OK(&search->err, gt_device_profile(&search->device, ".", 90, &search->err));
    gt_problem_init(&search->problem, 1024, 1024, 1024);
    *state = search;
    return 0;
}

static inline int search_teardown(void **state)
{
    struct search *search = *state;

    nftw(search->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(search);
    return 0;
}

/* Loads a kernel "name" whose params, and everything after them, are given as JSON text; words:
 * what the template mentions. */
static inline struct gt_kernel *search_kernel(struct search *search, const char *name,
                                              const char *words, const char *rest)
{
    char text[8192], file[96], path[192];
    struct gt_kernel *kernel;

    snprintf(file, sizeof(file), "templates/%s.cu", name);
    snprintf(text, sizeof(text),
             "extern \"C\" __global__ void gemm(const int *args) { /* nothing */ }\n"
             "enum { WORDS = 0 %s };\n",
             words);
    write_file(search->folder, file, text);
    snprintf(text, sizeof(text),
             "{\"kernel\": \"%s\", \"doc\": \"for a test\", \"template\": \"%s\", \"role\": "
             "\"production\", \"serves\": {\"types\": [\"f32\"], \"out\": [\"f32\"], \"layouts\": "
             "[\"nn\"], \"min_cc\": 75, \"max_cc\": 129, \"accuracy\": \"strict\", \"epilogues\": "
             "[\"none\"], \"batch\": true}, %s}",
             name, file, rest);
    snprintf(file, sizeof(file), "configs/%s.json", name);
    write_file(search->folder, file, text);
    snprintf(path, sizeof(path), "%s/%s", search->folder, file);
    OK(&search->err, gt_kernel_load(&kernel, search->folder, path, &search->err));
    return kernel;
}

/* One entry of "params". */
#define PARAM(name, standard, values)                                            \
    "{\"name\": \"" name "\", \"values\": [" values "], \"default\": " #standard \
    ", \"kind\": \"compile\", \"doc\": \"for a test\"}"

/* The end of a description. */
#define LAUNCH "\"launches\": [{\"entry\": \"gemm\", \"grid\": [\"cdiv(M, 64)\"], \"block\": [64]}]"

#endif

/* kernel_fixture.h - the description that the tests of kernels load (tests/unit/data), whole or
 * changed, and a device. */
#ifndef KERNEL_FIXTURE_H
#define KERNEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "problem/problem.h"

#define DATA "tests/unit/data"

static inline struct gt_kernel *load(void)
{
    struct gt_kernel *kernel;
    struct gt_err err = {0};

    if (gt_kernel_load(&kernel, DATA, DATA "/configs/kernels/tiny.json", &err))
        fail_msg("%s", err.msg);
    return kernel;
}

static inline struct gt_device device(void)
{
    struct gt_device device;
    struct gt_err err = {0};

    if (gt_device_profile(&device, ".", 86, &err))
        fail_msg("%s", err.msg);
    return device;
}

/* Reads the description with `from` replaced by `to`. */
static inline struct gt_kernel *load_changed(const char *from, const char *to)
{
    char dir[] = "/tmp/gt_kernel_XXXXXX", path[64];
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_kernel *kernel;
    struct gt_err err = {0};
    const char *at;
    FILE *file;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/tiny.json", dir);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(gt_strbuf_add_file(&text, DATA "/configs/kernels/tiny.json", NULL), GT_OK);
    at = strstr(text.text, from);
    assert_non_null(at);
    fprintf(file, "%.*s%s%s", (int)(at - text.text), text.text, to, at + strlen(from));
    fclose(file);
    gt_strbuf_release(&text);
    if (gt_kernel_load(&kernel, DATA, path, &err))
        fail_msg("%s", err.msg);
    unlink(path);
    rmdir(dir);
    return kernel;
}

#endif

/* test_signature.c - a kernel's signature covers template, includes (of includes too) and
 * description, and nothing else; missing includes are named with their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

#define DATA "tests/unit/data"

static char folder[] = "/tmp/gt_signature_XXXXXX";

/* A copy of the unit tests' data folder. */
static int set_up(void **state)
{
    char command[256];

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(command, sizeof(command), "cp -r " DATA "/. %s", folder);
    return system(command);
}

static int tear_down(void **state)
{
    char command[256];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* Appends text to a file of the copy, or writes it anew. */
static void write_file(const char *name, const char *mode, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, mode);
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int load(char signature[33], struct gt_err *err)
{
    struct gt_kernel *kernel;
    char path[256];
    int rc;

    snprintf(path, sizeof(path), "%s/configs/kernels/tiny.json", folder);
    rc = gt_kernel_load(&kernel, folder, path, err);
    if (!rc)
        memcpy(signature, kernel->signature, 33);
    gt_kernel_free(kernel);
    return rc;
}

static void test_covers(void **state)
{
    static const char *const files[] = {
        "templates/tiny/tiny.cu",
        "templates/common/tiny_base.cuh",
        "templates/common/tiny_more.cuh",
        "configs/kernels/tiny.json",
    };
    char before[33], after[33];
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(load(before, &err), GT_OK);
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_equal(before, after);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        write_file(files[i], "a", "\n");
        assert_int_equal(load(after, &err), GT_OK);
        assert_string_not_equal(before, after);
        memcpy(before, after, sizeof(before));
    }
    write_file("templates/common/unrelated.cuh", "w", "// nobody includes this\n");
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_equal(before, after);
}

static void test_circle(void **state)
{
    char signature[33];
    struct gt_err err = {0};

    (void)state;
    write_file("templates/common/tiny_more.cuh", "a", "#include \"common/tiny_base.cuh\"\n");
    if (load(signature, &err))
        fail_msg("%s", err.msg);
    write_file("templates/common/tiny_more.cuh", "a",
               "#include \"common/../common/tiny_more.cuh\"\n");
    if (load(signature, &err))
        fail_msg("%s", err.msg);
}

static void test_missing(void **state)
{
    char signature[33];
    struct gt_err err = {0};

    (void)state;
    write_file("templates/common/tiny_more.cuh", "w",
               "// one\n/* two\n#include \"none.cuh\"\n*/ #include <cuda_fp16.h>\n"
               "char c = '\"', *s = \"/*\\\"\";\n  #  include \"absent.cuh\" // seven\n");
    assert_int_equal(load(signature, &err), GT_ECONFIG);
    assert_non_null(strstr(err.msg, "templates/common/tiny_more.cuh: line 6: include "
                                    "\"absent.cuh\" is not in"));
    write_file("templates/common/tiny_more.cuh", "w", "#include \"tiny_base.cuh\"\n");
    assert_int_equal(load(signature, &err), GT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covers),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_missing),
    };

    return cmocka_run_group_tests_name("signature", tests, set_up, tear_down);
}

/* test_signature.c - a kernel's signature covers template, includes (of includes too) and
 * description, without comments and other remarks, and nothing else; missing includes are named
 * with their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kernel.h"

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

/* Replaces `from` in a file of the copy. */
static void edit(const char *name, const char *from, const char *to)
{
    struct gt_strbuf text = GT_STRBUF_INIT, changed = GT_STRBUF_INIT;
    char path[256];
    const char *at;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(gt_strbuf_add_file(&text, path, NULL), GT_OK);
    at = strstr(text.text, from);
    if (!at)
        fail_msg("%s does not hold %s", name, from);
    gt_strbuf_add_bytes(&changed, text.text, (size_t)(at - text.text));
    gt_strbuf_add(&changed, to);
    gt_strbuf_add(&changed, at + strlen(from));
    write_file(name, "w", changed.text);
    gt_strbuf_release(&text);
    gt_strbuf_release(&changed);
}

struct step {
    const char *name, *from, *to;
    bool counts; /* the signature must change */
};

static void test_covers(void **state)
{
    static const char cu[] = "templates/tiny/tiny.cu", base[] = "templates/common/tiny_base.cuh",
                      more[] = "templates/common/tiny_more.cuh",
                      json[] = "configs/kernels/tiny.json";
    static const struct step steps[] = {
        {cu, "#define TM 4", "#define TM  4 /* rows */", false},
        {cu, "#define TM  4 /* rows */", "#define TM 5", true},
        {cu, "gemm(const int *args) {}", "gemm(const int *args)\n{\n}", true},
        {cu, "gemm(const int *args)\n{", "gemm(const int *args) // more\n\n  {\r", false},
        {base, "// tiny_base.cuh", "/* tiny_base.cuh */\n\n//", false},
        {base, "#include", "#define BASE 1\n#include", true},
        {base, "#define BASE 1",
         "#ifdef GT_EMULATE\n#include \"emulator only\"\n#if 0\n#else\n"
         "one\n#endif\ntwo\n#else\n#define BASE 1\n#endif",
         true},
        {base, "two", "three", false},
        {base, "#define BASE 1", "#define BASE 2", true},
        {base, "#define BASE 2", "#define BASE 2\n#ifndef GT_EMULATE\nfour\n#else\nfive\n#endif",
         true},
        {base, "five", "six", false},
        {base, "six\n#endif",
         "six\n#endif\n#ifdef GT_EMULATE\nan\n#elif __CUDA_ARCH__ >= 800\nbn\n"
         "#else\ncn\n#endif",
         true},
        {base, "an", "aa", false},
        {base, "bn", "bb", true},
        {base, "cn", "cc", true},
        {base, "four", "seven", true},
        {more, "TINY_MORE 1", "TINY_MORE 2", true},
        {json, "a kernel for the unit tests", "something else", false},
        {json, "each part of K must be worth it", "reasons", false},
        {json, "\"tflops\": 1.5", "\"tflops\": 1.6", false},
        {json, "\"rung\": 3,\n", "\"rung\":   3,", false},
        {json, "[32, 64, 128]", "[32, 64, 128, 256]", true},
        {json, "K >= 256", "K >= 512", true},
        {json, "\"block_n\": 64", "\"block_n\": 65", true},
    };
    char before[33], after[33];
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(load(before, &err), GT_OK);
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_equal(before, after);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        edit(steps[i].name, steps[i].from, steps[i].to);
        if (load(after, &err))
            fail_msg("%s: %s", steps[i].to, err.msg);
        if (!strcmp(before, after) == steps[i].counts)
            fail_msg("%s: \"%s\" %s the signature", steps[i].name, steps[i].to,
                     steps[i].counts ? "leaves" : "changes");
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

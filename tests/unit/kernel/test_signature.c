/* test_signature.c - a kernel's signature covers the tokens of template and includes (of includes
 * too) and what decides in the description, and nothing else; missing includes are named with their
 * line. */
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

static char folder[32];

/* A copy of the unit tests' data folder. */
static int set_up(void **state)
{
    char command[256];

    (void)state;
    strcpy(folder, "/tmp/gt_signature_XXXXXX");
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

#define CU   "templates/tiny/tiny.cu"
#define BASE "templates/common/tiny_base.cuh"
#define MORE "templates/common/tiny_more.cuh"
#define JSON "configs/kernels/tiny.json"

/* Plays edits one after the other. */
static void play(const struct step *step, size_t steps)
{
    char before[33], after[33];
    struct gt_err err = {0};

    assert_int_equal(load(before, &err), GT_OK);
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_equal(before, after);
    for (size_t i = 0; i < steps; i++) {
        edit(step[i].name, step[i].from, step[i].to);
        if (load(after, &err))
            fail_msg("%s: %s", step[i].to, err.msg);
        if (!strcmp(before, after) == step[i].counts)
            fail_msg("%s: \"%s\" %s the signature", step[i].name, step[i].to,
                     step[i].counts ? "leaves" : "changes");
        memcpy(before, after, sizeof(before));
    }
}

#define PLAY(steps) play(steps, sizeof(steps) / sizeof(*(steps)))

static void test_template(void **state)
{
    static const struct step steps[] = {
        {CU, "#define TM 4", "#define TM  4 /* rows */", false},
        {CU, "#define TM  4 /* rows */", "  #  define\tTM 4 // rows\n#line 1", true},
        {CU, "\n#line 1", "", true},
        {CU, "#  define\tTM 4", "#define TM 5", true},
        {CU, "gemm(const int *args) {}", "gemm(const int *args)\n{\n}", false},
        {CU, "gemm(const int *args)\n{", "gemm(const int\n*args) // more\n\n  {\r", false},
        {CU, "const int\n*args", "const/**/int*args", false},
        {CU, "gemm(const/**/int*args)", "gemm(constint*args)", true},
        {CU, "void gemm(constint*args)", "void\\\n\\\r\n gemm(constint * args)", false},
        {CU, "reduce(const int *args) {}", "reduce(const int *args) {f(1.e-3f, a+++b, \"a  b\");}",
         true},
        {CU, "1.e-3f", "1.e - 3f", true},
        {CU, "a+++b", "a++ + b", false},
        {CU, "a++ + b", "a + ++b", true},
        {CU, "a  b", "a b", true},
        {CU, "\"a b\"", "\"a b//\" /* \" */", true},
    };

    (void)state;
    PLAY(steps);
}

static void test_directives(void **state)
{
    static const struct step steps[] = {
        {CU, "#ifndef SPLIT", "#define F(x) 1\n#ifndef SPLIT", true},
        {CU, "F(x) 1", "F( x )\\\n  1", false},
        {CU, "F( x )", "F ( x )", true},
        {CU, "\\\n  1\n", "\n1\n", true},
        {CU, "\n1\n", "\n\n\n 1\n", false},
        {CU, "#include \"common/tiny_base.cuh\"",
         "int i; #include\n#include \"common/../common/tiny_base.cuh\"", true},
    };

    (void)state;
    PLAY(steps);
}

static void test_includes(void **state)
{
    static const struct step steps[] = {
        {BASE, "// tiny_base.cuh", "/* tiny_base.cuh */\n\n//", false},
        {BASE, "#include", "#define BASE 1\n#include", true},
        {BASE, "#define BASE 1", "#pragma once\n#define BASE 1", false},
        {BASE, "#pragma once\n", "#pragma unroll\n", true},
        {BASE, "#pragma unroll\n", "", true},
        {BASE, "#include \"tiny_more.cuh\"",
         "#include \"tiny_more.cuh\"\n#include \"tiny_more.cuh\"", false},
        {MORE, "TINY_MORE 1", "TINY_MORE 2", true},
        /* Include guards, whatever they are called; no guard: it has another branch, a value... */
        {MORE, "#define TINY_MORE 2\n", "#ifndef A_H\n#define A_H\n#define TINY_MORE 2\n#endif\n",
         false},
        {MORE, "A_H\n#define A_H\n", "B_H // guard\n\n#define B_H\n", false},
        {MORE, "2\n", "2\n#if TINY_MORE\n#else\nint more;\n#endif\n", true},
        {MORE, "#endif\n", "int most;\n#endif\n", true},
        {MORE, "#endif\n#endif", "#endif\nint\nmost;\n#endif // guard", true},
        {MORE, "#endif // guard", "#else\n#endif", true},
        {MORE, "most;\n#else\n#endif", "most;\n#endif", true},
        {MORE, "#define B_H\n", "#define B_H 1\n", true},
        {MORE, "#define B_H 1\n", "#define B_H2\n", true},
        {MORE, "#define B_H2\n", "#define B_H\n", true},
        {MORE, "most;\n#endif", "most;\n#endif\nint last;", true},
    };
    char before[33], after[33];
    struct gt_err err = {0};

    (void)state;
    PLAY(steps);
    assert_int_equal(load(before, &err), GT_OK);
    write_file("templates/common/unrelated.cuh", "w", "// nobody includes this\n");
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_equal(before, after);
}

/* A file under another name, and code that moves into an include of its own. */
static void test_renamed(void **state)
{
    char before[33], after[33];
    struct gt_err err = {0};

    (void)state;
    write_file(MORE, "w", "#define TINY_MORE 1\n");
    write_file(BASE, "w", "#include \"tiny_more.cuh\"\nint one; int two;\n");
    assert_int_equal(load(before, &err), GT_OK);
    write_file("templates/common/renamed.cuh", "w", "#define TINY_MORE 1\n");
    write_file("templates/common/two.cuh", "w", "#ifndef TWO\n#define TWO\nint two;\n#endif\n");
    write_file(BASE, "w", "#include \"renamed.cuh\"\nint one;\n#include \"two.cuh\"\n");
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_equal(before, after);
    write_file(BASE, "w", "int one;\n#include \"renamed.cuh\"\n#include \"two.cuh\"\n");
    assert_int_equal(load(after, &err), GT_OK);
    assert_string_not_equal(before, after);
}

/* What only the CPU emulator sees does not count, nor do the directives that hide it. */
static void test_emulator(void **state)
{
    static const struct step steps[] = {
        {BASE, "#include", "#define BASE 1\n#include", true},
        {BASE, "#define BASE 1",
         "#ifdef GT_EMULATE\n#include \"emulator only\"\n#if 0\n#else\n"
         "one\n#endif\ntwo\n#else\n#define BASE 1\n#endif",
         false},
        {BASE, "two", "three", false},
        {BASE, "#define BASE 1", "#define BASE 2", true},
        {BASE, "#define BASE 2", "#define BASE 2\n#ifndef GT_EMULATE\nfour\n#else\nfive\n#endif",
         true},
        {BASE, "five", "six", false},
        {BASE, "#ifndef GT_EMULATE\nfour\n#else\nsix\n#endif", "four", false},
        {BASE, "four",
         "four\n#ifdef GT_EMULATE\nfirst_a\n#elif __CUDA_ARCH__ >= "
         "800\nsecond_a\n#else\nthird_a\n#endif",
         true},
        {BASE, "first_a", "first_b", false},
        {BASE, "second_a", "second_b", true},
        {BASE, "third_a", "third_b", true},
        {BASE, "#ifdef GT_EMULATE\nfirst_b\n#elif __CUDA_ARCH__ >= 800", "#if __CUDA_ARCH__ >= 800",
         false},
        {BASE, "four",
         "#ifndef GT_EMULATE\nfour\n#elif 1\n#if 1\nfourth_a\n#endif\n#else\nfifth_a\n#endif",
         false},
        {BASE, "fourth_a", "fourth_b", false},
        {BASE, "fifth_a", "fifth_b", false},
        {BASE, "four", "seven", true},
    };

    (void)state;
    PLAY(steps);
}

static void test_description(void **state)
{
    static const struct step steps[] = {
        /* What is for people or for the search only. */
        {JSON, "a kernel for the unit tests", "something else", false},
        {JSON, "each part of K must be worth it", "reasons", false},
        {JSON, "\"tflops\": 1.5", "\"tflops\": 1.6", false},
        {JSON, "\"rung\": 3,\n", "\"rung\":   4,", false},
        {JSON, "threads along m", "threads", false},
        {JSON, "[32, 64, 128]", "[32, 64, 128, 256]", false},
        {JSON, "\"default\": 64", "\"default\": 32", false},
        {JSON, "\"block_n\": 64", "\"block_n\": 65", false},
        {JSON, "\"model\"", "\"seeds\": [\"BM=32\"], \"model\"", false},
        {JSON, "{\"if\": \"TM <= BM\"",
         "{\"if\": \"ROWS < 9\", \"kind\": \"bet\", \"why\": \"w\"}, {\"if\": \"TM <= BM\"", false},
        {JSON, "ROWS < 9", "ROWS < 8", false},
        {JSON, "{\"name\": \"THREADS\"",
         "{\"name\": \"BET\", \"value\": \"ROWS+1\"}, {\"name\": \"THREADS\"", false},
        {JSON, "ROWS < 8", "BET < 8", false},
        /* What is said without need, or with other blanks. */
        {JSON, "BM/TM", "BM / TM", false},
        {JSON, "\"block\": [256]", "\"block\": [\" 256\", 1], \"carveout\": -1", false},
        {JSON, "{\"if\": \"TM <= BM\"", "{\"kind\": \"must\", \"if\": \"TM <= BM\"", false},
        {JSON, "\"min_cc\": 80, \"max_cc\": 90", "\"max_cc\": 90, \"min_cc\": 80", false},
        {JSON, "[\"nn\", \"nt\"]", "[\"nt\", \"nn\"]", false},
        /* What decides. */
        {JSON, "BM / TM", "BM / TM + 0", true},
        {JSON, "BET < 8\", \"kind\": \"bet", "BET < 8\", \"kind\": \"must", true},
        {JSON, "ROWS+1", "ROWS+2", true},
        {JSON, "K >= 256", "K >= 512", true},
        {JSON, "\"name\": \"TM\", \"values\": [1, 4, 8, 48], \"default\": 4, \"kind\": \"compile\"",
         "\"name\": \"TM\", \"values\": [1, 4, 8, 48], \"default\": 4, \"kind\": \"launch\"", true},
        {CU, "gemm(const int *args) {}", "gemm(const int *args) { MORE; }", true},
        {JSON, "{\"name\": \"PAD\"",
         "{\"name\": \"MORE\", \"values\": [1], \"default\": 1, \"kind\": \"launch\", \"doc\": "
         "\"more\"}, {\"name\": \"PAD\"",
         true},
        {JSON, "+PAD", "+PAD+MORE", true},
        {JSON, "cdiv(M,BM)", "cdiv(M, BM+0)", true},
        {JSON, "[\"THREADS\"]", "[\"THREADS\", 2]", true},
        {JSON, "\"carveout\": 50", "\"carveout\": 51", true},
        {JSON, "\"carveout\": 51", "\"carveout\": 51, \"pdl\": 1", true},
        {JSON, "\"SPLIT > 1\", \"grid\"", "\"SPLIT > 2\", \"grid\"", true},
        {JSON, "4*SPLIT*M*N*BATCH", "8*SPLIT*M*N*BATCH", true},
        {JSON, "\"deterministic\": \"SPLIT == 1\"", "\"deterministic\": \"SPLIT == 2\"", true},
        {JSON, "\"max_registers\": 128", "\"max_registers\": 127", true},
        {JSON, "\"code_ptx\": 0", "\"code_ptx\": 1", true},
        {JSON, "\"types\": [\"f32\"]", "\"types\": [\"f32\", \"f16\"]", true},
        {JSON, "\"batch\": true", "\"batch\": false", true},
        {JSON, "\"min_cc\": 80", "\"min_cc\": 86", true},
        {JSON, "\"accuracy\": \"strict\"", "\"accuracy\": \"f32\"", true},
        {JSON, "\"launches\": [\n    {\"entry\": \"gemm\",",
         "\"tensor_maps\": [{\"name\": \"a\", \"operand\": \"a\", \"dims\": [\"K\", \"M\"], "
         "\"strides\": [\"LDA*4\"], \"box\": [32, \"BM\"]}], \"launches\": [\n    "
         "{\"entry\": \"gemm\", \"maps\": true,",
         true},
        {JSON, "\"name\": \"a\"", "\"name\": \"rows of A\"", false},
        {JSON, "\"box\": [32, \"BM\"]", "\"box\": [32, \"TM\"]", true},
        {JSON, "\"box\": [32", "\"swizzle\": 128, \"box\": [32", true},
        {JSON, "\"operand\": \"a\"", "\"operand\": \"b\"", true},
        {JSON, "\"operand\": \"b\"", "\"operand\": \"b\", \"element\": \"f16\"", true},
    };

    (void)state;
    PLAY(steps);
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
                                    "\"absent.cuh\" is not in this folder or"));
    write_file("templates/common/tiny_more.cuh", "w", "#include \"tiny_base.cuh\"\n");
    assert_int_equal(load(signature, &err), GT_OK);
}

/* Files outside of the folders of kernel and includes are not read, whatever the way to them. */
static void test_outside(void **state)
{
    static const char *const outside[] = {"/etc/passwd",
                                          "../../../etc/passwd",
                                          "../../../../../../../../../../../etc/passwd",
                                          "./.././../.././../etc/passwd",
                                          "..//..//../etc/passwd",
                                          "common/../../../../etc/passwd",
                                          "common/../../../../nowhere"};
    static const char *const inside[] = {"../common/tiny_base.cuh",
                                         "../../templates/common/tiny_base.cuh",
                                         "common/../common//./tiny_base.cuh"};
    char text[256], signature[33];

    (void)state;
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        for (int header = 0; header < 2; header++) {
            struct gt_err err = {0};

            set_up(state);
            snprintf(text, sizeof(text), "\n#include \"%s\"\n", outside[i]);
            write_file(header ? BASE : CU, "a", text);
            assert_int_equal(load(signature, &err), GT_ECONFIG);
            snprintf(text, sizeof(text), "include \"%s\" is not in this folder or", outside[i]);
            assert_non_null(strstr(err.msg, text));
            tear_down(state);
        }
    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        snprintf(text, sizeof(text), "\n#include \"%s\"\n", inside[i]);
        set_up(state);
        write_file(CU, "a", text);
        assert_int_equal(load(signature, NULL), GT_OK);
        tear_down(state);
    }
    set_up(state); /* of a header the folder that it was found in, which is templates/ */
    write_file(BASE, "a", "\n#include \"../../configs/kernels/tiny.json\"\n");
    assert_int_equal(load(signature, NULL), GT_ECONFIG);
    tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FRESH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        FRESH(test_template), FRESH(test_directives), FRESH(test_includes),
        FRESH(test_renamed),  FRESH(test_emulator),   FRESH(test_description),
        FRESH(test_circle),   FRESH(test_missing),    cmocka_unit_test(test_outside),
    };

    return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}

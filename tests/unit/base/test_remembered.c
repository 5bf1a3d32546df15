/* test_remembered.c - test: what a remembered verdict depends on (tests/remembered.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/remembered.h"

static char folder[64]; /* with the files of the test; it is the build folder, too */

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    char path[128];

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/remembered-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tests", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    setenv("BUILD", folder, 1);
    unsetenv("FRESH");
    put("tests/machine.text", "int a;\n");
    put("own.cuh", "#include \"inner.cuh\"\n#define X 1\n");
    put("inner.cuh", "#define Y 2\n");
    put("other.cuh", "#define Z 3\n");
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char source[] = "#include \"own.cuh\"\nint b = X; // why\n";

static void find(char key[GT_DIGEST_HEX], const char *text, const char *what)
{
    char base[GT_DIGEST_HEX];

    gt_remember_base(base, "machine", "g++ 12");
    gt_remember_key(key, base, folder, text, what);
}

/* Whether the key is another one after the file has the text. */
static bool changes(const char *file, const char *text)
{
    char before[GT_DIGEST_HEX], after[GT_DIGEST_HEX];

    find(before, source, "point");
    put(file, text);
    find(after, source, "point");
    return strcmp(before, after) != 0;
}

static void test_comments(void **state)
{
    char key[GT_DIGEST_HEX], same[GT_DIGEST_HEX];

    (void)state;
    assert_false(changes("tests/machine.text", "/* of a\n machine */ int  a; // one\n"));
    assert_false(changes("inner.cuh", "// inner\n\n#define Y   2 /* two */\n"));
    find(key, source, "point");
    find(same, "\n#include \"own.cuh\"\n/* b */\nint b = X;\n", "point");
    assert_string_equal(key, same);
}

static void test_code(void **state)
{
    char key[GT_DIGEST_HEX], other[GT_DIGEST_HEX];

    (void)state;
    assert_true(changes("tests/machine.text", "int ab;\n"));
    assert_true(changes("own.cuh", "#include \"inner.cuh\"\n#define X \"1 // no comment\"\n"));
    assert_true(changes("own.cuh", "#include \"inner.cuh\"\n#define X \"1 // in a string\"\n"));
    assert_true(changes("inner.cuh", "#define Y 3\n"));
    assert_false(changes("other.cuh", "#define Z 4\n")); /* nobody includes it */
    find(key, source, "point");
    find(other, source, "other");
    assert_string_not_equal(key, other);
    find(other, "#include \"own.cuh\"\nint c = X;\n", "point");
    assert_string_not_equal(key, other);
}

static void test_verdicts(void **state)
{
    char key[GT_DIGEST_HEX], base[GT_DIGEST_HEX];
    int verdict = 7;

    (void)state;
    find(key, source, "verdict");
    assert_false(gt_remembered(key, &verdict, sizeof verdict));
    gt_remember(key, &verdict, sizeof verdict);
    verdict = 0;
    assert_true(gt_remembered(key, &verdict, sizeof verdict));
    assert_int_equal(verdict, 7);
    setenv("FRESH", "1", 1);
    assert_false(gt_remembered(key, &verdict, sizeof verdict));
    unsetenv("FRESH");
    gt_remember_base(base, "unknown", "g++ 12"); /* nobody knows what decides */
    gt_remember_key(key, base, folder, source, "verdict");
    gt_remember(key, &verdict, sizeof verdict);
    assert_false(gt_remembered(key, &verdict, sizeof verdict));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_verdicts),
    };

    return cmocka_run_group_tests_name("remembered verdicts", tests, setup, teardown);
}

/* test_kernel_json.c - every mistake in a kernel description is refused with a sentence that names
 * the file, the key and what is allowed.  Each case changes one place of a good description. */
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

#define DATA "tests/unit/data"
#define GOOD DATA "/configs/kernels/tiny.json"

struct change {
    const char *from, *to, *words; /* words NULL: still a good description */
};

static char folder[] = "/tmp/gt_kernel_XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/tiny.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* Writes the good description with the change to `path`. */
static void write_changed(const char *from, const char *to)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    const char *at;
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(gt_strbuf_add_file(&text, GOOD, NULL), GT_OK);
    at = strstr(text.text, from);
    if (!at)
        fail_msg("the good description does not hold %s", from);
    fprintf(file, "%.*s%s%s", (int)(at - text.text), text.text, to, at + strlen(from));
    fclose(file);
    gt_strbuf_release(&text);
}

static void check(const struct change *change)
{
    struct gt_kernel *kernel = NULL;
    struct gt_err err = {0};
    int rc;

    write_changed(change->from, change->to);
    rc = gt_kernel_load(&kernel, DATA, path, &err);
    if (!change->words) {
        if (rc)
            fail_msg("%s -> %s: %s", change->from, change->to, err.msg);
        gt_kernel_free(kernel);
        return;
    }
    if (rc != GT_ECONFIG || err.code != GT_ECONFIG)
        fail_msg("%s -> %s: %d, expected %s", change->from, change->to, rc, change->words);
    assert_null(kernel);
    if (strncmp(err.msg, path, strlen(path)) || !strstr(err.msg, change->words))
        fail_msg("%s -> %s: \"%s\" lacks \"%s\"", change->from, change->to, err.msg, change->words);
    assert_int_equal(gt_kernel_load(&kernel, DATA, path, NULL), GT_ECONFIG);
}

#define CHECK_ALL(changes)                                              \
    do {                                                                \
        for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) \
            check(&changes[i]);                                         \
    } while (0)

static void test_top(void **state)
{
    static const struct change changes[] = {
        {"", "", NULL},
        {"\"doc\": \"a kernel", "\"dok\": \"a kernel",
         "tiny.json: unknown key \"dok\" (did you mean \"doc\"?); allowed: kernel doc template"},
        {"\"doc\": \"a kernel", "\"role\": \"x\", \"doc\": \"a", "key \"role\" is given twice"},
        {"\"doc\": \"a kernel for the unit tests\",", "", "key \"doc\" is missing"},
        {"\"kernel\": \"tiny\"", "\"kernel\": \"teeny\"", "it must be the file's name"},
        {"\"kernel\": \"tiny\"", "\"kernel\": \"ti-ny\"", "letters, digits and _"},
        {"\"kernel\": \"tiny\"", "\"kernel\": 3", "\"kernel\" must be a string"},
        {"\"kernel\": \"tiny\"", "\"kernel\": \"\"", "\"kernel\" is empty"},
        {"tiny/tiny.cu", "../tiny.cu", "it must be a path inside the data folder"},
        {"templates/tiny", "/templates/tiny", "it must be a path inside the data folder"},
        {"tiny/tiny.cu", "tiny/none.cu", "is neither beside the description nor in " DATA},
        {"\"ladder\"", "\"stairs\"", "\"role\" is \"stairs\"; it must be production or ladder"},
        {"\"rung\": 3,", "", "key \"rung\" is missing"},
        {"\"rung\": 3,", "\"rung\": 0,", "\"rung\" is 0; it must be a whole number from 1 to 99"},
        {"\"ladder\"", "\"production\"", "\"rung\" is for kernels of the ladder only"},
        {"\"workspace\": \"SPLIT", "\"workspace\": \"SPLAT",
         "workspace: expression \"SPLAT > 1 ? 4*SPLIT*M*N*BATCH : 0\": unknown name \"SPLAT\"; did "
         "you mean \"SPLIT\"?"},
        {"\"deterministic\": \"SPLIT == 1\"", "\"deterministic\": true",
         "\"deterministic\" must be an expression (a string) or a whole number"},
        {"\"max_registers\"", "\"max_regs\"", "compile: unknown key \"max_regs\""},
        {"\"code_ptx\": 0", "\"code_ptx\": 0.5", "compile: \"code_ptx\" must be an expression"},
        {"\"block_m\": \"BM\"", "\"block_m\": \"\"", "model: \"block_m\" must be an expression"},
        {"\"block_m\": \"BM\"", "\"tile_m\": \"BM\"", "model: unknown key \"tile_m\""},
        {"\"model\": {\"block_m\": \"BM\", \"block_n\": 64, \"group\": \"GROUP_M\"}",
         "\"model\": []", "\"model\" must be an object"},
        {"\"share\": 0.25", "\"share\": -1", "reported[0]: \"share\" is -1"},
        {"\"share\": 0.25", "\"percent\": 25", "reported[0]: unknown key \"percent\""},
        {"[{\"source\": \"somewhere\", \"tflops\": 1.5, \"share\": 0.25}]", "[3]",
         "reported[0] must be an object"},
    };

    (void)state;
    CHECK_ALL(changes);
}

static void test_serves(void **state)
{
    static const struct change changes[] = {
        {"\"types\": [\"f32\"]", "\"types\": [\"f33\"]",
         "serves: \"types\" lists \"f33\"; it must be one of: f32 tf32 f16"},
        {"\"types\": [\"f32\"]", "\"types\": [\"s32\"]",
         "lists \"s32\"; it must be one of: f32 tf32 f16 bf16 e4m3 e5m2 s8"},
        {"\"types\": [\"f32\"]", "\"types\": []", "\"types\" is empty; it must list some of: f32"},
        {"\"types\": [\"f32\"]", "\"types\": [\"f32\", \"f32\"]", "lists \"f32\" twice"},
        {"\"types\": [\"f32\"]", "\"types\": [32]", "it must be one of"},
        {"\"types\": [\"f32\"]", "\"types\": \"f32\"", "\"types\" must be a list"},
        {"\"out\": [\"f32\"],", "", "serves: key \"out\" is missing"},
        {"[\"nn\", \"nt\"]", "[\"nn\", \"xx\"]", "it must be one of: nn nt tn tt"},
        {"[\"none\", \"bias\"]", "[\"relu+bias\"]", "none bias relu gelu gelu_tanh silu"},
        {"\"epilogues\": [\"none\", \"bias\"],", "", NULL},
        {"\"min_cc\": 80", "\"min_cc\": 70", "\"min_cc\" is 70; it must be a whole number from 75"},
        {"\"min_cc\": 80", "\"min_cc\": 91", "max_cc 90 is below min_cc 91"},
        {"\"max_cc\": 90,", "", NULL},
        {"\"batch\": true}", "\"batch\": true, \"max_m\": 0}", "\"max_m\" is 0; it must be"},
        {"\"serves\": {", "\"serves\": [], \"served\": {", "unknown key \"served\""},
        {"\"strict\"", "\"exact\"", "\"accuracy\" is \"exact\"; it must be strict, f32"},
        {"\"batch\": true", "\"batch\": 1", "\"batch\" must be true or false"},
        {", \"batch\": true", "", NULL},
        {"\"batch\": true", "\"batched\": true", "serves: unknown key \"batched\" (did you mean"},
    };

    (void)state;
    CHECK_ALL(changes);
}

/* A list: an entry says what is other than in the one before it. */
static void test_serves_list(void **state)
{
    static const char first[] =
        "\"serves\": [{\"types\": [\"f32\"], \"out\": [\"f32\"], \"min_cc\": "
        "80, \"layouts\": [\"nn\"], \"accuracy\": \"f32\"}";
    static const struct {
        const char *rest, *expected; /* of the list */
    } cases[] = {
        {"]", NULL},
        {", {\"types\": [\"f16\"]}]", NULL},
        {", {\"types\": [\"f16\"], \"min_cc\": 86, \"max_cc\": 89, \"accuracy\": \"low\"}, {}]",
         NULL},
        {", 7]", "serves[1] must be an object"},
        {", {\"type\": []}]", "serves[1]: unknown key \"type\" (did you mean \"types\"?)"},
        {", {\"types\": []}]", "serves[1]: \"types\" is empty"},
        {", {\"max_cc\": 75}]", "serves[1]: max_cc 75 is below min_cc 80"},
        {", {}, {}, {}, {}, {}, {}, {}, {}]", "\"serves\" has 9 entries; at most 8 are allowed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_strbuf to = GT_STRBUF_INIT;

        gt_strbuf_addf(&to, "%s%s, \"params\": [", first, cases[i].rest);
        check(
            &(struct change){"\"serves\": {\"types\": [\"f32\"], \"out\": [\"f32\"], \"layouts\": "
                             "[\"nn\", \"nt\"], \"min_cc\": 80, \"max_cc\": 90,\n             "
                             "\"accuracy\": \"strict\", \"epilogues\": [\"none\", \"bias\"], "
                             "\"batch\": true},\n  \"params\": [",
                             to.text, cases[i].expected});
        gt_strbuf_release(&to);
    }
}

/* Items that stand for several. */
static void test_repeat_and_use(void **state)
{
    static const struct change changes[] = {
        {"{\"name\": \"WARPS\"",
         "{\"repeat\": {\"I\": [1, 3]}, \"name\": \"X$I\", \"value\": \"ROWS * $I\", \"doc\": "
         "\"$I\"}, "
         "{\"name\": \"WARPS\"",
         NULL},
        {"{\"name\": \"WARPS\"",
         "{\"repeat\": {\"I\": [1, 3]}, \"name\": \"X\", \"value\": \"$I\"}, {\"name\": \"WARPS\"",
         "derive[2]: name \"X\" is taken by an earlier parameter"},
        {"{\"name\": \"WARPS\"",
         "{\"repeat\": {\"I\": [1, 3]}, \"name\": \"X$I\", \"value\": \"$J\"}, {\"name\": "
         "\"WARPS\"",
         "derive[1]: value: expression \"$J\""},
        {"{\"name\": \"WARPS\"", "{\"repeat\": 3, \"name\": \"WARPS\"",
         "derive[1]: \"repeat\" must be an object like {\"I\": [1, 7]}, of at most 64 numbers"},
        {"{\"name\": \"WARPS\"", "{\"repeat\": {\"I\": [1, 65]}, \"name\": \"WARPS\"",
         "derive[1]: \"repeat\" must be an object like"},
        {"{\"name\": \"WARPS\"", "{\"repeat\": {\"I\": [2, 1]}, \"name\": \"WARPS\"",
         "derive[1]: \"repeat\" must be an object like"},
        {"{\"name\": \"WARPS\"", "{\"repeat\": {\"I\": [1, 2], \"J\": [1, 2]}, \"name\": \"WARPS\"",
         "derive[1]: \"repeat\" must be an object like"},
        {"{\"name\": \"WARPS\"",
         "{\"use\": \"area\", \"X\": \"AREA\", \"WIDE\": \"TM\"}, {\"name\": \"WARPS\"", NULL},
        {"{\"name\": \"WARPS\"", "{\"use\": \"area\", \"X\": \"AREA\"}, {\"name\": \"WARPS\"",
         "derive[1]: \"use\" needs \"WIDE\", a string"},
        {"{\"name\": \"WARPS\"",
         "{\"use\": \"area\", \"X\": \"AREA\", \"WIDE\": \"TM\", \"Y\": \"\"}, {\"name\": "
         "\"WARPS\"",
         "derive[1]: beside \"use\" only the names of the formulas may be given, each once"},
        {"{\"name\": \"WARPS\"", "{\"use\": \"none\"}, {\"name\": \"WARPS\"",
         "derive[1]: \"use\": " DATA "/configs/formulas/none.json"},
        {"{\"name\": \"WARPS\"", "{\"use\": \"../area\"}, {\"name\": \"WARPS\"",
         "derive[1]: \"use\" must be the name of a file of configs/formulas"},
        {"{\"name\": \"WARPS\"", "{\"use\": \"lists\"}, {\"name\": \"WARPS\"",
         "configs/formulas/lists.json: \"names\" and \"items\" must be lists"},
        {"{\"if\": \"TM <= BM\", ", "{\"if\": \"TM <= BM\", \"kind\": \"bet\", ", NULL},
        {"{\"if\": \"TM <= BM\", ", "{\"if\": \"TM <= BM\", \"kind\": \"guess\", ",
         "constraints[0]: \"kind\" is \"guess\"; it must be must or bet"},
        {"{\"if\": \"TM <= BM\", ",
         "{\"if\": \"TM <= BM\", \"kind\": \"bet\", \"instead\": \"TM=1\", ", NULL},
        {"{\"if\": \"TM <= BM\", ", "{\"if\": \"TM <= BM\", \"instead\": \"TM=1\", ",
         "constraints[0]: \"instead\" belongs to constraints of kind \"bet\""},
        {"{\"if\": \"TM <= BM\", ",
         "{\"if\": \"TM <= BM\", \"kind\": \"bet\", \"instead\": \"TM=3\", ",
         "constraints[0]: kernel tiny: TM cannot be \"3\"; its values are: 1 4 8 48"},
        {"{\"if\": \"TM <= BM\", ", "{\"if\": \"TM <= BM\", \"kind\": \"bet\", \"instead\": 1, ",
         "constraints[0]: \"instead\" must be a string"},
    };

    (void)state;
    CHECK_ALL(changes);
}

static void test_params(void **state)
{
    static const struct change changes[] = {
        {"[32, 64, 128]", "[]", "params[0] (BM): \"values\" is empty; it must list 1 to 256"},
        {"[32, 64, 128]", "[32, 64, 32]", "params[0] (BM): value 32 is listed twice"},
        {"[32, 64, 128]", "[32, 64.5]", "values[1] must be a whole number of 32 bits"},
        {"[32, 64, 128]", "[32, \"64\"]", "values[1] must be a whole number of 32 bits"},
        {"[32, 64, 128]", "[32, 5000000000]", "values[1] must be a whole number of 32 bits"},
        {"[32, 64, 128]", "64", "\"values\" must be a list"},
        {"\"default\": 64", "\"default\": 65", "\"default\" 65 is not among the values"},
        {"\"default\": 64, ", "", "params[0] (BM): key \"default\" is missing"},
        {"\"kind\": \"compile\"", "\"kind\": \"static\"", "it must be compile or launch"},
        {"\"kind\": \"compile\", ", "", NULL},
        {", \"doc\": \"rows per block\"", "", "key \"doc\" is missing"},
        {"{\"name\": \"BM\", ", "{", "params[0]: key \"name\" is missing"},
        {"\"name\": \"TM\"", "\"name\": \"BM\"",
         "params[1] (BM): name \"BM\" is taken by an earlier parameter or derived value"},
        {"\"name\": \"TM\"", "\"name\": \"M\"", "is taken by a fact of the problem or the device"},
        {"\"name\": \"TM\"", "\"name\": \"min\"", "name \"min\" is reserved"},
        {"\"name\": \"TM\"", "\"name\": \"GT_TM\"", "begins with GT_, gt_ or __"},
        {"\"name\": \"TM\"", "\"name\": \"T M\"", "must consist of letters, digits and _"},
        {"\"name\": \"TM\"", "\"name\": \"0TM\"", "must consist of letters, digits and _"},
        {"\"name\": \"TM\"", "\"name\": \"A123456789012345678901234567890123456789\"",
         "is longer than 31 characters"},
        {"\"name\": \"TM\"", "\"title\": \"x\", \"name\": \"TM\"", "unknown key \"title\""},
        {"{\"name\": \"GROUP_M\", \"values\": [1, 4], \"default\": 4, \"kind\": \"launch\", "
         "\"doc\": "
         "\"raster group\"}",
         "7", "params[2] must be an object"},
        {"\"params\": [",
         "\"params\": [{\"name\": \"EXTRA\", \"values\": [1], \"default\": 1, \"doc\": \"x\"},",
         "params[0] (EXTRA): the template templates/tiny/tiny.cu does not mention EXTRA"},
        {"4*16*(BM+64)+PAD", "4*16*(BM+64)",
         "params[4] (PAD): the template templates/tiny/tiny.cu does not mention PAD, nor do "
         "launches or tensor maps"},
    };

    (void)state;
    CHECK_ALL(changes);
}

static void test_expressions(void **state)
{
    static const struct change changes[] = {
        {"\"value\": \"BM/TM\"", "\"value\": \"ROWS\"",
         "derive[0]: value: expression \"ROWS\": un"},
        {"\"value\": \"BM/TM\"", "\"value\": \"WARPS\"", "unknown name \"WARPS\""},
        {"\"value\": \"BM/TM\"", "\"value\": \"BM//TM\"", "character 4: expected a number"},
        {"\"value\": \"BM/TM\", ", "", "derive[0]: key \"value\" is missing"},
        {"\"name\": \"ROWS\"", "\"name\": \"BM\"", "derive[0]: name \"BM\" is taken"},
        {"\"name\": \"WARPS\"", "\"name\": \"ROWS\"", "derive[1]: name \"ROWS\" is taken"},
        {"\"value\": \"BM/TM\"", "\"value\": 32", NULL},
        {"\"if\": \"TM <= BM\"", "\"if\": \"TM <= \"", "constraints[0]: if: expression \"TM <= \""},
        {"\"if\": \"TM <= BM\"", "\"when\": \"1\"", "constraints[0]: unknown key \"when\""},
        {"\"if\": \"TM <= BM\", ", "", "constraints[0]: key \"if\" is missing"},
        {", \"why\": \"a thread has at most the rows of its block\"", "",
         "constraints[0]: key \"why\" is missing"},
        {"\"entry\": \"reduce\"", "\"entry\": \"reduction\"",
         "launches[1]: the template templates/tiny/tiny.cu has no entry \"reduction\""},
        {"\"block\": [\"THREADS\"]", "\"block\": [\"THREAD\"]",
         "launches[0]: block[0]: expression"},
        {"\"block\": [\"THREADS\"]", "\"block\": []", "must list 1 to 3 expressions"},
        {"\"block\": [\"THREADS\"]", "\"block\": [1,1,1,1]", "must list 1 to 3 expressions"},
        {"\"block\": [\"THREADS\"]", "\"block\": \"THREADS\"", "\"block\" must be a list"},
        {"\"block\": [\"THREADS\"]", "\"block\": [null]", "\"block[0]\" must be an expression"},
        {"\"block\": [\"THREADS\"],", "", "launches[0]: key \"block\" is missing"},
        {"\"carveout\": 50", "\"curveout\": 50", "launches[0]: unknown key \"curveout\""},
        {"\"shared\": \"4", "\"shared\": \"1.5", "only whole numbers are allowed here"},
    };

    (void)state;
    CHECK_ALL(changes);
}

static void test_syntax(void **state)
{
    static const struct change changes[] = {
        {"\"rung\": 3,", "\"rung\": 3", "line 7: malformed JSON near \"\"reported\""},
        {"\"SPLIT == 1\",", "\"SPLIT == 1,", "malformed JSON"},
        {"{\n", "[\n", "malformed JSON"},
        {"\"SPLIT == 1\",", "\"SPLIT == 1\\u0000 && 0\",", "NUL"},
        {"\"SPLIT == 1\",", "\"SPLIT == 1\\\\\\u0000\",", "NUL"},
        {"\"SPLIT == 1\",", "\"SPLIT == 1\\\\u0000\",", "SPLIT == 1\\u0000"},
        {"\"kernel\"", "\"kernel\\u0000s\"", "NUL"},
        {"{\n  \"kernel\"", "// remark\n{\n  \"kernel\"", "line 1: malformed JSON"},
    };

    (void)state;
    CHECK_ALL(changes);
}

/* A list longer than its limit. */
static void too_many(const char *key, const char *item, int count, const char *words)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    struct change change = {key, NULL, words};

    gt_strbuf_add(&list, key);
    for (int i = 0; i < count; i++) {
        gt_strbuf_addf(&list, item, i, i);
        gt_strbuf_add_char(&list, ',');
    }
    assert_int_equal(gt_strbuf_check(&list, NULL), GT_OK);
    change.to = list.text;
    check(&change);
    gt_strbuf_release(&list);
}

static void test_limits(void **state)
{
    (void)state;
    too_many("\"params\": [",
             "{\"name\": \"P%d\", \"values\": [%d], \"default\": 1, \"doc\": \"x\"}", GT_MAX_PARAMS,
             "\"params\" has 69 entries; at most 64 are allowed");
    too_many("\"derive\": [", "{\"name\": \"D%d\", \"value\": %d}", GT_MAX_DERIVED,
             "\"derive\" has 67 entries; at most 64");
    too_many("\"launches\": [", "{\"entry\": \"e%d\", \"grid\": [1], \"block\": [%d]}",
             GT_MAX_LAUNCHES, "\"launches\" has 8 entries; at most 6");
    too_many("\"params\": [",
             "{\"name\": \"P%d\", \"values\": [0], \"default\": 0, \"kind\": \"launch\", \"doc\": "
             "\"%d\"}",
             14, "17 parameters of kind launch; gt_args has room for 16");
    too_many("\"values\": [", "10%d%d", 300, "params[0] (BM): \"values\" is too long");
}

static void test_unreadable(void **state)
{
    struct gt_kernel *kernel;
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(gt_kernel_load(&kernel, DATA, "/nonexistent/tiny.json", &err), GT_EIO);
    assert_non_null(strstr(err.msg, "/nonexistent/tiny.json"));
    assert_int_equal(gt_kernel_load(&kernel, DATA, DATA, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "not a regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top),         cmocka_unit_test(test_serves),
        cmocka_unit_test(test_serves_list), cmocka_unit_test(test_repeat_and_use),
        cmocka_unit_test(test_params),      cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_syntax),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_unreadable),
    };

    return cmocka_run_group_tests_name("kernel_json", tests, make_folder, remove_folder);
}

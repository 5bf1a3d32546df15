/* test_trials.c - measured trials as a compact text: what of a database goes into it, and that what
 * is read back is what was stored; files that are damaged, of another kind, or wrong in one line.
 */
#include "export_fixture.h"

#include <zlib.h>

#include "base/digest.h"
#include "exchange/trials.h"

static int note(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct gt_strbuf *seen = context;

    gt_strbuf_addf(seen, "%d|%s|%s|%s|%s|%.3f|%.0f|%s\n", named->cc, named->device, named->problem,
                   named->kernel, named->point, named->trial.us, named->trial.clock_mhz,
                   gt_status_name(named->trial.status));
    return gt_strbuf_check(seen, err);
}

/* Reads the lines behind a right digest. */
static int read_body(const char *body, struct gt_strbuf *seen, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];
    int rc;

    gt_digest_bytes(body, strlen(body), digest);
    gt_strbuf_addf(&text, "%s%s\n%s", GT_TRIALS_MAGIC, digest, body);
    rc = gt_trials_parse("some-trials", text.text, text.length, note, seen, err);
    gt_strbuf_release(&text);
    return rc;
}

static void put(struct fixture *f, const char *point, enum gt_status status, double us, int timing)
{
    struct gt_trial trial = fixture_trial(us, status == GT_STATUS_OK ? 3 : 0);

    trial.status = status;
    trial.clock_mhz = 1755;
    f->key.timing = timing;
    fixture_put(f, point, &trial);
}

static void test_what_is_stored_comes_back(void **state)
{
    struct fixture *f = *state;
    const struct gt_row_filter all = {.provenance = 0};
    struct gt_strbuf seen = GT_STRBUF_INIT;
    struct gt_problem problem;
    char path[sizeof(f->folder) + 32], *text;
    size_t lines = 0;
    gzFile file;

    put(f, "BM=64,BN=-1", GT_STATUS_OK, 90, 0);
    put(f, "BM=32,BN=8", GT_STATUS_SPILLS, 0, 0);
    put(f, "BM=16,BN=8", GT_STATUS_SLOW, 900, 0);
    put(f, "BM=8,BN=8", GT_STATUS_SLOW, 0, 0);  /* rejected before it ran */
    put(f, "BM=4,BN=8", GT_STATUS_WRONG, 9, 0); /* says nothing of time */
    put(f, "BM=64,BN=8", GT_STATUS_OK, 90, 2);  /* in a chain of launches */
    put(f, "13 2 0", GT_STATUS_OK, 80, 0);      /* no names: the vendor library's */
    gt_problem_init(&problem, 32, 32, 32);
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    put(f, "BM=64", GT_STATUS_OK, 3.25, 0);
    text = export_text(f, GT_EXPORT_TRIALS, &all);
    snprintf(path, sizeof(path), "%s/own-" GT_TRIALS_ENDING, f->folder);
    file = gzopen(path, "wb");
    assert_int_equal(gzputs(file, text), strlen(text));
    gzclose(file);
    OK(f, gt_trials_read(path, note, &seen, &f->err));
    assert_string_equal(seen.text,
                        "90|NVIDIA Test|256x128x64:f32:nn|simt|BM=64,BN=-1|90.000|1755|ok\n"
                        "90|NVIDIA Test|256x128x64:f32:nn|simt|BM=32,BN=8|0.000|1755|spills\n"
                        "90|NVIDIA Test|256x128x64:f32:nn|simt|BM=16,BN=8|900.000|1755|slow\n"
                        "90|NVIDIA Test|32x32x32:f32:nn|simt|BM=64|3.250|1755|ok\n");
    /* What belongs to several trials stands there once. */
    for (size_t i = 0; i < strlen(text); i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 1 + 3 + 3 + 2 + 1);
    gt_strbuf_release(&seen);
    free(text);
    text = export_text(f, GT_EXPORT_TRIALS, &(struct gt_row_filter){.kernel = "none"});
    gt_strbuf_reset(&seen);
    OK(f, gt_trials_parse("none", text, strlen(text), note, &seen, &f->err));
    assert_int_equal(seen.length, 0);
    free(text);
}

static void test_wrong_files(void **state)
{
    static const struct {
        const char *body, *sentence;
    } wrong[] = {
        {"device 9 X\n", "2: a device is its compute capability"},
        {"device 90\n", "2: a device is its compute capability"},
        {"problem 1x1x1 2\n", "2: a problem is one word"},
        {"problem 1x1x1\nkernel simt 00\n", "3: a kernel is its name, signature and parameters"},
        {"1 2 3 ok\n", "2: a trial stands before its device"},
        {"device 90 X\nproblem 1x1x1\nkernel k 0 A\n1,2 3 4 ok\n", "5: a trial has other values"},
        {"device 90 X\nproblem 1x1x1\nkernel k 0 A,B\n1 3 4 ok\n", "5: a trial has other values"},
        {"device 90 X\nproblem 1x1x1\nkernel k 0 A\nx 3 4 ok\n", "5: a trial has other values"},
        {"device 90 X\nproblem 1x1x1\nkernel k 0 A\n1 nan 4 ok\n", "5: a trial is values"},
        {"device 90 X\nproblem 1x1x1\nkernel k 0 A\n1 0 4 ok\n", "5: a trial is values"},
        {"device 90 X\nproblem 1x1x1\nkernel k 0 A\n1 2 4 wrong\n", "5: a trial is values"},
    };
    struct gt_strbuf seen = GT_STRBUF_INIT;
    struct gt_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(read_body(wrong[i].body, &seen, &err), GT_EDB);
        if (!strstr(err.msg, wrong[i].sentence) || strncmp(err.msg, "some-trials:", 12) != 0)
            fail_msg("%s: %s", wrong[i].body, err.msg);
    }
    assert_int_equal(seen.length, 0);
    assert_int_equal(gt_trials_parse("t", "a table", 7, note, &seen, &err), GT_ESTALE);
    assert_int_equal(gt_trials_parse("t", GT_TRIALS_MAGIC "00000000000000000000000000000000\n", 53,
                                     note, &seen, &err),
                     GT_EDB);
    assert_int_equal(gt_trials_read("/none-trials.gz", note, &seen, &err), GT_EIO);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_stored_comes_back),
        TEST(test_wrong_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_cmd_csv.c - CSV records: quoting, empty fields, a file that cannot be written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gemmtune.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"

static void test_records(void **state)
{
    char path[] = "/tmp/gt_csv_XXXXXX";
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_csv *csv;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(gt_csv_new(&csv, path, "a,b,c,d", NULL), GT_OK);
    gt_csv_text(csv, "BM=1,BN=2");
    gt_csv_text(csv, "say \"so\"");
    gt_record_add(&(struct gt_record){.csv = csv}, "known=%.3f unknown=%.3f", 1.23456, NAN);
    gt_csv_end(csv);
    gt_record_add(&(struct gt_record){.csv = csv}, "whole=%d", 7);
    gt_csv_text(csv, "");
    gt_csv_end(csv);
    assert_int_equal(gt_csv_close(csv, NULL), GT_OK);
    assert_int_equal(gt_strbuf_add_file(&text, path, NULL), GT_OK);
    assert_string_equal(text.text, "a,b,c,d\n\"BM=1,BN=2\",\"say \"\"so\"\"\",1.235,\n7,\n");
    gt_strbuf_release(&text);
    unlink(path);
}

static void test_nowhere(void **state)
{
    struct gt_err err = {0};
    struct gt_csv *csv = NULL;

    (void)state;
    assert_int_equal(gt_csv_new(&csv, "/nowhere/x.csv", "a", &err), GT_EIO);
    assert_string_equal(err.msg, "/nowhere/x.csv: cannot write: No such file or directory");
    assert_int_equal(gt_csv_close(NULL, NULL), GT_OK);
    gt_csv_text(NULL, "ignored");
    gt_csv_end(NULL);
}

static void test_full_disk(void **state)
{
    struct gt_err err = {0};
    struct gt_csv *csv;

    (void)state;
    assert_int_equal(gt_csv_new(&csv, "/dev/full", "a", &err), GT_OK);
    gt_csv_text(csv, "lost");
    gt_csv_end(csv);
    assert_int_equal(gt_csv_close(csv, &err), GT_EIO);
}

static void expect_file(const char *path, const char *expected)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    assert_int_equal(gt_strbuf_add_file(&text, path, NULL), GT_OK);
    assert_string_equal(text.text, expected);
    gt_strbuf_release(&text);
}

/* An older file stays until there is something better. */
static void test_the_old_file_stays(void **state)
{
    char path[] = "/tmp/gt_csv_XXXXXX";
    struct gt_csv *csv;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "old\n", 4), 4);
    close(fd);
    assert_int_equal(gt_csv_new(&csv, path, "a", NULL), GT_OK);
    expect_file(path, "old\n");
    assert_int_not_equal(gt_csv_close(csv, NULL), GT_OK); /* the run had failed before a record */
    expect_file(path, "old\n");
    assert_int_equal(gt_csv_new(&csv, path, "a", NULL), GT_OK);
    gt_csv_line(csv, "1");
    expect_file(path, "old\n");
    assert_int_equal(gt_csv_close(csv, NULL), GT_OK); /* it was interrupted later */
    expect_file(path, "a\n1\n");
    assert_int_equal(gt_csv_new(&csv, path, "b", NULL), GT_OK);
    assert_int_equal(gt_csv_close(csv, &(struct gt_err){0}), GT_OK); /* nothing was to be told */
    expect_file(path, "b\n");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_the_old_file_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

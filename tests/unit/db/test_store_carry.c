/* test_store_carry.c - a trial taken over to another text of its kernel: what comes along, and what
 * stays. */
#include "store_fixture.h"

/* Rows as "signature point us timing date-is-old", one a line. */
static int collect(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %s %g %s%s\n", row->signature, row->point, row->us,
                   gt_timing_name(row->timing),
                   strcmp(row->date, "2001-09-09T01:46:40Z") == 0 ? " old" : "");
    return GT_OK;
}

static void expect(struct fixture *f, const char *expected)
{
    static const struct gt_row_filter everything = {0};
    struct gt_strbuf text = GT_STRBUF_INIT;

    OK(f, gt_store_rows(f->store, &everything, collect, &text, &f->err));
    assert_string_equal(text.text, expected);
    gt_strbuf_release(&text);
}

static const struct gt_row row = {.device = "NVIDIA Test",
                                  .uuid = "GPU-0000",
                                  .cc = 90,
                                  .driver = 13000,
                                  .nvrtc = 13000,
                                  .problem = "256x128x64:f32:nn",
                                  .kernel = "simt",
                                  .signature = "aaaa",
                                  .point = "BM=64"};

/* Two points of the older text, of which BM=64 has won, and a key for the later text. */
static struct gt_trial_key put_rows(struct fixture *f)
{
    static const char *const kernels[] = {"simt", "simt"}, *const points[] = {"BM=64", "BM=32"};
    struct gt_kernel later = fixture_kernel((char *)"simt", "bbbb");
    struct gt_trial trial = fixture_trial(50, 3);
    struct gt_trial_key to = {.sweep = f->key.sweep, .point = "NEW=0,BM=64"};

    fixture_put(f, "BM=32", &trial);
    trial = fixture_trial(50.1, 3);
    fixture_put(f, "BM=64", &trial);
    OK(f, gt_store_tie(f->store, &f->key, kernels, points, 2, &f->err));
    OK(f, gt_store_exec(f->store, "UPDATE trial SET at = 1000000000000", &f->err));
    OK(f, gt_store_kernel(f->store, &later, &to.kernel, &f->err));
    return to;
}

static void test_a_trial_is_taken_over(void **state)
{
    struct fixture *f = *state;
    const struct gt_trial_key to = put_rows(f);
    int64_t chosen;

    OK(f, gt_store_carry(f->store, &row, &to, &f->err));
    expect(f, "bbbb NEW=0,BM=64 50.1 cold old\naaaa BM=64 50.1 cold old\naaaa BM=32 50 cold old\n");
    OK(f,
       gt_store_integer(f->store, "SELECT count(*) FROM tie WHERE chosen AND point = 'NEW=0,BM=64'",
                        &chosen, &f->err));
    assert_int_equal(chosen, 1);
}

/* A trial of the later text that is there already stays, and so does what is not the row's. */
static void test_only_the_rows_own_is_taken(void **state)
{
    struct fixture *f = *state;
    const struct gt_trial_key to = put_rows(f);
    struct gt_row other = row;

    other.timing = GT_TIMING_GRAPH;
    OK(f, gt_store_carry(f->store, &other, &to, &f->err));
    other = row;
    other.uuid = "GPU-1111";
    OK(f, gt_store_carry(f->store, &other, &to, &f->err));
    other = row;
    other.nvrtc = 12080;
    OK(f, gt_store_carry(f->store, &other, &to, &f->err));
    other = row;
    other.signature = "cccc";
    OK(f, gt_store_carry(f->store, &other, &to, &f->err));
    expect(f, "aaaa BM=64 50.1 cold old\naaaa BM=32 50 cold old\n");
    OK(f, gt_store_carry(f->store, &row, &to, &f->err));
    OK(f, gt_store_exec(f->store, "UPDATE trial SET us = 49, lo_us = 48 WHERE point LIKE 'NEW%'",
                        &f->err));
    OK(f, gt_store_carry(f->store, &row, &to, &f->err));
    expect(f, "bbbb NEW=0,BM=64 49 cold old\naaaa BM=64 50.1 cold old\naaaa BM=32 50 cold old\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_trial_is_taken_over),
        TEST(test_only_the_rows_own_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

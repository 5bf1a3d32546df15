/* test_store_energy.c - the energies of products: the latest of each candidate is kept, only what
 * belongs to one device and to today's kernels is compared, and a merge takes the newer. */
#include "store_fixture.h"

/* Writes the energy of a candidate whose product takes so long and so much. */
static void put_within(struct fixture *f, const char *kernel, const char *signature,
                       const char *point, double us, double joules, double error)
{
    const struct gt_energy_row row = {
        .kernel = kernel,
        .signature = signature,
        .point = point,
        .energy = {.us = us, .joules = joules, .error = error, .watts = 1, .launches = 1}};

    OK(f, gt_store_put_energy(f->store, &row, &f->key, &f->err));
}

static void put(struct fixture *f, const char *kernel, const char *signature, const char *point,
                double us, double joules)
{
    put_within(f, kernel, signature, point, us, joules, 0);
}

static int collect(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    char best[GT_ENERGY_BEST_MAX];

    (void)err;
    gt_energy_best(&row->rank, true, best);
    gt_strbuf_addf(context, "%s %s %g %g%s%s%s\n", row->kernel, row->point, row->energy.us,
                   row->energy.joules, *best ? " " : "", best,
                   row->rank.tie[GT_BY_ENERGY] && row->rank.best[GT_BY_ENERGY] ? " *" : "");
    return GT_OK;
}

static void expect_filtered(struct fixture *f, const struct gt_energy_filter *filter,
                            const char *expected)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    OK(f, gt_store_energies(f->store, filter, collect, &text, &f->err));
    assert_string_equal(text.text, expected);
    gt_strbuf_release(&text);
}

static void expect(struct fixture *f, const struct gt_device *device, const char *expected)
{
    const struct gt_energy_filter filter = {.rows.problem = device ? "256x128x64:f32:nn" : NULL,
                                            .device = device};

    expect_filtered(f, &filter, expected);
}

static void test_best(void **state)
{
    struct gt_device device = fixture_device();
    struct fixture *f = *state;

    put(f, "simt", "aaaa", "BM=64", 10, 5);
    put(f, "simt", "aaaa", "BM=128", 12, 4);
    put(f, "cublaslt", "", "", 30, 2.5);
    put(f, "simt", "aaaa", "BM=128", 11, 4); /* once more: it replaces the row */
    expect(f, &device, "simt BM=64 10 5 time\nsimt BM=128 11 4 edp\ncublaslt  30 2.5 energy\n");
}

/* What the bounds of the errors do not tell apart is a tie, whose best is the fastest. */
static void test_tie(void **state)
{
    struct gt_device device = fixture_device();
    struct fixture *f = *state;
    const struct gt_energy little = {.joules = 4, .error = 0.1}, much = {.joules = 5, .error = 0.1};
    const struct gt_energy more = {.joules = 5, .error = 0.13};

    put_within(f, "simt", "aaaa", "BM=16", 8, 9, 0.1);
    put_within(f, "simt", "aaaa", "BM=32", 9, 5, 0.15);
    put_within(f, "simt", "aaaa", "BM=64", 10, 4.6, 0.01);
    put_within(f, "simt", "aaaa", "BM=96", 20, 4.4, 0.1);
    put_within(f, "cublaslt", "", "", 30, 5.9, 0.5);
    expect(f, &device,
           "simt BM=16 8 9 time\nsimt BM=32 9 5 energy= edp= *\nsimt BM=64 10 4.6 energy= edp=\n"
           "simt BM=96 20 4.4 energy=\ncublaslt  30 5.9 energy=\n");
    assert_true(gt_energy_less(&little, &much));
    assert_false(gt_energy_less(&little, &more));
    assert_false(gt_energy_less(&much, &little));
}

/* The least may have a wide bound.  What takes more than another one for certain is not the best.
 */
static void test_wide_bound_of_the_least(void **state)
{
    struct gt_device device = fixture_device();
    struct fixture *f = *state;

    put_within(f, "simt", "aaaa", "BM=16", 8, 1.3, 0.05);
    put_within(f, "simt", "aaaa", "BM=32", 9, 1.05, 0.01);
    put_within(f, "simt", "aaaa", "BM=64", 10, 1, 0.5);
    expect(f, &device,
           "simt BM=16 8 1.3 time\nsimt BM=32 9 1.05 energy= edp= *\n"
           "simt BM=64 10 1 energy= edp=\n");
}

/* A row of an older text of its kernel is kept, but nobody can run it any more. */
static void test_of_an_older_text(void **state)
{
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "bbbb");
    struct gt_device device = fixture_device();
    struct fixture *f = *state;
    int64_t id;

    put(f, "simt", "aaaa", "BM=64", 1, 1);
    put(f, "cublaslt", "", "", 30, 7);
    usleep(2000); /* the later text is seen a millisecond later */
    OK(f, gt_store_kernel(f->store, &kernel, &id, &f->err));
    expect(f, &device, "cublaslt  30 7 time energy edp\n");
    put(f, "simt", "bbbb", "BM=64", 20, 8);
    expect(f, &device, "simt BM=64 20 8 time edp\ncublaslt  30 7 energy\n");
    OK(f, gt_store_integer(f->store, "SELECT count(*) FROM energy", &id, &f->err));
    assert_int_equal(id, 3);
}

/* Candidates alone: cuBLASLt's answer has a place of its own, and rows of other texts than the
 * named ones have none. */
static void test_ours(void **state)
{
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa"), *today[] = {&kernel};
    struct gt_kernels kernels = {.kernel = today, .count = 1};
    struct gt_energy_filter filter = {.rows.kernels = &kernels, .ours = true};
    struct fixture *f = *state;

    put(f, "simt", "aaaa", "BM=64", 10, 5);
    put(f, "simt", "bbbb", "BM=64", 1, 1);
    put(f, "mma", "aaaa", "BM=64", 2, 2);
    put(f, "cublaslt", "", "", 5, 2.5);
    expect_filtered(f, &filter,
                    "cublaslt  5 2.5 time energy edp\nsimt BM=64 10 5 time energy edp\n");
    filter.rows.others = true;
    filter.ours = false;
    expect_filtered(f, &filter,
                    "mma BM=64 2 2 time energy edp\ncublaslt  5 2.5\nsimt BM=64 10 5\n");
}

/* A GPU is named by words of its name, or as it is stored; other operands than the usual ones only
 * if they are asked for. */
static void test_asked(void **state)
{
    static const struct {
        const char *device, *operands, *stored;
        bool whole, asked;
    } rows[] = {
        {NULL, "", "NVIDIA H200", false, true},
        {NULL, "", "NVIDIA H200 [zeros]", false, false},
        {NULL, NULL, "NVIDIA H200 [zeros]", false, true},
        {"h200", "zeros", "NVIDIA H200 [zeros]", false, true},
        {"h200", "zeros", "NVIDIA H200", false, false},
        {"NVIDIA H200 [zeros]", "", "NVIDIA H200 [zeros]", true, true},
        {"RTX 2080", "", "NVIDIA GeForce RTX 2080 Ti", true, false},
        {"RTX 2080", "", "NVIDIA GeForce RTX 2080", true, true},
        {"2080", "", "NVIDIA GeForce RTX 2080 Ti", false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct gt_energy_filter filter = {
            .rows = {.device = rows[i].device, .whole = rows[i].whole},
            .operands = rows[i].operands};

        assert_int_equal(
            gt_energy_asked(&filter, &(struct gt_energy_row){.device = rows[i].stored}),
            rows[i].asked);
    }
}

/* A GPU of the same name, or the same one with another driver, is another device. */
static void test_of_another_device(void **state)
{
    struct gt_device device = fixture_device(), other = device, updated = device;
    struct fixture *f = *state;

    snprintf(other.uuid, sizeof(other.uuid), "GPU-0001");
    updated.driver++;
    put(f, "simt", "aaaa", "BM=64", 10, 5);
    OK(f, gt_store_device(f->store, &other, &f->key.device, &f->err));
    put(f, "simt", "aaaa", "BM=64", 9, 4);
    OK(f, gt_store_device(f->store, &updated, &f->key.device, &f->err));
    put(f, "simt", "aaaa", "BM=64", 8, 3);
    expect(f, &device, "simt BM=64 10 5 time energy edp\n");
    expect(f, &other, "simt BM=64 9 4 time energy edp\n");
    expect(f, &updated, "simt BM=64 8 3 time energy edp\n");
    expect(f, NULL,
           "simt BM=64 10 5 time energy edp\nsimt BM=64 8 3 time energy edp\n"
           "simt BM=64 9 4 time energy edp\n");
}

/* Of two databases the later measurement stays, whichever is merged into the other. */
static void test_merge(void **state)
{
    struct gt_device device = fixture_device();
    struct fixture *f = *state;
    char first[128];
    int64_t rows;

    put(f, "simt", "aaaa", "BM=64", 10, 5);
    put(f, "simt", "aaaa", "BM=32", 12, 6);
    snprintf(first, sizeof(first), "%s", f->path);
    snprintf(f->path, sizeof(f->path), "%s/second.db", f->folder);
    usleep(2000);
    fixture_reopen(f, GT_STORE_WRITE);
    fixture_key(f);
    put(f, "simt", "aaaa", "BM=64", 9, 4);
    OK(f, gt_store_merge(f->store, first, &rows, &f->err));
    expect(f, &device, "simt BM=64 9 4 time energy edp\nsimt BM=32 12 6\n");
    fixture_close(f);
    OK(f, gt_store_open(&f->store, first, GT_STORE_WRITE, &f->err));
    OK(f, gt_store_merge(f->store, f->path, &rows, &f->err));
    expect(f, &device, "simt BM=64 9 4 time energy edp\nsimt BM=32 12 6\n");
}

/* What is no measurement is refused: NaN would be NULL. */
static void test_no_measurement(void **state)
{
    struct fixture *f = *state;
    const struct gt_energy_row row = {.kernel = "simt",
                                      .signature = "aaaa",
                                      .point = "BM=64",
                                      .energy = {.us = 0, .joules = 1, .watts = 1, .launches = 1}};

    assert_int_equal(gt_store_put_energy(f->store, &row, &f->key, &f->err), GT_EDB);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_best),
        TEST(test_tie),
        TEST(test_wide_bound_of_the_least),
        TEST(test_of_an_older_text),
        TEST(test_of_another_device),
        TEST(test_ours),
        TEST(test_asked),
        TEST(test_merge),
        TEST(test_no_measurement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_predict_h200.c - the model against the winners measured on an H200 (db/shipped/h200.csv, the
 * points of db/measured/h200-f32.csv): how far off it is, and whether it ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "lookup/predict.h"
#include "lookup/table.h"

#define OK(call)                                   \
    do {                                           \
        if (call)                                  \
            fail_msg("%s: %s", #call, w->err.msg); \
    } while (0)

#define MOST 2048 /* rows of the table that are looked at */

struct world {
    struct gt_kernels kernels;
    struct gt_table table;
    struct gt_device device;
    struct gt_err err;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    OK(gt_kernels_load(&w->kernels, ".", NULL, NULL, &w->err));
    OK(gt_table_load(&w->table, "db/shipped/h200.csv", &w->err));
    OK(gt_device_profile(&w->device, ".", 90, &w->err));
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    gt_table_release(&w->table);
    gt_kernels_release(&w->kernels);
    free(w);
    return 0;
}

static double predict(struct world *w, const char *kernel, const char *point,
                      const struct gt_problem *problem, struct gt_prediction *prediction)
{
    struct gt_candidate candidate = {.problem = problem, .device = &w->device};
    struct gt_geometry geometry;

    candidate.kernel = gt_kernels_find(&w->kernels, kernel, &w->err);
    assert_non_null(candidate.kernel);
    OK(gt_point_parse(&candidate.point, candidate.kernel, point, &w->err));
    OK(gt_candidate_geometry(&candidate, &geometry, &w->err));
    OK(gt_predict_explain(&candidate, &geometry, 0, 0, prediction, &w->err));
    return prediction->us;
}

/* Ranks of value[0..count); equal values share the mean of theirs. */
static void rank(const double *value, size_t count, double *ranks)
{
    for (size_t i = 0; i < count; i++) {
        ranks[i] = -0.5;
        for (size_t j = 0; j < count; j++)
            ranks[i] += value[j] < value[i] ? 1 : value[j] == value[i] ? 0.5 : 0;
    }
}

/* Spearman's coefficient. */
static double rank_correlation(const double *x, const double *y, size_t count)
{
    double ranks_x[MOST] = {0}, ranks_y[MOST] = {0}, squares = 0, n = (double)count;

    rank(x, count, ranks_x);
    rank(y, count, ranks_y);
    for (size_t i = 0; i < count; i++)
        squares += (ranks_x[i] - ranks_y[i]) * (ranks_x[i] - ranks_y[i]);
    return 1 - 6 * squares / (n * (n * n - 1));
}

/* Whether the kernel is still the one that the row was measured with. */
static bool current(struct world *w, const struct gt_table_row *row)
{
    const struct gt_kernel *kernel = gt_kernels_find(&w->kernels, row->kernel, NULL);

    return kernel && strcmp(kernel->signature, row->signature) == 0;
}

/* A winner's time below which launching it is most of what the model misses.  Those of bench.json,
 * of which the shortest takes 16.99 us, are all held to 1.7. */
#define SHORT_US 16.9

/* Whether a product has a small size and one that is no multiple of 16, and is none of few rows
 * and a deep k: the model does not know what the edges of such products cost. */
static bool ragged(const struct gt_problem *problem)
{
    const int64_t size[] = {problem->m, problem->n, problem->k};
    bool small = false, odd = false;

    for (size_t i = 0; i < 3; i++) {
        small |= size[i] < 300;
        odd |= size[i] % 16 != 0;
    }
    return small && odd && !(problem->m <= 64 && problem->k >= 1000);
}

/* Every strict FP32 winner within a factor of 1.7 of its measured time, short and ragged ones and
 * those of doubles within 2.5 and nine in ten of all within 1.7; of those on tensor cores five in
 * six within 1.7, since the model takes small products of odd sizes to be faster than they are; the
 * middle of all right within 15 %; and the order of all times. */
static void test_winners(void **state)
{
    struct world *w = *state;
    double measured[MOST] = {0}, predicted[MOST] = {0}, coefficient;
    size_t count = 0, others = 0, close = 0, strict = 0, close_strict = 0;
    double logs = 0;

    assert_in_range(w->table.rows, 33, MOST);
    for (size_t i = 0; i < w->table.rows; i++) {
        const struct gt_table_row *row = &w->table.row[i];
        struct gt_prediction p;
        double ratio;

        if (!current(w, row))
            continue;
        measured[count] = row->us;
        predicted[count] = predict(w, row->kernel, row->point, &row->problem, &p);
        ratio = predicted[count] / measured[count];
        print_message("%-28s %-9s measured %9.1f predicted %9.1f ratio %.2f, bound by %s\n",
                      row->text, row->kernel, measured[count], predicted[count], ratio, p.bound);
        count++;
        logs += log(ratio);
        if (row->problem.accuracy == GT_ACCURACY_STRICT) {
            const bool far = ragged(&row->problem) || row->problem.type == GT_F64;
            const double most = far || row->us < SHORT_US ? 2.5 : 1.7;

            assert_true(ratio > 1 / most && ratio < most);
            strict++;
            close_strict += ratio > 1 / 1.7 && ratio < 1.7;
            continue;
        }
        others++;
        close += ratio > 1 / 1.7 && ratio < 1.7;
    }
    print_message("%zu of %zu strict winners are close; all: %.3f times what was measured\n",
                  close_strict, strict, exp(logs / (double)count));
    assert_true(10 * close_strict >= 9 * strict);
    assert_true(fabs(logs / (double)count) < log(1.15));
    print_message("%zu of %zu winners of other accuracies are close\n", close, others);
    assert_in_range(count, 33, MOST);
    assert_true(others == 0 || 6 * close >= 5 * others);
    coefficient = rank_correlation(measured, predicted, count);
    print_message("rank correlation of %zu winners: %.3f\n", count, coefficient);
    assert_true(coefficient > 0.95);
}

/* One row times a matrix costs the reading of the matrix: a kernel that streams it, whose warps
 * divide k between them, is bound by memory, and beats every tiled winner. */
static void test_thin_product(void **state)
{
    struct world *w = *state;
    struct gt_prediction thin, wide, other;
    struct gt_problem problem;
    double bytes;
    size_t tried = 0;

    gt_problem_init(&problem, 1, 4096, 14336);
    bytes = 4.0 * 4096 * 14336;
    predict(w, "gemv", "ROWS=1,VEC=4,LANES=32,WARPS_K=32,DEPTH=8,LOOKAHEAD=0", &problem, &thin);
    predict(w, "gemv", "ROWS=1,VEC=16,LANES=32,WARPS_K=8,DEPTH=8,LOOKAHEAD=0", &problem, &wide);
    assert_string_equal(thin.bound, "memory");
    assert_true(thin.us > bytes / (w->device.memory_gbps * 1e3));
    assert_true(thin.us < 1.25 * bytes / (w->device.memory_gbps * 1e3));
    assert_true(wide.us > thin.us); /* 32 blocks of 8 warps do not fill the device */
    for (size_t i = 0; i < w->table.rows; i++) {
        const struct gt_table_row *row = &w->table.row[i];

        if (strcmp(row->kernel, "simt") != 0 || row->problem.m > 64 || row->problem.trans_a ||
            row->problem.trans_b)
            continue;
        assert_true(predict(w, row->kernel, row->point, &problem, &other) > thin.us);
        tried++;
    }
    assert_true(tried >= 3);
}

/* An estimate of the registers beyond what a block can have is no reason to refuse the candidate:
 * the compiler is told the bound and spills. */
static void test_registers_beyond_the_bound(void **state)
{
    struct world *w = *state;
    const struct gt_table_row *found = NULL;
    struct gt_prediction p;

    for (size_t i = 0; i < w->table.rows && !found; i++)
        if (strcmp(w->table.row[i].text, "4096x4096x4096:f32:nt") == 0)
            found = &w->table.row[i];
    assert_non_null(found);
    predict(w, found->kernel, found->point, &found->problem, &p);
    assert_true(p.blocks_sm >= 1);
}

/* Points of which NVRTC 13 said that they spill, and near ones of which it did not. */
static void test_what_spills(void **state)
{
    static const struct {
        const char *problem, *kernel, *spills, *fits;
    } pair[] = {
        {"191x1899x7054:f32:nt", "simt",
         "SPLIT_MODE=3,BM=96,BN=64,BK=16,VEC_B=1,VEC_C=1,EDGE=1,MIN_BLOCKS=4,SPLIT_K=8,GROUP_M=1",
         "SPLIT_MODE=3,BM=96,BN=64,BK=16,VEC_B=1,VEC_C=1,EDGE=1,SPLIT_K=8,GROUP_M=1"},
        {"1331x2870x72:f32:nn", "simt",
         "BM=96,BN=320,BK=16,PATH_A=1,PATH_B=1,STAGES=2,VEC_A=4,VEC_B=2,VEC_C=2,EDGE=2,"
         "REG_DOUBLE=0,FMA_ORDER=3,GROUP_M=1",
         "PATH_A=1,PATH_B=1,VEC_A=4,VEC_B=2,VEC_C=2,EDGE=2,REG_DOUBLE=0,FMA_ORDER=3,GROUP_M=1"},
        {"43x3883x54:f32:nt", "simt",
         "BM=32,BN=64,WARPS_K=4,BK=16,STAGES=4,VEC_B=1,VEC_C=1,EDGE=2,REG_DOUBLE=0,MIN_BLOCKS=4,"
         "GROUP_M=1",
         "BM=32,BN=64,WARPS_K=4,BK=16,STAGES=4,VEC_B=1,VEC_C=1,EDGE=2,MIN_BLOCKS=3,GROUP_M=1"},
        {"1491x9216x7168:tf32:nt", "hopper",
         "STREAM=1,BM=256,BN=192,CLUSTER_N=2,STORE=0,VEC_C=2,MMA_PENDING=0,GROUP=1,ORDER=1",
         "BM=256,BN=160,CLUSTER_N=2,STORE=0,VEC_C=2,MMA_PENDING=0,GROUP=1,ORDER=1"},
        {"2232x152x49:f32:tt:accuracy=f32", "f32acc_fused", /* what a look-up once answered */
         "CONSUMERS=1,SPLITTERS=1,BN=32,BK=64,STAGES=2,BUFFERS=2,LATE_LOADS=0,VEC_B=1,MIN_BLOCKS=2",
         "CONSUMERS=1,SPLITTERS=1,BN=32,STAGES=3,BUFFERS=2,LATE_LOADS=0,VEC_B=1,MIN_BLOCKS=2"},
        /* Those of f32acc_fused that fit are winners of db/shipped/h100.csv from here on. */
        {"1024x64x2048:f32:nt:batch=64:accuracy=f32", "f32acc_fused",
         "BN=64,BK=64,STAGES=2,GROUP=1", "BN=64,BK=64,STAGES=2,BUFFERS=2,GROUP=1"},
        {"256x500x1280:f32:nt:accuracy=f32", "f32acc_fused",
         "CONSUMERS=1,SPLITTERS=1,BN=64,BK=64,STAGES=2,VEC_C=4,MIN_BLOCKS=2,SPLIT=1,SPLITS=7",
         "CONSUMERS=1,SPLITTERS=1,BN=64,BK=64,STAGES=2,VEC_C=4,MIN_BLOCKS=2,SPLIT=2,SPLITS=7"},
        {"1824x32x736:f32:nn:accuracy=f32", "f32acc_fused",
         "CONSUMERS=1,BN=32,BK=64,STAGES=2,BUFFERS=2,LATE_LOADS=0,VEC_C=4,SPLIT=1,SPLITS=4",
         "CONSUMERS=1,BN=32,BK=64,STAGES=2,BUFFERS=2,LATE_LOADS=0,VEC_C=4,SPLIT=2,SPLITS=4"},
    };
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
        struct gt_prediction spills, fits;
        struct gt_problem problem;

        OK(gt_problem_parse(&problem, pair[i].problem, &w->err));
        predict(w, pair[i].kernel, pair[i].spills, &problem, &spills);
        predict(w, pair[i].kernel, pair[i].fits, &problem, &fits);
        print_message("%s: %.2f times as long, if what spills is not known; %.2f\n",
                      pair[i].problem, spills.risk, fits.risk);
        assert_true(spills.risk > 1.03 && fits.risk < 1.02);
    }
}

/* What was measured on an H200, the faster point first.  Blocks that share what they load ask less
 * of the L2 cache, which bounds products of middle sizes; but clusters of eight that fill all 132
 * SMs but for a few need a second round, because 120 SMs are in such clusters. */
static void test_clusters(void **state)
{
    static const struct {
        const char *problem, *faster, *slower;
        double measured; /* ratio of the times */
    } pair[] = {
        {"728x2856x2968:f16:nt", "CONSUMERS=3,BM=192,BN=96,CLUSTER_N=2,STORE=2,STAGES=4,SPREAD=0",
         "CONSUMERS=3,BM=192,BN=96,STORE=2,STAGES=4,SPREAD=0", 1.25},
        {"520x2968x3752:bf16:tn",
         "BM=128,BN=128,CLUSTER_N=8,STORE=1,STAGES=6,MMA_PENDING=0,SPREAD=0",
         "SWAP_AB=1,PINGPONG=1,BM=128,BN=128,STORE=1,STAGES=6,MMA_PENDING=0,SPREAD=0", 1.50},
        {"1352x2104x1720:bf16:nt", "CONSUMERS=1,BM=128,BN=176,STORE=1,STAGES=4,SPREAD=0",
         "BM=128,BN=176,CLUSTER_N=8,STORE=3,STAGES=4,SPREAD=1", 1.28},
        {"904x904x5512:bf16:nt",
         "SPLIT=2,CONSUMERS=3,BM=192,BN=80,CLUSTER_N=4,STORE=0,STAGES=6,VEC_C=4,SPLITS=2,SPREAD=0",
         "SPLIT=1,CONSUMERS=3,BM=192,BN=80,CLUSTER_N=4,STORE=0,STAGES=5,VEC_C=4,SPLITS=2,SPREAD=0",
         1.18},
    };
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
        struct gt_prediction faster, slower;
        struct gt_problem problem;
        double ratio;

        OK(gt_problem_parse(&problem, pair[i].problem, &w->err));
        ratio = predict(w, "hopper", pair[i].slower, &problem, &slower) /
                predict(w, "hopper", pair[i].faster, &problem, &faster);
        print_message("%s: measured ratio %.2f, predicted %.2f\n", pair[i].problem,
                      pair[i].measured, ratio);
        assert_true(ratio > 1.02 && ratio < 1.4 * pair[i].measured);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_winners, setup, teardown),
        cmocka_unit_test_setup_teardown(test_thin_product, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clusters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_spills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_registers_beyond_the_bound, setup, teardown),
    };

    return cmocka_run_group_tests_name("predict_h200", tests, NULL, NULL);
}

/* test_ranking.c - rankings: what a file says is what look-ups do; damaged files, kernels and
 * points that are gone, failing allocations. */
#include "lookup_fixture.h"

#include "lookup/lookup_impl.h"
#include "problem/problem.h"
#include "tests/unit/failmalloc.h"

#include <math.h>

static const char good[] = "arch 90\n"
                           "loss f32/strict 0.0625 0.2500 17\n"
                           "kernel k\n"
                           "point f32/strict,f32/f32 BM=128,VEC=4\n"
                           "point f32/strict BM=32,VEC=1\n"
                           "point f32/strict BM=48,VEC=1\n"
                           "columns BM gone M\n"
                           "tree 0<64 =0.5 2<300 =-0.25 =-1\n"
                           "tree 1<-1 =7 =0.125\n"
                           "kernel other\n"
                           "point f32/strict BM=128\n"
                           "columns us\n"
                           "tree =1\n";

static void add_digest(struct gt_strbuf *text, const char *body)
{
    char digest[GT_DIGEST_HEX];

    gt_digest_bytes(body, strlen(body), digest);
    gt_strbuf_addf(text, "%s%s\n%s", GT_RANKING_MAGIC, digest, body);
}

static int parse(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *body,
                 struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int code;

    add_digest(&text, body);
    *ranking = (struct gt_ranking){0};
    code = gt_ranking_parse(ranking, kernels, "r", text.text, text.length, err);
    gt_strbuf_release(&text);
    return code;
}

/* The correction of a point, as a factor of the time of the model that rankings are learned on. */
static double factor_of(struct world *w, const struct gt_ranking *ranking,
                        const struct gt_kernel *kernel, const char *problem, const char *point)
{
    struct gt_geometry geometry;
    struct gt_candidate candidate = {.kernel = kernel};
    struct gt_problem parsed;
    struct gt_device device;
    struct gt_prediction prediction;
    double us;

    OK(w, gt_device_profile(&device, w->folder, 90, &w->err));
    OK(w, gt_problem_parse(&parsed, problem, &w->err));
    OK(w, gt_point_parse(&candidate.point, kernel, point, &w->err));
    candidate.problem = &parsed;
    candidate.device = &device;
    OK(w, gt_candidate_geometry(&candidate, &geometry, &w->err));
    us = gt_ranking_us(ranking, &candidate, &geometry, HUGE_VAL, &prediction);
    assert_true(prediction.us > 0);
    return us / prediction.us;
}

static void test_what_a_file_says(void **state)
{
    struct world *w = *state;
    struct gt_kernels kernels = {0};
    struct gt_ranking ranking;
    const struct gt_kernel *k;

    OK(w, gt_kernels_load(&kernels, w->folder, NULL, NULL, &w->err));
    OK(w, parse(&ranking, &kernels, good, &w->err));
    k = gt_kernels_find(&kernels, "k", &w->err);
    assert_int_equal(ranking.cc, 90);
    assert_int_equal(ranking.prototypes, 2); /* the others are of a value or kernel that is gone */
    assert_true(gt_kinds_have(&ranking.prototype[0].kinds, 0) &&
                gt_kinds_have(&ranking.prototype[0].kinds, 1));
    assert_true(ranking.loss[0].mean == 0.0625 && ranking.loss[0].p90 == 0.25);
    assert_int_equal(ranking.loss[0].problems, 17);
    assert_true(fabs(log(factor_of(w, &ranking, k, "200x64x64", "BM=32,VEC=1")) - 0.625) < 1e-6);
    assert_true(fabs(log(factor_of(w, &ranking, k, "200x64x64", "BM=64,VEC=1")) + 0.125) < 1e-6);
    assert_true(fabs(log(factor_of(w, &ranking, k, "300x64x64", "BM=64,VEC=1")) + 0.875) < 1e-6);
    ranking.cc = 86; /* another arch's */
    assert_true(factor_of(w, &ranking, k, "300x64x64", "BM=64,VEC=1") == 1);
    gt_ranking_release(&ranking);
    gt_kernels_release(&kernels);
}

/* Trees are walked together, and each is filled up to the same depth. */
static void test_many_trees(void **state)
{
    struct world *w = *state;
    struct gt_strbuf body = GT_STRBUF_INIT;
    struct gt_kernels kernels = {0};
    struct gt_ranking ranking;
    const struct gt_kernel *k;

    OK(w, gt_kernels_load(&kernels, w->folder, NULL, NULL, &w->err));
    k = gt_kernels_find(&kernels, "k", &w->err);
    gt_strbuf_add(&body, "arch 90\nkernel k\ncolumns BM M\n");
    for (int i = 0; i < 21; i++)
        gt_strbuf_addf(&body, "tree 0<64 =%d 1<300 0<128 =0.0%d =3 =-0.125\n", 4 - i, 10 + i);
    gt_strbuf_add(&body, "tree 0<16 =9 0<17 =9 0<18 =9 1<21 =9 0<300 =0.5 =9\n");
    OK(w, parse(&ranking, &kernels, body.text, &w->err));
    assert_true(fabs(log(factor_of(w, &ranking, k, "200x64x64", "BM=64,VEC=1")) - 0.92) < 1e-5);
    assert_true(fabs(log(factor_of(w, &ranking, k, "300x64x64", "BM=64,VEC=1")) + 2.125) < 1e-5);
    gt_ranking_release(&ranking);
    gt_strbuf_release(&body);
    gt_kernels_release(&kernels);
}

static void test_damaged_files(void **state)
{
    static const struct {
        const char *body, *sentence;
    } bad[] = {
        {"", "no arch"},
        {"arch 9\n", "an arch is"},
        {"arch 90.5\n", "an arch is"},
        {"arch 90", "cut off"},
        {"arch 90\nloss f32 1 1 1\n", "a kind is"},
        {"arch 90\nloss f32/strict 1 1\n", "a loss is"},
        {"arch 90\nloss f32/strict 1 nan 3\n", "a loss is"},
        {"arch 90\nloss f32/strict 1 1 3 4\n", "three numbers"},
        {"arch 90\nkernel\n", "one name"},
        {"arch 90\npoint f32/strict BM=64\n", "no kernel"},
        {"arch 90\nkernel k\npoint f32/strict\n", "a point is"},
        {"arch 90\nkernel k\npoint f99/strict BM=64\n", "a kind is"},
        {"arch 90\nkernel k\ntree =1\n", "after the columns"},
        {"arch 90\nkernel k\ncolumns us\nkernel rung\ntree =1\n", "after the columns"},
        {"arch 90\nkernel k\ncolumns us\ntree 1<2 =1 =2\n", "a tree is"},
        {"arch 90\nkernel k\ncolumns us\ntree 0<2 =1\n", "cut off"},
        {"arch 90\nkernel k\ncolumns us\ntree\n", "cut off"},
        {"arch 90\nkernel k\ncolumns us\ntree =1 =2\n", "one root"},
        {"arch 90\nkernel k\ncolumns us\ntree =inf\n", "a tree is"},
        {"arch 90\nkernel k\ncolumns us\ntree 0>2 =1 =2\n", "a tree is"},
        {"arch 90\nkernel k\ncolumns us\ntree 0<1 0<1 0<1 0<1 0<1 0<1 =1\n", "too deep"},
        {"arch 90\nkernel k\ncolumns us\ntree 0<1 =1 0<1 =1 0<1 =1 0<1 =1 0<1 =1 0<1 =1 =1\n",
         "too deep"},
        {"arch 90\nnonsense\n", "a line begins"},
        {"arch 90\n\n", "a line begins"},
    };
    struct world *w = *state;
    struct gt_kernels kernels = {0};
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_ranking ranking;

    OK(w, gt_kernels_load(&kernels, w->folder, NULL, NULL, &w->err));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        w->err.msg[0] = '\0';
        if (parse(&ranking, &kernels, bad[i].body, &w->err) != GT_EDB ||
            !strstr(w->err.msg, bad[i].sentence) || ranking.prototype || ranking.model)
            fail_msg("%s: %s", bad[i].body, w->err.msg);
    }
    add_digest(&text, good);
    for (size_t i = 0; i < text.length; i += 7) { /* any byte that is changed is noticed */
        text.text[i] ^= 1;
        assert_true(gt_ranking_parse(&ranking, &kernels, "r", text.text, text.length, &w->err) < 0);
        text.text[i] ^= 1;
    }
    gt_strbuf_release(&text);
    gt_kernels_release(&kernels);
}

static struct gt_kernels shared;
static struct gt_strbuf shared_text;

static int parse_good(struct gt_err *err)
{
    struct gt_ranking ranking = {0};
    int code = gt_ranking_parse(&ranking, &shared, "r", shared_text.text, shared_text.length, err);

    gt_ranking_release(&ranking);
    return code;
}

static void test_failing_allocations(void **state)
{
    struct world *w = *state;

    OK(w, gt_kernels_load(&shared, w->folder, NULL, NULL, &w->err));
    gt_strbuf_init(&shared_text);
    add_digest(&shared_text, "arch 90\nloss f32/strict 0.06 0.25 17\nkernel k\n"
                             "point f32/strict BM=128,VEC=4\ncolumns BM M\ntree 0<64 =0.5 =1\n");
    gt_failmalloc_every("gt_ranking_parse", parse_good, 2);
    gt_strbuf_release(&shared_text);
    gt_kernels_release(&shared);
}

/* Where the ranking is damaged, whatever its damage, the tables answer, and say so of problems that
 * nobody tuned. */
static void check_without(struct world *w, const struct gt_options *options, const char *path)
{
    const struct gt_answer *answer;

    OK(w, gt_open(&w->gt, options, &w->err));
    answer = ask(w, 90, NULL, "1000x1000x1000");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_string_equal(answer->point, "BM=64,VEC=4");
    assert_non_null(answer->passed_over);
    assert_non_null(strstr(answer->passed_over, path));
    answer = ask(w, 90, NULL, "1024x1024x1024");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_null(answer->passed_over);
    gt_close(w->gt);
    w->gt = NULL;
}

/* A ranking beside the table is what answers follow, and its loss is what they say. */
static void test_answers_follow_it(void **state)
{
    struct world *w = *state;
    const struct gt_options options = {
        .user_db = "", .system_db = w->folder, .data_dir = w->folder};
    struct gt_strbuf text = GT_STRBUF_INIT;
    const struct gt_answer *answer;
    char path[128];

    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nn", "BM=64,VEC=4", 50);
    write_table(w, w->table);
    snprintf(path, sizeof(path), "%s/a.ranking", w->folder);
    add_digest(&text, "arch 90\nloss f32/strict 0.0625 0.25 17\nkernel k\n"
                      "point f32/strict BM=32,VEC=4\ncolumns BM\ntree 0<64 =-1 =1\n");
    write_file(path, text.text);
    OK(w, gt_open(&w->gt, &options, &w->err));
    answer = ask(w, 90, NULL, "1000x1000x1000");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_string_equal(answer->point, "BM=32,VEC=4");
    assert_true(answer->expected_loss == 0.0625 && answer->expected_us > 0);
    answer = ask(w, 90, NULL, "1000x1000x1001"); /* odd rows: it is repaired */
    assert_string_equal(answer->point, "BM=32,VEC=1");
    assert_int_equal(ask(w, 90, NULL, "1024x1024x1024")->tier, GT_TIER_EXACT);
    gt_close(w->gt);
    w->gt = NULL;
    text.text[text.length - 2] ^= 1;
    for (size_t cut = 0; cut <= text.length; cut += 7) { /* flipped, then shorter and shorter */
        text.text[text.length - cut] = '\0';
        write_file(path, text.text);
        check_without(w, &options, path);
    }
    OK(w, remove(path) || mkdir(path, 0700));
    check_without(w, &options, path);
    OK(w, rmdir(path));
    gt_strbuf_release(&text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_a_file_says),    TEST(test_many_trees),        TEST(test_damaged_files),
        TEST(test_failing_allocations), TEST(test_answers_follow_it),
    };

    return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}

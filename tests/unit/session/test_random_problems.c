/* test_random_problems.c - drawn problems: the same everywhere, in the shares that are documented,
 * of bounded size; what is wrong in models.json is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/problemset.h"
#include "problem/problem.h"

#define MANY 4000

/* Pinned: a change of the draw makes every measured table of drawn problems another set's. */
static void test_same_everywhere(void **state)
{
    static const char *const first[] = {
        "7762x3072x768:tf32:nt", "126x42x59:bf16:tt",     "2500x2500x2500:bf16:nn",
        "1963x6026x954:f16:nt",  "1416x2072x3632:f32:nt", "129x62x2163:f32:tn",
    };
    struct gt_problemset few = {0}, more = {0}, other = {0};

    (void)state;
    assert_int_equal(gt_random_problems(&few, ".", NULL, 6, 1, NULL), GT_OK);
    assert_int_equal(gt_random_problems(&more, ".", NULL, 60, 1, NULL), GT_OK);
    assert_int_equal(gt_random_problems(&other, ".", NULL, 6, 2, NULL), GT_OK);
    assert_int_equal(few.count, 6);
    assert_int_equal(more.count, 60);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(few.entry[i].text, first[i]);
        assert_string_equal(more.entry[i].text, first[i]);
        assert_string_not_equal(other.entry[i].text, first[i]);
        assert_true(few.entry[i].weight == 1);
    }
    gt_problemset_release(&few);
    gt_problemset_release(&more);
    gt_problemset_release(&other);
}

/* The layers of a model, whose name may be written in other ways; gate and values together only
 * where the model has a gate. */
static void test_model(void **state)
{
    static const char *const wanted[] = {"16x6144x4096:bf16:nt", "16x4096x4096:bf16:nt",
                                         "16x14336x4096:bf16:nt", "16x4096x14336:bf16:nt",
                                         "16x28672x4096:bf16:nt"};
    struct gt_problemset set = {0}, other = {0};
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_model_problems(&set, ".", "llama_3.1-8b", "16", &err), GT_OK);
    assert_int_equal(set.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(set.entry[i].text, wanted[i]);
    assert_int_equal(gt_model_problems(&other, ".", "GPT-2 XL", "1:8192:x2", &err), GT_OK);
    assert_int_equal(other.count, 4 * 14);
    assert_int_equal(gt_model_problems(&other, ".", "Llama", "1", &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "Llama 3.1 8B"));
    assert_int_equal(gt_model_problems(&other, ".", "GPT-2", "1", &err), GT_ENOTFOUND);
    assert_int_equal(gt_model_problems(&other, ".", "Phi-2", "1x2", &err), GT_ESYNTAX);
    assert_int_equal(gt_model_problems(&other, ".", "Phi-2", "", &err), GT_ESYNTAX);
    gt_problemset_release(&set);
    gt_problemset_release(&other);
}

/* Within four standard deviations of `percent` of MANY. */
static void assert_share(int count, double percent)
{
    const double p = percent / 100, gap = count - MANY * p;

    if (gap * gap > 16 * MANY * p * (1 - p))
        fail_msg("%d of %d; expected %g %%", count, MANY, percent);
}

static void test_shares(void **state)
{
    int type[GT_DTYPE_COUNT] = {0}, accurate = 0, batched = 0, padded = 0, layout[4] = {0};
    struct gt_problemset set = {0};

    (void)state;
    assert_int_equal(gt_random_problems(&set, ".", NULL, MANY, 3, NULL), GT_OK);
    for (size_t i = 0; i < set.count; i++) {
        const struct gt_problem *p = &set.entry[i].problem;
        struct gt_problem packed = *p;
        const double bytes = (double)gt_problem_elements(p, GT_OPERAND_A) * 4;

        gt_problem_pack(&packed);
        padded += p->lda != packed.lda || p->ldb != packed.ldb || p->ldc != packed.ldc;
        type[p->type]++;
        accurate += p->accuracy == GT_ACCURACY_F32;
        batched += p->batch > 1;
        layout[gt_problem_layout(p)]++;
        assert_true(bytes <= 3.0 * (1u << 31));
        assert_true(gt_problem_flops(p) <= (p->type == GT_F32 ? 3e11 : 1.2e12));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(set.entry[i].text, set.entry[j].text);
    }
    assert_share(type[GT_BF16], 36);
    assert_share(type[GT_F16], 18);
    assert_share(type[GT_TF32], 12);
    assert_share(type[GT_F32], 34);
    assert_share(accurate, 12);
    assert_share(batched, 13);
    assert_share(padded, 87 / 16.0);
    for (int i = 0; i < 4; i++)
        assert_true(layout[i] > MANY / 25);
    gt_problemset_release(&set);
}

/* Products that read C, add a bias, activate or write a wider D: in shares of their own, aligned
 * and ragged, and each of them takes part by more than its sizes. */
static void test_updates(void **state)
{
    int beta = 0, wide = 0, activated[GT_EPILOGUE_COUNT] = {0}, minus = 0, gradients = 0,
        aligned = 0;
    struct gt_problemset set = {0};

    (void)state;
    assert_int_equal(gt_random_problems(&set, ".", "update", MANY, 3, NULL), GT_OK);
    for (size_t i = 0; i < set.count; i++) {
        const struct gt_problem *p = &set.entry[i].problem;

        beta += p->beta != 0;
        wide += p->out == GT_F32 && gt_dtype_size(p->type) == 2;
        activated[p->epilogue]++;
        minus += p->alpha < 0;
        gradients += p->beta == 1 && p->alpha > 0 && p->trans_a && !p->trans_b;
        aligned += gt_problem_alignment(p, GT_OPERAND_A) >= 16 &&
                   gt_problem_alignment(p, GT_OPERAND_B) >= 16 &&
                   gt_problem_alignment(p, GT_OPERAND_C) >= 16;
        assert_true(p->beta != 0 || p->epilogue || (p->out == GT_F32 && p->type != GT_F32));
        assert_true(gt_problem_flops(p) <= (p->type == GT_F32 ? 3e11 : 1.2e12));
    }
    assert_share(beta, 67);
    assert_share(wide, 24);
    assert_share(minus, 11);
    assert_share(gradients, 48);
    assert_share(activated[GT_EPILOGUE_BIAS], 13);
    assert_share(activated[GT_EPILOGUE_BIAS | GT_EPILOGUE_RELU], 6);
    assert_share(activated[GT_EPILOGUE_BIAS | GT_EPILOGUE_GELU], 7);
    assert_share(activated[GT_EPILOGUE_BIAS | GT_EPILOGUE_GELU_TANH], 6);
    assert_share(activated[GT_EPILOGUE_GELU], 2);
    assert_in_range(aligned, MANY / 2, 4 * MANY / 5);
    gt_problemset_release(&set);
}

/* Draws with a models.json of this text. */
static int draw_from(const char *text, struct gt_err *err)
{
    char dir[] = "/tmp/gemmtune-test-XXXXXX", path[128];
    struct gt_problemset set = {0};
    FILE *file;
    int rc;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/configs", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/configs/problems", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/configs/problems/models.json", dir);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    rc = gt_random_problems(&set, dir, NULL, 50, 1, err);
    gt_problemset_release(&set);
    unlink(path);
    snprintf(path, sizeof(path), "%s/configs/problems", dir);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/configs", dir);
    rmdir(path);
    rmdir(dir);
    return rc;
}

#define MODEL(vocabulary)                                                                    \
    "{\"name\": \"a\", \"hidden\": 8, \"ffn\": 32, \"qkv\": 24, \"heads\": 1, \"head\": 8, " \
    "\"vocabulary\": " vocabulary "}"
#define TEXT(rows, models) \
    "{\"rows\": " rows ", \"lengths\": [8], \"round\": [8, 9], \"models\": [" models "]}"

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *sentence;
    } mistake[] = {
        {TEXT("[]", MODEL("9")), "\"rows\" is empty"},
        {TEXT("[1, 0]", MODEL("9")), "\"rows\" must be a list"},
        {TEXT("[1]", ""), "\"models\" is empty"},
        {TEXT("[1]", "3"), "\"models\" must be a list"},
        {TEXT("[1]", MODEL("\"x\"")), "models[0]"},
        {TEXT("[1]", MODEL("1.5")), "models[0]"},
        {"{\"rows\": [1], \"what\": 3}", "what"},
        {"{\"rows\": [1]", "models.json"},
        {TEXT("[1000000]",
              "{\"name\": \"b\", \"hidden\": 1000000, \"ffn\": 1000000, \"qkv\": 1000000, "
              "\"heads\": 1000000, \"head\": 1000000, \"vocabulary\": 1000000}"),
         "too large"},
    };
    struct gt_err err;

    (void)state;
    assert_int_equal(draw_from(TEXT("[1]", MODEL("9")), &err), GT_OK);
    for (size_t i = 0; i < sizeof(mistake) / sizeof(*mistake); i++) {
        assert_int_equal(draw_from(mistake[i].text, &err), GT_ECONFIG);
        if (!strstr(err.msg, mistake[i].sentence))
            fail_msg("%s: %s", mistake[i].sentence, err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_everywhere), cmocka_unit_test(test_model),
        cmocka_unit_test(test_shares),          cmocka_unit_test(test_updates),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests_name("random_problems", tests, NULL, NULL);
}

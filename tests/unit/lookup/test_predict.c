/* test_predict.c - the analytic model: sane orders and sizes, not exact figures. */
#include "search_fixture.h"

#include "lookup/predict.h"

#include <math.h>

/* A block tile with split k, in the shape of the production kernel. */
/* clang-format would take these literals apart, two letters a line. */
/* clang-format off */
static const char tiles[] =
    "\"params\": ["
    PARAM("BM", 128, "16, 32, 64, 128, 256") ","
    PARAM("BN", 128, "16, 32, 64, 128, 256") ","
    PARAM("TM", 8, "1, 2, 4, 8, 16") ","
    PARAM("TN", 8, "1, 2, 4, 8, 16") ","
    PARAM("BK", 8, "8, 16") ","
    PARAM("SPLIT", 1, "1, 2, 4, 8, 16, 32, 64") ","
    PARAM("STAGES", 2, "1, 2, 4") "],"
    "\"derive\": [{\"name\": \"THREADS\", \"value\": \"(BM / TM) * (BN / TN)\"}],"
    "\"constraints\": ["
    "{\"if\": \"BM % TM == 0 && BN % TN == 0\", \"why\": \"whole tiles\"},"
    "{\"if\": \"THREADS >= 32 && THREADS <= 1024\", \"why\": \"a block\"},"
    "{\"if\": \"TM * TN <= 128\", \"why\": \"registers\"}],"
    "\"launches\": ["
    "{\"entry\": \"gemm\", \"grid\": [\"cdiv(M, BM) * cdiv(N, BN)\", \"SPLIT\", \"BATCH\"],"
    " \"block\": [\"THREADS\"], \"shared\": \"4 * STAGES * BK * (BM + BN)\"},"
    "{\"entry\": \"gemm\", \"when\": \"SPLIT > 1\", \"grid\": [\"cdiv(M * N, 256)\"],"
    " \"block\": [256]}],"
    "\"workspace\": \"SPLIT > 1 ? 4 * SPLIT * M * N * BATCH : 0\","
    "\"model\": {\"block_m\": \"BM\", \"block_n\": \"BN\", \"block_k\": \"BK\", \"splits\": \"SPLIT\","
    " \"stages\": \"STAGES\", \"registers\": \"TM * TN + 2 * (TM + TN) + 30\","
    " \"fma\": \"TM * TN\", \"issue\": \"64 * (TM + TN)\","
    " \"shared_words\": \"64 * (TM + TN)\", \"group\": 8}";
/* clang-format on */
#define TILES_WORDS "+ BM + BN + TM + TN + BK + SPLIT + STAGES"

static int predict(struct search *s, const struct gt_kernel *kernel, const char *point,
                   int registers, int spills, struct gt_prediction *prediction)
{
    struct gt_candidate candidate = {kernel, &s->problem, &s->device, {{0}}};
    struct gt_geometry geometry;

    OK(&s->err, gt_point_parse(&candidate.point, kernel, point, &s->err));
    OK(&s->err, gt_candidate_geometry(&candidate, &geometry, &s->err));
    return gt_predict_explain(&candidate, &geometry, registers, spills, prediction, &s->err);
}

static double us(struct search *s, const struct gt_kernel *kernel, const char *point)
{
    struct gt_prediction prediction;

    OK(&s->err, predict(s, kernel, point, 0, 0, &prediction));
    return prediction.us;
}

/* The best estimate over all points. */
static double best_us(struct search *s, const struct gt_kernel *kernel)
{
    struct gt_candidate candidate = {kernel, &s->problem, &s->device, {{0}}};
    size_t index[GT_MAX_PARAMS] = {0}, p;
    double best = INFINITY, value;
    struct gt_geometry geometry;
    int failed;

    do {
        for (p = 0; p < kernel->params; p++)
            candidate.point.value[p] = kernel->param[p].value[index[p]];
        OK(&s->err, gt_candidate_valid(&candidate, &failed, &s->err));
        if (failed < 0 && !gt_candidate_geometry(&candidate, &geometry, NULL) &&
            !gt_predict(&candidate, &geometry, 0, 0, &value, NULL))
            best = fmin(best, value);
        for (p = 0; p < kernel->params && ++index[p] == kernel->param[p].count; p++)
            index[p] = 0;
    } while (p < kernel->params);
    return best;
}

static void test_large_tiles_for_large_products(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tiles", TILES_WORDS, tiles);

    gt_problem_init(&s->problem, 4096, 4096, 4096);
    assert_true(us(s, kernel, "BM=128,BN=128,TM=8,TN=8") <
                0.5 * us(s, kernel, "BM=16,BN=16,TM=1,TN=1"));
    assert_true(us(s, kernel, "BM=128,BN=256,TM=8,TN=16") < us(s, kernel, "BM=64,BN=64,TM=4,TN=4"));
    assert_true(us(s, kernel, "STAGES=2") < us(s, kernel, "STAGES=1"));
    gt_kernel_free(kernel);
}

static void test_small_tiles_for_small_products(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tiles", TILES_WORDS, tiles);

    gt_problem_init(&s->problem, 256, 256, 256);
    assert_true(us(s, kernel, "BM=32,BN=32,TM=4,TN=2") < us(s, kernel, "BM=128,BN=256,TM=8,TN=16"));
    gt_kernel_free(kernel);
}

static void test_split_k_for_long_k(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tiles", TILES_WORDS, tiles);

    gt_problem_init(&s->problem, 64, 64, 65536);
    assert_true(us(s, kernel, "BM=64,BN=64,TM=4,TN=4,SPLIT=64") <
                0.1 * us(s, kernel, "BM=64,BN=64,TM=4,TN=4,SPLIT=1"));
    gt_problem_init(&s->problem, 4096, 4096, 4096);
    assert_true(us(s, kernel, "SPLIT=1") < us(s, kernel, "SPLIT=16"));
    gt_kernel_free(kernel);
}

/* More work never takes less time. */
static void test_monotone(void **state)
{
    static const char *points[] = {"BM=128,BN=128,TM=8,TN=8", "BM=32,BN=64,TM=4,TN=4,SPLIT=4",
                                   "BM=16,BN=16,TM=1,TN=1"};
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tiles", TILES_WORDS, tiles);

    for (size_t p = 0; p < 3; p++) {
        for (int dimension = 0; dimension < 4; dimension++) {
            double before = 0;

            for (int64_t size = 64; size <= 8192; size *= 2) {
                double after;

                gt_problem_init(&s->problem, dimension == 0 || dimension == 3 ? size : 512,
                                dimension == 1 || dimension == 3 ? size : 512,
                                dimension == 2 || dimension == 3 ? size : 512);
                after = us(s, kernel, points[p]);
                assert_true(after >= before);
                before = after;
            }
        }
    }
    gt_kernel_free(kernel);
}

/* A good point is within a factor of two of what the vendor's library was measured at on an H200,
 * FP32, cold L2. */
static void test_figures_of_an_h200(void **state)
{
    static const struct {
        int64_t m, n, k;
        double us;
    } measured[] = {
        {1024, 1024, 1024, 57.0},  {2048, 2048, 2048, 342},  {4096, 4096, 4096, 2691},
        {8192, 8192, 8192, 21268}, {4092, 4092, 4092, 2828}, {64, 4096, 4096, 59.6},
        {128, 14336, 4096, 336},   {512, 6144, 4096, 534},   {4096, 4096, 64, 66.5},
        {256, 256, 16384, 57.1},   {64, 64, 65536, 33.9},    {8192, 512, 4096, 687},
        {7680, 5481, 2560, 4251},
    };
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tiles", TILES_WORDS, tiles);

    for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
        double ratio;

        gt_problem_init(&s->problem, measured[i].m, measured[i].n, measured[i].k);
        ratio = best_us(s, kernel) / measured[i].us;
        print_message("%5lld x %5lld x %5lld: predicted / measured = %.2f\n",
                      (long long)measured[i].m, (long long)measured[i].n, (long long)measured[i].k,
                      ratio);
        assert_true(ratio > 0.5 && ratio < 2);
    }
    gt_kernel_free(kernel);
}

/* clang-format off */
/* A tensor-core kernel of one warpgroup per 64 rows. */
static const char tensor[] =
    "\"params\": [" PARAM("BM", 128, "64, 128, 256") ", " PARAM("BN", 128, "64, 128, 256") ", "
    PARAM("SPLIT", 1, "1, 4, 16") ", " PARAM("MMA", 256, "256, 413, 768") ", "
    PARAM("STAY", 0, "0, 1") "],"
    "\"derive\": [{\"name\": \"BK\", \"value\": \"128 / SIZE_IN\"}],"
    "\"constraints\": [{\"if\": \"BM + BN <= 384\", \"why\": \"registers\"}],"
    "\"launches\": [{\"entry\": \"gemm\", \"grid\": [\"STAY ? min(cdiv(M, BM) * cdiv(N, BN), SMS) : cdiv(M, BM) * cdiv(N, BN)\", \"SPLIT\"],"
    " \"block\": [\"2 * BM\"], \"shared\": \"4 * 128 * (BM + BN)\"}],"
    "\"workspace\": \"SPLIT > 1 ? 4 * SPLIT * M * N : 0\","
    "\"model\": {\"block_m\": \"BM\", \"block_n\": \"BN\", \"block_k\": \"BK\", \"splits\": \"SPLIT\","
    " \"stages\": 4, \"registers\": \"BN / 2 + 40\", \"mma\": \"MMA\", \"group\": 8,"
    " \"cluster_m\": 2}";
/* clang-format on */
#define TENSOR_WORDS "+ BM + BN + SPLIT + MMA + STAY"

/* As for FP32: cuBLASLt on an H200, the layout it is fastest in. */
static void test_tensor_cores_of_an_h200(void **state)
{
    static const struct {
        int64_t size;
        enum gt_dtype type;
        double us;
    } measured[] = {
        {1024, GT_F16, 9.06}, {2048, GT_F16, 27.7},  {4096, GT_F16, 182},  {8192, GT_F16, 1420},
        {4096, GT_BF16, 175}, {2048, GT_TF32, 52.9}, {4096, GT_TF32, 343}, {8192, GT_TF32, 3184},
        {4096, GT_E4M3, 102}, {4096, GT_S8, 92.7},
    };
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tensor", TENSOR_WORDS, tensor);

    for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
        double ratio;

        gt_problem_init(&s->problem, measured[i].size, measured[i].size, measured[i].size);
        gt_problem_retype(&s->problem, measured[i].type);
        ratio = best_us(s, kernel) / measured[i].us;
        print_message("%lld^3 %s: predicted / measured = %.2f\n", (long long)measured[i].size,
                      gt_dtype_name(measured[i].type), ratio);
        assert_true(ratio > 0.5 && ratio < 2);
    }
    gt_kernel_free(kernel);
}

/* What a type, an instruction or an arch costs shows where the tensor pipe is the limit; and a type
 * that the tensor cores do not have is not chosen. */
static void test_tensor_rates(void **state)
{
    static const char *const tile = "BM=128,BN=256";
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tensor", TENSOR_WORDS, tensor);
    double half, other;

    gt_problem_init(&s->problem, 8192, 8192, 8192);
    gt_problem_retype(&s->problem, GT_BF16);
    half = us(s, kernel, tile);
    assert_true(us(s, kernel, "BM=64,BN=64") > half);
    other = us(s, kernel, "BM=128,BN=256,STAY=1");
    assert_true(other > 0.99 * half && other < 1.01 * half);
    other = us(s, kernel, "BM=128,BN=256,MMA=413");
    assert_true(other > 1.3 * half && other < 1.7 * half);
    assert_true(us(s, kernel, "BM=128,BN=256,MMA=768") > 2.5 * half);
    gt_problem_retype(&s->problem, GT_TF32);
    assert_true(us(s, kernel, tile) > 1.7 * half);
    gt_problem_retype(&s->problem, GT_S8);
    assert_true(us(s, kernel, tile) < 0.7 * half);
    OK(&s->err, gt_device_profile(&s->device, ".", 80, &s->err));
    gt_problem_retype(&s->problem, GT_BF16);
    other = us(s, kernel, "BM=128,BN=128");
    assert_true(other > 2 * half);
    gt_problem_retype(&s->problem, GT_E4M3);
    assert_true(us(s, kernel, "BM=128,BN=128") > 100 * other);
    gt_kernel_free(kernel);
}

static void test_registers_and_spills(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tiles", TILES_WORDS, tiles);
    struct gt_prediction few, many, spilling;

    gt_problem_init(&s->problem, 4096, 4096, 4096);
    OK(&s->err, predict(s, kernel, "", 64, 0, &few));
    OK(&s->err, predict(s, kernel, "", 255, 0, &many));
    OK(&s->err, predict(s, kernel, "", 64, 400, &spilling));
    assert_int_equal(few.blocks_sm, 4);
    assert_int_equal(many.blocks_sm, 1);
    assert_true(spilling.us > 1.1 * few.us);
    assert_string_equal(few.bound, "compute");
    assert_int_equal(predict(s, kernel, "BM=64,BN=64,TM=2,TN=2", 128, 0, &few),
                     GT_ERANGE); /* 1024 threads */
    assert_non_null(strstr(s->err.msg, "1024 threads with 128 registers"));
    gt_kernel_free(kernel);
}

/* What probably spills is expected to take longer, until it is compiled. */
static void test_lacking_registers(void **state)
{
    static const char form[] = "\"params\": [" PARAM(
        "LACKS", 0,
        "-100, 0, 100") "], \"launches\": [{\"entry\": \"gemm\","
                        " \"grid\": [\"cdiv(M, 32)\", \"cdiv(N, 32)\"], \"block\": [256]}],"
                        "\"model\": {\"lacking\": \"LACKS\"}";
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "lacks", "+ LACKS", form);
    struct gt_prediction room, even, lacks, compiled;

    gt_problem_init(&s->problem, 512, 512, 512);
    OK(&s->err, predict(s, kernel, "LACKS=-100", 0, 0, &room));
    OK(&s->err, predict(s, kernel, "LACKS=0", 0, 0, &even));
    OK(&s->err, predict(s, kernel, "LACKS=100", 0, 0, &lacks));
    OK(&s->err, predict(s, kernel, "LACKS=100", 64, 0, &compiled));
    assert_true(room.risk >= 1 && room.risk < 1.01);
    assert_true(even.risk > 1.1 && even.risk < lacks.risk && lacks.risk < 1.5);
    assert_true(fabs(lacks.us / lacks.risk - room.us / room.risk) < 1e-9 * room.us);
    assert_true(compiled.risk == 1);
    gt_kernel_free(kernel);
}

/* A kernel that says nothing of itself is still given a finite time. */
static void test_without_a_model(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "mute", "",
        "\"params\": [], \"launches\": [{\"entry\": \"gemm\", \"grid\": [\"cdiv(M, 32)\", "
        "\"cdiv(N, 32)\"], \"block\": [1024]}]");
    double mute;

    gt_problem_init(&s->problem, 4096, 4096, 4096);
    mute = us(s, kernel, "");
    assert_true(mute > 2691 && mute < 1e6);
    gt_problem_init(&s->problem, 128, 128, 0);
    assert_true(us(s, kernel, "") > 0);
    gt_kernel_free(kernel);
}

/* Packing costs a launch and what it moves; what it writes is no sum of split k. */
static void test_prepared_operands(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "packs", "+ PACK + SPLIT",
        "\"params\": [" PARAM("PACK", 0, "0, 1") "," PARAM(
            "SPLIT", 1,
            "1, 4") "],"
                    "\"launches\": [{\"entry\": \"gemm\", \"when\": \"PACK\", \"grid\": [256], "
                    "\"block\": [256]}, {\"entry\": \"gemm\", \"grid\": [\"cdiv(M, 64)\", "
                    "\"cdiv(N, 64)\", "
                    "\"SPLIT\"], \"block\": [256], \"shared\": 16384}],"
                    "\"workspace\": \"PACK * 4 * K * (M + N)\","
                    "\"model\": {\"block_m\": 64, \"block_n\": 64, \"block_k\": 16, \"splits\": "
                    "\"SPLIT\","
                    " \"prepare_read\": \"PACK * 4 * K * (M + N)\","
                    " \"prepare_write\": \"PACK * 4 * K * (M + N)\"}");
    struct gt_prediction plain, packed, small;

    gt_problem_init(&s->problem, 8192, 8192, 8192);
    OK(&s->err, predict(s, kernel, "PACK=0,SPLIT=4", 64, 0, &plain));
    OK(&s->err, predict(s, kernel, "PACK=1,SPLIT=4", 64, 0, &packed));
    assert_true(plain.prepare_us == 0);
    assert_true(fabs(packed.prepare_us * s->device.memory_gbps * 1e3 - 4.0 * 4 * 8192 * 8192) < 1);
    assert_true(packed.us - plain.us > packed.prepare_us + 1);
    assert_true(packed.reduction_us <= plain.reduction_us);
    gt_problem_init(&s->problem, 512, 512, 512); /* the copy stays in L2 */
    OK(&s->err, predict(s, kernel, "PACK=1,SPLIT=1", 64, 0, &small));
    assert_true(small.prepare_us * s->device.memory_gbps * 1e3 < 2.0 * 4 * 2 * 512 * 512);
    gt_kernel_free(kernel);
}

/* Clusters lie within GPCs: one more of them than run at a time takes a second round. */
static void test_rounds_of_clusters(void **state)
{
    static const struct {
        int blocks, clusters; /* of a cluster; that an H200 runs at a time */
    } seen[] = {{2, 66}, {3, 37}, {4, 30}, {6, 15}, {8, 15}};
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "clusters", "+ SPLIT",
        "\"params\": [" PARAM(
            "SPLIT", 2,
            "2, 3, 4, 6, 8") "],"
                             "\"launches\": [{\"entry\": \"gemm\", \"grid\": [\"cdiv(N, 64)\", "
                             "\"SPLIT\"], "
                             "\"cluster\": [1, \"SPLIT\"], \"block\": [256], \"shared\": 200000}],"
                             "\"model\": {\"block_m\": 64, \"block_n\": 64, \"block_k\": 16, "
                             "\"splits\": \"SPLIT\"}");

    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        struct gt_prediction one, two;
        char point[16];

        snprintf(point, sizeof(point), "SPLIT=%d", seen[i].blocks);
        gt_problem_init(&s->problem, 64, 64LL * seen[i].clusters, 8192);
        OK(&s->err, predict(s, kernel, point, 64, 0, &one));
        gt_problem_init(&s->problem, 64, 64LL * (seen[i].clusters + 1), 8192);
        OK(&s->err, predict(s, kernel, point, 64, 0, &two));
        assert_true(fabs(two.compute_us / one.compute_us - 2) < 1e-6);
    }
    gt_kernel_free(kernel);
}

/* Columns of B that are loaded and not used cost what others do. */
static void test_loaded_columns(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "loads", "+ BN + WIDE",
        "\"params\": [" PARAM("BN", 64, "64, 128") "," PARAM(
            "WIDE", 0,
            "0, 64") "],"
                     "\"launches\": [{\"entry\": \"gemm\", \"grid\": [\"cdiv(M, 64)\", "
                     "\"cdiv(N, BN)\"], \"block\": [256], \"shared\": 200000}],"
                     "\"model\": {\"block_m\": 64, \"block_n\": \"BN\", \"block_k\": 16, "
                     "\"load_n\": \"BN + WIDE\"}");
    struct gt_prediction narrow, wide, large;

    gt_problem_init(&s->problem, 512, 1024, 4096);
    OK(&s->err, predict(s, kernel, "BN=64,WIDE=0", 64, 0, &narrow));
    OK(&s->err, predict(s, kernel, "BN=64,WIDE=64", 64, 0, &wide));
    OK(&s->err, predict(s, kernel, "BN=128,WIDE=0", 64, 0, &large));
    assert_true(fabs(wide.l2_us / narrow.l2_us - 1.5) < 1e-9);
    assert_true(fabs(wide.l2_us / large.l2_us - 2) < 1e-9);
    assert_true(wide.compute_us > narrow.compute_us && wide.memory_us == narrow.memory_us);
    gt_kernel_free(kernel);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_large_tiles_for_large_products),
        WITH_FOLDER(test_small_tiles_for_small_products),
        WITH_FOLDER(test_split_k_for_long_k),
        WITH_FOLDER(test_monotone),
        WITH_FOLDER(test_figures_of_an_h200),
        WITH_FOLDER(test_tensor_cores_of_an_h200),
        WITH_FOLDER(test_tensor_rates),
        WITH_FOLDER(test_registers_and_spills),
        WITH_FOLDER(test_lacking_registers),
        WITH_FOLDER(test_without_a_model),
        WITH_FOLDER(test_prepared_operands),
        WITH_FOLDER(test_rounds_of_clusters),
        WITH_FOLDER(test_loaded_columns),
    };

    return cmocka_run_group_tests_name("predict", tests, NULL, NULL);
}

/* test_foreign.c - products that other programs wrote down become problems: layouts, leading
 * dimensions, batches, types, and what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/strbuf.h"
#include "exchange/foreign.h"
#include "failmalloc.h"

static int add(void *context, const struct gt_problem *problem, double times, bool counted,
               struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(problem, text);
    gt_strbuf_addf(context, "%s", text);
    if (times != 1 || counted)
        gt_strbuf_addf(context, " %s%.0f", counted ? "calls " : "", times);
    gt_strbuf_add(context, "\n");
    return gt_strbuf_check(context, err);
}

/* Reads the text; what was left out stands behind the problems. */
static void check(const char *text, const char *expected)
{
    struct gt_strbuf found = GT_STRBUF_INIT;
    struct gt_foreign foreign;
    struct gt_err err = {0};

    if (!gt_foreign_is(text, strlen(text)))
        fail_msg("not known: %s", text);
    if (gt_foreign_read(&foreign, text, strlen(text), add, &found, &err))
        fail_msg("%s", err.msg);
    gt_foreign_say(&found, &foreign);
    assert_string_equal(found.text, expected);
    gt_strbuf_release(&found);
}

/* Matrices of BLAS are by columns: A and B change places. */
static void test_tunable(void **state)
{
    (void)state;
    check("Validator,PT_VERSION,2.9.0\nValidator,CUBLAS_VERSION,12.8\n"
          "GemmTunableOp_float_NT,nt_256_512_1024_ld_256_512_256\n"
          "GemmTunableOp_BFloat16_TN,tn_1536_16_7168_ld_7168_7168_1536,Default,0.0123\r\n"
          "GemmTunableOp_Half_NN,nn_8_9_10_ld_16_12_24\n"
          "GemmTunableOp_tf32_TT,tt_8_9_10\n"
          "GemmAndBiasTunableOp_Half_TN,tn_3072_128_768_ld_768_768_3072\n"
          "GemmStridedBatchedTunableOp_float_NN,nn_64_128_32_B_12_ld_64_32_64\n"
          "GemmTunableOp_double_NN,nn_8_8_8_ld_8_8_8\n"
          "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,"
          "tn_8_8_16_ld_16_16_8_rw_1_bias_None\n"
          "GemmTunableOp_c10::complex<float>_NN,nn_8_8_8_ld_8_8_8\n"
          "GemmTunableOp_float_NN,nn_8_8_8_ld_4_8_8\n"
          "GemmTunableOp_float_NN,nn_9223372036854775807_512_8\n",
          "512x256x1024:f32:tn\n16x1536x7168:bf16:nt\n9x8x10:f16:nn:lda=12:ldb=16:ldc=24\n"
          "9x8x10:tf32:tt\n128x3072x768:f16:nt:epi=bias\n128x64x32:f32:nn:batch=12\n8x8x8:f64:nn\n"
          "8x8x8:c64:nn\n"
          "left out: 3 of 11 products (1 with scales, 2 of sizes that cannot be)");
}

#define DESC(type, rows, cols, ld) "desc=[type=" type " rows=" #rows " cols=" #cols " ld=" #ld "] "
#define TRACE                      "[2026-01-14 21:16:46][cublasLt][4711][Trace][cublasLtMatmul] A=0X7F "
#define MATMUL(in, out, compute)                                                           \
    TRACE "A" DESC(in, 768, 2304, 800) "B=0X7F B" DESC(in, 768, 512, 768) "C=0X7F C" DESC( \
        out, 2304, 512,                                                                    \
        2304) "D=0X7F D" DESC(out, 2304, 512,                                              \
                              2304) "computeDesc=[" compute                                \
                                    "] algo=[] workSpace=0X7F workSpaceSizeInBytes=1 beta="

static void test_matmul(void **state)
{
    (void)state;
    check(
        "some other line\n" MATMUL("R_16BF", "R_16BF",
                                   "computeType=COMPUTE_32F scaleType=R_32F transa=OP_T") "0 s\n"
                                                                                          "[2026-"
                                                                                          "01-14 "
                                                                                          "21:16:"
                                                                                          "46]["
                                                                                          "cublasLt"
                                                                                          "][4711]["
                                                                                          "Api]["
                                                                                          "cublasLt"
                                                                                          "Matmul] "
                                                                                          "A=0X7F "
                                                                                          "Adesc="
                                                                                          "0X7F "
                                                                                          "Bdesc="
                                                                                          "0X1\n"
                                                                                          "[2026-"
                                                                                          "01-14 "
                                                                                          "21:16:"
                                                                                          "46]["
                                                                                          "cublasLt"
                                                                                          "][4711]["
                                                                                          "Trace]["
                                                                                          "cublasLt"
                                                                                          "MatmulAl"
                                                                                          "goGetHeu"
                                                                                          "ristic] "
                                                                                          "Adesc=["
                                                                                          "type=R_"
                                                                                          "32F "
                                                                                          "rows=1 "
                                                                                          "cols=1 "
                                                                                          "ld=1] "
                                                                                          "Bdesc=["
                                                                                          "type=R_"
                                                                                          "32F "
                                                                                          "rows=1 "
                                                                                          "cols=1 "
                                                                                          "ld=1]"
                                                                                          "\n" MATMUL("R_32F",
                                                                                                      "R_32F",
                                                                                                      "computeType=COMPUTE_32F_FAST_TF32 scaleType=R_32F "
                                                                                                      "transA=OP_T epilogue=EPILOGUE_RELU_BIAS") "1\n" MATMUL("R_16F", "R_16F", "computeType=COMPUTE_16F transa=OP_T") "0\n" MATMUL("R_16F", "R_16F", "computeType=COMPUTE_32F transa=OP_T epilogue=EPILOGUE_GELU") "0\n" MATMUL("R_8F_E4M3",
                                                                                                                                                                                                                                                                                                                                 "R_16BF",
                                                                                                                                                                                                                                                                                                                                 "computeType=COMPUTE_32F transa=OP_T "
                                                                                                                                                                                                                                                                                                                                 "aScalePointer=0x73 bScalePointer=0x74") "0\n" TRACE "\nA" DESC("R_64F", 4, 4, 4) "B=0X0 \nB" DESC("R_64F",
                                                                                                                                                                                                                                                                                                                                                                                                                                    4, 4, 4) "\nD" DESC("R_64F",
                                                                                                                                                                                                                                                                                                                                                                                                                                                        4,
                                                                                                                                                                                                                                                                                                                                                                                                                                                        4,
                                                                                                                                                                                                                                                                                                                                                                                                                                                        4) "\ncomputeDesc=[computeType=COMPUTE_64F] stream=0X0\n" TRACE
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "\nAdesc=[type=R_16F rows=64 cols=32 ld=64 batchCount=3 "
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "stridedBatchOffset=4096] B=0X0 \nBdesc=[type=R_16F rows=32 cols=16 ld=32 batchCount=3 "
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "stridedBatchOffset=0] C=0X0\nDdesc=[type=R_32F rows=64 cols=16 ld=64 batchCount=3 "
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "stridedBatchOffset=1024]\ncomputeDesc=[computeType=COMPUTE_32F] stream=0X0\n",
        "512x2304x768:bf16:nt:ldb=800 calls 1\n"
        "512x2304x768:tf32:nt:ldb=800:beta=1:epi=bias+relu calls 1\n"
        "4x4x4:f64:nn calls 1\n16x64x32:f16:nn:out=f32:batch=3:sa=0:sb=4096 calls 1\n"
        "left out: 3 of 7 products (1 with sums of COMPUTE_16F, 1 with EPILOGUE_GELU, "
        "1 with scales)");
}

#define CALL(name)       "I! cuBLAS (v13.4.1) function cublasStatus_t " name "(cublasHandle_t) called:\n"
#define ARG(name, value) "i!  " name ": type=int; val=" value "\n"
#define SIZES            ARG("m", "32") ARG("n", "16") ARG("k", "8") ARG("alpha", "POINTER (IN HEX:0x0x7f)")

static void test_calls(void **state)
{
    (void)state;
    check(CALL("cublasCreate_v2") ARG("handle", "POINTER (IN HEX:0x0x1)") CALL(
              "cublasSgemm_v2") ARG("transa", "CUBLAS_OP_T(1)") ARG("transb", "CUBLAS_OP_N(0)")
              SIZES ARG("lda", "8") ARG("ldb", "10") ARG(
                  "ldc",
                  "32") "i! Time: 2026\n"
                        "i!Process=1; MathMode=CUBLAS_TF32_TENSOR_OP_MATH\n" CALL(
                            "cublasGemmStridedBatchedEx_64") ARG("transa", "CUBLAS_OP_N(0)")
                            ARG("transb", "CUBLAS_OP_T(1)") SIZES ARG("Atype", "CUDA_R_16F(2)") ARG(
                                "lda", "32") ARG("strideA", "256") ARG("Btype", "CUDA_R_16F(2)")
                                ARG("ldb", "16") ARG("strideB", "128") ARG("Ctype", "CUDA_R_16F(2)")
                                    ARG("ldc", "32") ARG("strideC", "1024") ARG("batchCount", "4")
                                        ARG("computeType", "CUBLAS_COMPUTE_32F(68)")
                                            CALL("cublasDgemm_v2") SIZES CALL("cublasSgemmBatched")
                                                SIZES CALL("cublasHgemm") SIZES ARG(
                                                    "computeType", "CUBLAS_COMPUTE_16F(64)"),
          "16x32x8:tf32:nt:lda=10 calls 1\n16x32x8:f16:tn:batch=4:sc=1024 calls 1\n"
          "16x32x8:f64:nn calls 1\n"
          "left out: 2 of 5 products (1 in batches of pointers, "
          "1 with sums of CUBLAS_COMPUTE_16F)");
}

static void test_bench_lines(void **state)
{
    (void)state;
    check("# what ran\n"
          "./rocblas-bench -f gemm_ex --transposeA T --transposeB N -m 4096 -n 512 -k 1024 --alpha "
          "-1 --a_type f16_r --lda 1024 --b_type f16_r --ldb 1040 --beta 0.5 --c_type f16_r --ldc "
          "4096 --d_type f16_r --ldd 4096 --compute_type f32_r --algo 0\n"
          "hipblaslt-bench --api_method c -m 64 -n 32 -k 16 --transA N --transB N --batch_count 1 "
          "--a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --compute_type f32_r "
          "--bias_vector --activation_type relu\n"
          "rocblas-bench -f gemm -r f32_r --transposeA N --transposeB N -m 8 -n 4 -k 2\n"
          "--transA N --transB T -m 8 -n 4 -k 2 -r s\n"
          "rocblas-bench -f gemm -r d -m 8 -n 4 -k 2\n"
          "- { rocblas_function: \"rocblas_gemm_strided_batched_ex\", transA: 'N', transB: 'T', M: "
          "8, N: 4, K: 2, lda: 8, ldb: 4, ldc: 8, ldd: 8, stride_a: 16, stride_b: 8, stride_c: 32, "
          "stride_d: 32, batch_count: 5, a_type: f16_r, b_type: f16_r, c_type: f16_r, d_type: "
          "f16_r, compute_type: f32_r, beta: 0.0, call_count: 7 }\n"
          "- {function: matmul, M: 8, N: 4, K: 2, transA: N, transB: N, a_type: f8_fnuz_r, "
          "b_type: f8_fnuz_r}\n",
          "512x4096x1024:f16:nt:lda=1040:beta=1\n32x64x16:bf16:nn:epi=bias+relu\n4x8x2:f32:nn\n"
          "4x8x2:f32:tn\n4x8x2:f64:nn\n4x8x2:f16:tn:batch=5 calls 7\n"
          "left out: 1 of 7 products (1 of f8_fnuz)");
}

#define EVENT(name, dims, type, strides)                                                     \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::" name "\", \"args\": {\"Input " \
    "type\": [\"" type "\", \"" type "\", \"" type "\"], \"Input Dims\": " dims strides "}},\n"

static void test_torch(void **state)
{
    (void)state;
    check(
        "{\"schemaVersion\": 1, \"traceEvents\": [\n" EVENT("linear", "[[4, 3], [5, 3]]", "float",
                                                            "")
            EVENT("mm", "[[4, 3], [3, 5]]", "float", ", \"Input Strides\": [[8, 1], [1, 3]]")
                EVENT("addmm", "[[5], [4, 3], [3, 5], [], []]", "c10::BFloat16",
                      "") EVENT("addmm", "[[4, 5], [4, 3], [3, 5], [], []]", "c10::Half", "")
                    EVENT("bmm", "[[7, 4, 3], [7, 3, 5]]", "float",
                          ", \"Input Strides\": [[12, 1, 4], [0, 5, 1]]")
                        EVENT("mm", "[[4, 3], [3, 5]]", "double", "")
                            EVENT("_scaled_mm", "[[4, 3], [3, 5]]", "c10::Float8_e4m3fn", "")
                                EVENT("_int_mm", "[[32, 16], [16, 8]]", "signed char", "") "{}]}",
        "4x5x3:f32:nt:lda=8 calls 1\n4x5x3:bf16:nn:epi=bias calls 1\n4x5x3:f16:nn:beta=1 calls 1\n"
        "4x5x3:f32:tn:batch=7:sb=0 calls 1\n4x5x3:f64:nn calls 1\n32x8x16:s8:nn calls 1\n"
        "left out: 1 of 7 products (1 with scales)");
}

static void test_mistakes(void **state)
{
    static const char *const other[] = {
        "",
        "64x64x64\n",
        "# GemmTunableOp_float_NN,nn_1_2_3\n64x64x64:f32:nn count=3\n",
        "{\"problems\": [\"1x2x3\"]}",
        "hello\n",
        "{\"cache\": {}}"};
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"{\"traceEvents\": [{\"name\": \"aten::mm\", \"args\": {}}]}", "record_shapes=True"},
        {"{\"traceEvents\": [{\"name\": }", "malformed JSON near"},
        {"{\"traceEvents\": 1}", "no list"}};

    (void)state;
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        assert_false(gt_foreign_is(other[i], strlen(other[i])));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct gt_foreign foreign;
        struct gt_err err = {0};

        assert_int_equal(
            gt_foreign_read(&foreign, wrong[i].text, strlen(wrong[i].text), add, NULL, &err),
            GT_ECONFIG);
        if (!strstr(err.msg, wrong[i].says))
            fail_msg("%s", err.msg);
    }
}

/* More reasons than are kept apart. */
static void test_many_reasons(void **state)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 12; i++)
        gt_strbuf_addf(&text, "GemmTunableOp_type%d_NN,nn_8_8_8\n", i);
    check(text.text, "left out: 12 of 12 products (1 of type0, 1 of type1, 1 of type2, "
                     "1 of type3, 1 of type4, 1 of type5, 1 of type6, 5 for other reasons)");
    gt_strbuf_release(&text);
}

static int read_all(struct gt_err *err)
{
    static const char *const texts[] = {
        "GemmTunableOp_float_NT,nt_256_512_1024_ld_256_512_256\n",
        "{\"traceEvents\": [" EVENT("mm", "[[4, 3], [3, 5]]", "float", "") "{}]}"};
    struct gt_strbuf found = GT_STRBUF_INIT;
    struct gt_foreign foreign;
    int rc = GT_OK;

    for (size_t i = 0; i < 2 && !rc; i++)
        rc = gt_foreign_read(&foreign, texts[i], strlen(texts[i]), add, &found, err);
    gt_strbuf_release(&found);
    return rc;
}

static void test_no_memory(void **state)
{
    (void)state;
    gt_failmalloc_every("products of others", read_all, 5);
}

/* Doubles and complex numbers; numbers and sizes that are none are left out, not guessed. */
static void test_odd_fields(void **state)
{
    (void)state;
    check("hipblaslt-bench -m 1e3 -n 64 -k 64 --precision f16_r\n"
          "hipblaslt-bench -m 64 -n 64 -k 64 --lda -1 --precision f16_r\n"
          "rocblas-bench -f gemm_ex -m 64 -n 64 -k 64 --transposeA C --a_type f64_c --b_type f64_c "
          "--c_type f64_c --d_type f64_c --compute_type f64_c\n"
          "rocblas-bench -f gemm_ex -m 64 -n 32 -k 64 --a_type f64_r --b_type f64_r --c_type f64_r "
          "--d_type f64_r --compute_type f64_r\n",
          "64x64x64:c128:nt:conj=b\n32x64x64:f64:nn\n"
          "left out: 2 of 4 products (2 of sizes that cannot be)");
    check("GemmTunableOp_c10::complex<double>_NN,nn_8_8_8_ld_8_8_8\n"
          "GemmTunableOp_c10::complex<float>_CN,cn_8_8_8_ld_8_8_8\n",
          "8x8x8:c128:nn\n8x8x8:c64:nt:conj=b\n");
    check("[cublasLt][1][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_64F rows=40 cols=40 ld=40] "
          "B=0X7F Bdesc=[type=R_64F rows=40 cols=16 ld=40] Cdesc=[type=R_64F rows=40 cols=16 ld=40]"
          " computeDesc=[computeType=COMPUTE_64F scaleType=R_64F]\n"
          "[cublasLt][1][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_16F rows=-4 cols=40 ld=40] "
          "B=0X7F Bdesc=[type=R_16F rows=40 cols=16 ld=40] Cdesc=[type=R_16F rows=40 cols=16 ld=40]"
          " computeDesc=[computeType=COMPUTE_32F]\n"
          "[cublasLt][1][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_16F rows=40 cols=40 ld=40] "
          "B=0X7F Bdesc=[type=R_16F rows=41 cols=16 ld=41] Cdesc=[type=R_16F rows=40 cols=16 ld=40]"
          " computeDesc=[computeType=COMPUTE_32F]\n",
          "16x40x40:f64:nn calls 1\nleft out: 2 of 3 products (2 of sizes that cannot be)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_fields),  cmocka_unit_test(test_tunable),
        cmocka_unit_test(test_matmul),      cmocka_unit_test(test_calls),
        cmocka_unit_test(test_bench_lines), cmocka_unit_test(test_torch),
        cmocka_unit_test(test_mistakes),    cmocka_unit_test(test_many_reasons),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

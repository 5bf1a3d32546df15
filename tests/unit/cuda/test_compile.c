/* test_compile.c - the NVRTC stage: options, what the log tells, errors; against the real library
 * where there is one, and the sentences where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cuda/compile.h"
#include "stub_fixture.h"
#include "whole.h"

static const char kernel_text[] = "#line 1 \"templates/x.cu\"\n"
                                  "extern \"C\" __global__ void gemm(float *p)\n"
                                  "{\n"
                                  "    __shared__ float tile[256];\n"
                                  "    tile[threadIdx.x] = p[threadIdx.x];\n"
                                  "    __syncthreads();\n"
                                  "    p[threadIdx.x] = tile[255 - threadIdx.x];\n"
                                  "}\n";

static struct gt_nvrtc *open_real(void)
{
    struct gt_nvrtc *nvrtc;
    struct gt_err err;

    unsetenv("GEMMTUNE_LIBNVRTC");
    if (gt_nvrtc_open(&nvrtc, &err)) {
        print_message("skipped: %s\n", err.msg);
        skip();
    }
    return nvrtc;
}

static void test_options(void **state)
{
    struct gt_compile_request request = {.arch = 90, .device_cc = 90, .include_dirs = "/i"};
    char text[256];

    (void)state;
    gt_compile_options(&request, text, sizeof(text));
    assert_string_equal(text, "--gpu-architecture=sm_90a\n--std=c++17\n--ptxas-options=-v\n");
    request.arch = request.device_cc = 100;
    request.max_registers = 128;
    gt_compile_options(&request, text, sizeof(text));
    assert_string_equal(text, "--gpu-architecture=sm_100\n--std=c++17\n--ptxas-options=-v\n"
                              "--maxrregcount=128\n");
    request.features = true;
    gt_compile_options(&request, text, sizeof(text));
    assert_non_null(strstr(text, "--gpu-architecture=sm_100a\n"));
    request.ptx = true; /* of this arch, for another one */
    request.device_cc = 103;
    gt_compile_options(&request, text, sizeof(text));
    assert_string_equal(text, "--gpu-architecture=compute_100\n--std=c++17\n--maxrregcount=128\n");
    request = (struct gt_compile_request){.arch = 86, .device_cc = 90, .ptx = true};
    gt_compile_options(&request, text, sizeof(text));
    assert_string_equal(text, "--gpu-architecture=compute_86\n--std=c++17\n");
    gt_compile_options(&request, text, 10);
    assert_int_equal(strlen(text), 9);
}

static void test_cubin_and_log(void **state)
{
    static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_err err;

    (void)state;
    assert_true(gt_nvrtc_version(nvrtc) >= 12000);
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
        struct gt_compile_request request = {
            .source = kernel_text, .name = "x", .arch = archs[i], .device_cc = archs[i]};
        struct gt_binary binary;

        if (gt_compile(nvrtc, &request, &binary, &err))
            fail_msg("%s", err.msg);
        assert_true(binary.size > 1000);
        assert_memory_equal(binary.image, "\177ELF", 4);
        assert_in_range(binary.registers, 4, 64);
        assert_int_equal(binary.static_shared, 1024);
        assert_int_equal(binary.spill_bytes, 0);
        assert_non_null(strstr(binary.log, "registers"));
        assert_true(binary.ms > 0);
        gt_binary_release(&binary);
    }
    gt_nvrtc_close(nvrtc);
}

/* The project's own device kernels, for every arch that a GPU may have; without WHOLE=1 for
 * Turing, Hopper and one of Blackwell. */
static void test_proof_kernels_compile_everywhere(void **state)
{
    static const int archs[] = {90, 80, 86, 87, 89, 75, 100, 120, 88, 103, 110, 121};
    static const char *const files[] = {"fill.cu",  "reference.cu", "reference_double.cu",
                                        "check.cu", "clock.cu",     "served.cu"};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        gt_strbuf_addf(&source, "#include \"proof/%s\"\n", files[i]);
    size_t known = gt_nvrtc_version(nvrtc) >= 13000 ? 12 : gt_nvrtc_version(nvrtc) >= 12080 ? 8 : 6;
    for (size_t i = 0; i < known; i += (size_t)gt_whole(1, 5)) {
        struct gt_compile_request request = {.source = source.text,
                                             .name = "proof",
                                             .include_dirs = "templates",
                                             .arch = archs[i],
                                             .device_cc = archs[i]};
        struct gt_binary binary;

        if (gt_compile(nvrtc, &request, &binary, &err))
            fail_msg("sm_%d: %s", archs[i], err.msg);
        assert_null(strstr(binary.log, "warning"));
        gt_binary_release(&binary);
    }
    gt_strbuf_release(&source);
    gt_nvrtc_close(nvrtc);
}

static void test_register_limit_spills(void **state)
{
    static const char text[] = "extern \"C\" __global__ void gemm(float *p)\n"
                               "{\n"
                               "    float x[96];\n"
                               "    for (int i = 0; i < 96; i++)\n"
                               "        x[i] = p[i * 32];\n"
                               "    __syncthreads();\n"
                               "    for (int i = 0; i < 96; i++)\n"
                               "        p[(95 - i) * 32] = x[i] * x[(i * 7) % 96];\n"
                               "}\n";
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_compile_request request = {
        .source = text, .name = "x", .arch = 86, .device_cc = 86, .max_registers = 32};
    struct gt_binary binary;
    struct gt_err err;

    (void)state;
    if (gt_compile(nvrtc, &request, &binary, &err))
        fail_msg("%s", err.msg);
    assert_in_range(binary.registers, 1, 32);
    assert_true(binary.spill_bytes > 0);
    gt_binary_release(&binary);
    gt_nvrtc_close(nvrtc);
}

/* wgmma whose accumulators are touched while it runs: ptxas makes each wait, and says so. */
static void test_serialized_wgmma(void **state)
{
    static const char text[] =
        "#define WGMMA(d, a) asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
        "\"\\\n"
        "    \"{%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;\" : \"+f\"(d[0]), \"+f\"(d[1]), "
        "\"+f\"(d[2]),\\\n"
        "    \"+f\"(d[3]) : \"l\"(a))\n"
        "extern \"C\" __global__ void gemm(float *p, unsigned long long a)\n"
        "{\n"
        "    float d[4] = {};\n"
        "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
        "    WGMMA(d, a);\n"
        "    if (TOUCH) d[0] *= 2;\n"
        "    WGMMA(d, a + 2);\n"
        "    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
        "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
        "    for (int i = 0; i < 4; i++) p[i * 128 + threadIdx.x] = d[i];\n"
        "}\n";
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_compile_request request = {.name = "x", .arch = 90, .device_cc = 90};
    char source[2048], reason[GT_SERIALIZED_MAX];
    struct gt_err err;

    (void)state;
    for (int touch = 0; touch < 2; touch++) {
        struct gt_binary binary;

        snprintf(source, sizeof(source), "#define TOUCH %d\n%s", touch, text);
        request.source = source;
        if (gt_compile(nvrtc, &request, &binary, &err))
            fail_msg("%s", err.msg);
        if (gt_log_serialized(binary.log, reason) != touch)
            fail_msg("%d: %s", touch, binary.log);
        gt_binary_release(&binary);
    }
    print_message("%s\n", reason);
    assert_non_null(strstr(reason, "wgmma"));
    assert_null(strstr(reason, "function"));
    gt_nvrtc_close(nvrtc);
}

static void test_errors_have_the_templates_lines(void **state)
{
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_compile_request request = {
        .source = "#line 41 \"templates/x.cu\"\n\n__device__ void f() { oops; }",
        .name = "x",
        .arch = 86,
        .device_cc = 86};
    struct gt_binary binary;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_compile(nvrtc, &request, &binary, &err), GT_ENVRTC);
    assert_non_null(strstr(err.msg, "templates/x.cu(42): error"));
    assert_non_null(strstr(err.msg, "oops"));
    assert_non_null(binary.log);
    gt_binary_release(&binary);
    gt_nvrtc_close(nvrtc);
}

static const struct gt_compile_request ptx_request = {
    .source = kernel_text, .name = "x", .arch = 86, .device_cc = 90, .ptx = true};

/* Where PTX cannot be assembled, the driver is to do it. */
static void test_ptx(void **state)
{
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_binary binary;
    struct gt_err err;

    (void)state;
    setenv("GEMMTUNE_LIBNVJITLINK", "/nonexistent/libnvJitLink.so", 1);
    if (gt_compile(nvrtc, &ptx_request, &binary, &err))
        fail_msg("%s", err.msg);
    unsetenv("GEMMTUNE_LIBNVJITLINK");
    assert_non_null(strstr(binary.image, ".target sm_86"));
    assert_int_equal(((char *)binary.image)[binary.size - 1], 0);
    gt_binary_release(&binary);
    gt_nvrtc_close(nvrtc);
}

/* Skips the test, and closes what it has opened, where nvJitLink is not installed. */
static void need_assembler(struct gt_nvrtc *nvrtc)
{
    struct gt_assembler *assembler;
    struct gt_err err;

    if (gt_assembler_open(&assembler, &err)) {
        gt_nvrtc_close(nvrtc);
        print_message("# SKIP: %s\n", err.msg);
        skip();
    }
    gt_assembler_close(assembler);
}

/* By way of PTX of another arch, a cubin for the device all the same: the driver, which would
 * compile the PTX while the GPU waits, does not have to. */
static void test_assembled_ptx(void **state)
{
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_binary binary;
    struct gt_err err;

    (void)state;
    need_assembler(nvrtc);
    if (gt_compile(nvrtc, &ptx_request, &binary, &err))
        fail_msg("%s", err.msg);
    assert_memory_equal(binary.image, "\177ELF", 4);
    assert_true(binary.registers > 0);
    assert_non_null(strstr(binary.log, "sm_90"));
    gt_binary_release(&binary);
    gt_nvrtc_close(nvrtc);
}

/* The bound on registers counts on the way by PTX as well: without it this kernel takes twice as
 * many. */
static void test_assembled_bound(void **state)
{
    static const char text[] = "extern \"C\" __global__ void gemm(float *p)\n"
                               "{\n"
                               "    float a[64];\n"
                               "#pragma unroll\n"
                               "    for (int i = 0; i < 64; i++)\n"
                               "        a[i] = p[i * 32 + threadIdx.x];\n"
                               "    __syncthreads();\n"
                               "#pragma unroll\n"
                               "    for (int i = 0; i < 64; i++)\n"
                               "        p[(63 - i) * 32 + threadIdx.x] = a[i] * a[i * 7 % 64];\n"
                               "}\n";
    struct gt_compile_request request = ptx_request;
    struct gt_nvrtc *nvrtc = open_real();
    struct gt_binary binary;
    struct gt_err err;

    (void)state;
    need_assembler(nvrtc);
    request.source = text;
    for (request.max_registers = 0; request.max_registers <= 40; request.max_registers += 40) {
        if (gt_compile(nvrtc, &request, &binary, &err))
            fail_msg("%s", err.msg);
        assert_true(request.max_registers ? binary.registers <= 40 : binary.registers > 60);
        gt_binary_release(&binary);
    }
    gt_nvrtc_close(nvrtc);
}

/* PTX that nvJitLink refuses is an error with its words. */
static void test_refused_ptx(void **state)
{
    struct gt_assembler *assembler;
    struct gt_binary made;
    struct gt_err err;

    (void)state;
    if (gt_assembler_open(&assembler, &err)) {
        print_message("# SKIP: %s\n", err.msg);
        skip();
    }
    assert_int_equal(gt_assemble(assembler, ".version 9.0\n.target sm_80\nnonsense\n", 90, false, 0,
                                 &made, &err),
                     GT_ENVRTC);
    assert_non_null(strstr(err.msg, "nvJitLink"));
    assert_null(made.image);
    assert_null(made.log);
    gt_assembler_close(assembler);
}

static void test_absent_library(void **state)
{
    struct gt_nvrtc *nvrtc;
    struct gt_err err;

    (void)state;
    setenv("GEMMTUNE_LIBNVRTC", "/nonexistent/libnvrtc.so", 1);
    assert_int_equal(gt_nvrtc_open(&nvrtc, &err), GT_ENOLIB);
    assert_null(nvrtc);
    assert_non_null(strstr(err.msg, "/nonexistent/libnvrtc.so"));
    assert_non_null(strstr(err.msg, "GEMMTUNE_LIBNVRTC"));
    /* A folder: both names are tried in it. */
    setenv("GEMMTUNE_LIBNVRTC", "/tmp", 1);
    assert_int_equal(gt_nvrtc_open(&nvrtc, &err), GT_ENOLIB);
    assert_non_null(strstr(err.msg, "/tmp/libnvrtc.so.13, /tmp/libnvrtc.so.12"));
    /* Another library: what it lacks is named. */
    stub_environment();
    setenv("GEMMTUNE_LIBNVRTC", getenv("GEMMTUNE_LIBCUDA"), 1);
    assert_int_equal(gt_nvrtc_open(&nvrtc, &err), GT_ENOLIB);
    assert_non_null(strstr(err.msg, "lacks the function nvrtcVersion"));
}

/* The planted faults of the stub compiler that do not end the process. */
static void test_stub_compiler(void **state)
{
    struct gt_compile_request request = {.source = "#define FAULT 6\n"
                                                   "#if FAULT == 5\n"
                                                   "// gt-fault: compile_crash\n"
                                                   "#elif FAULT == 6\n"
                                                   "// gt-fault: compile_error\n"
                                                   "#endif\n",
                                         .name = "x",
                                         .arch = 86,
                                         .device_cc = 86};
    struct gt_nvrtc *nvrtc;
    struct gt_binary binary;
    struct gt_err err;

    (void)state;
    stub_environment();
    assert_int_equal(gt_nvrtc_open(&nvrtc, &err), GT_OK);
    assert_int_equal(gt_compile(nvrtc, &request, &binary, &err), GT_ENVRTC);
    assert_non_null(strstr(err.msg, "planted"));
    gt_binary_release(&binary);
    request.source = "void gemm";
    assert_int_equal(gt_compile(nvrtc, &request, &binary, &err), GT_OK);
    assert_string_equal(binary.image, "gtstub1\nvoid gemm");
    assert_in_range(binary.registers, 32, 128);
    gt_binary_release(&binary);
    gt_nvrtc_close(nvrtc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_cubin_and_log),
        cmocka_unit_test(test_proof_kernels_compile_everywhere),
        cmocka_unit_test(test_register_limit_spills),
        cmocka_unit_test(test_serialized_wgmma),
        cmocka_unit_test(test_errors_have_the_templates_lines),
        cmocka_unit_test(test_ptx),
        cmocka_unit_test(test_assembled_ptx),
        cmocka_unit_test(test_assembled_bound),
        cmocka_unit_test(test_refused_ptx),
        cmocka_unit_test(test_absent_library),
        cmocka_unit_test(test_stub_compiler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

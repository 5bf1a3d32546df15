/* calls.c - calls of cuBLAS under libgemmtune_cublas.so, which tests/serve/preloaded puts before
 * the stubs: what is served is right and what is not is left to cuBLAS.
 *
 * Each test runs in a child of its own, with a policy of its own, because a policy is read once in
 * a process.  The parent then looks for words in the report that the child left. */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "calls.h"

static const struct test {
    const char *name;
    void (*run)(void);
    const char *settings[6]; /* beside GEMMTUNE_REPORT */
    const char *words[4];    /* of the report; NULL: there is none */
} tests[] = {
    {"FP32, FP16 and BF16 through cublasGemmEx",
     test_thin_path,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"6 products, 6 served", "48x64x32:bf16:nn"}},
    {"random products, every entry",
     test_random,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"served"}},
    {"what is left to cuBLAS",
     test_left,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"scalars or pointers", "m, n or k is 0", "limits the multiprocessors", "alpha is 0"}},
    {"math modes",
     test_math,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"48x64x32:tf32:nn", "48x64x32:f32:nn"}},
    {"TF32 where FP32 costs nothing",
     test_small_tf32,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"3x3x3:tf32:nn; computed in FP32", "1 products, 1 served"}},
    {"accuracy=f32 widens FP32",
     test_math,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_ACCURACY=f32"},
     {"48x64x32:tf32:nn", "48x64x32:f32:nn:accuracy=f32"}},
    {"half-precision sums",
     test_half,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"4 left to cuBLAS", "types that gemmtune does not"}},
    {"cublasSgemmEx",
     test_sgemm_ex,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"13 products, 11 served", "2 left: types that gemmtune does not", "48x64x32:bf16:nn:out=f32",
      "48x64x32:tf32:nn"}},
    {"cuBLAS's own calls",
     test_nested,
     {"GEMMTUNE_SERVE=0", "GEMMTUNE_WAIT=1"},
     {"1 products, 0 served"}},
    {"graph capture",
     test_capture,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"4 products, 3 served", "not decided yet"}},
    {"decided in the background", test_background, {"GEMMTUNE_SERVE=any"}, {"not decided yet"}},
    {"four threads", test_threads, {"GEMMTUNE_SERVE=any"}, {"products"}},
    {"fork", test_fork, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"2 products, 2 served"}},
    {"GEMMTUNE_CHECK, equal results",
     test_check,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"1 products, 1 served", "1 compared with cuBLAS on the device"}},
    {"GEMMTUNE_CHECK, random products",
     test_check_random,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"compared with cuBLAS on the device"}},
    {"GEMMTUNE_CHECK, planted errors",
     test_check_planted,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"left: its result differed", "compared with cuBLAS on the device"}},
    {"GEMMTUNE_CHECK, planted errors, no compiler for the comparison",
     test_check_planted,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1", "GEMMTUNE_COMPILE=0",
      "GEMMTUNE_LIBNVRTC=/nowhere"},
     {"left: its result differed", "compared with cuBLAS on the host"}},
    {"GEMMTUNE_CHECK, one wrong element of a million",
     test_check_one_of_a_million,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"6 products, 3 served", "3 left: its result differed",
      "3 compared with cuBLAS on the device"}},
    {"GEMMTUNE_CHECK=3",
     test_check_every_third,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=3"},
     {"7 products, 7 served", "3 compared with cuBLAS on the device"}},
    {"GEMMTUNE_CHECK, threads that change the device",
     test_device_threads_checked,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1", "STUB_DEVICES=2", "STUB_CC_1=80",
      "STUB_SMS_1=7"},
     {"80 products, 80 served", "80 compared with cuBLAS on the device"}},
    {"GEMMTUNE_CHECK, no memory",
     test_check_without_memory,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"1 products, 1 served", "1 not compared with cuBLAS"}},
    {"a report by signal", test_signal, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"1 products"}},
    {"another folder",
     test_other_folder,
     {"GEMMTUNE_POLICY=elsewhere.policy", "GEMMTUNE_WAIT=1"},
     {"1 products, 1 served"}},
    {"cublasLtMatmul: what is left",
     test_matmul_left,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"44 served", "epilogue", "orders or batch modes"}},
    {"cublasLtMatmul: a bias of FP8 operands",
     test_matmul_fp8,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"10 products, 7 served", "epilogue"}},
    {"a library loaded as Python loads them",
     test_local,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"1 products, 1 served"}},
    {"settings of handles",
     test_handles,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"201 products, 135 served"}},
    {"a handler of the program's own", test_own_signal, {"GEMMTUNE_SERVE=any"}, {"1 products"}},
    {"dlsym", test_dlsym, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"1 products, 1 served"}},
    {"types and strides of cuBLAS alone",
     test_foreign,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"7 products, 0 served"}},
    {"streams", test_streams, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"4 products, 4 served"}},
    {"settings that no hook sees",
     test_unseen,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"105 products, 104 served"}},
    {"math that no hook sees",
     test_unseen_math,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"101 products, 100 served"}},
    {"workspaces",
     test_workspaces,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"it needs what no capture", "1 left: its workspace"}},
    {"ten thousand handles",
     test_many_handles,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"it needs what no capture"}},
    {"atomics", test_atomics, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"sums with atomics"}},
    {"contexts",
     test_contexts,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"4 products, 2 served", "2 left: no primary context"}},
    {"a context of the program's own alone",
     test_no_primary,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"2 products, 1 served", "1 left: no primary context"}},
    {"a reset of the device",
     test_reset,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"4 products, 2 served", "2 left: the program has reset the device"}},
    {"GEMMTUNE_CHECK, other results",
     test_differs,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"3 products, 2 served", "1 left: its result differed"}},
    {"algorithms of cuBLASLt",
     test_vendor,
     {"GEMMTUNE_CUBLASLT=1", "GEMMTUNE_WAIT=1", "GEMMTUNE_DB=vendor.db"},
     {"4 products, 2 served", "1 left: a size, stride", "1 left: it needs what no capture"}},
    {"products after the end",
     test_exit,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"1 products, 1 served"}},
    {"two versions of cuBLAS, left",
     test_versions,
     {"GEMMTUNE_SERVE=0", "GEMMTUNE_WAIT=1"},
     {"2 products, 0 served"}},
    {"two versions of cuBLAS, served",
     test_versions,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"2 products, 2 served"}},
    {"two devices",
     test_devices,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "STUB_DEVICES=2", "STUB_CC_1=80", "STUB_SMS_1=7"},
     {"8 products, 8 served"}},
    {"threads that change the device",
     test_device_threads,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "STUB_DEVICES=2", "STUB_CC_1=80", "STUB_SMS_1=7"},
     {"80 products, 80 served"}},
    {"a thousand threads",
     test_many_threads,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"1999 products, 1999 served"}},
    {"threads that share a stream",
     test_shared_stream,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "STUB_APART_US=100"},
     {"left"}},
    {"arrays of pointers and groups",
     test_arrays,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"10 products, 0 served", "10 left: arrays of matrices by pointer"}},
    {"a device that nobody tuned for",
     test_untuned_device,
     {"GEMMTUNE_DB=vendor.db", "GEMMTUNE_MARGIN=0", "GEMMTUNE_WAIT=1", "STUB_DEVICES=2",
      "STUB_NAME_1=Another GPU"},
     {"3 products, 2 served", "1 left: not tuned on this device"}},
    {"a problem that nobody tuned",
     test_untuned_problem,
     {"GEMMTUNE_DB=vendor.db", "GEMMTUNE_MARGIN=0", "GEMMTUNE_WAIT=1"},
     {"3 products, 2 served", "1 left: not tuned on this device"}},
    {"serve=any: the report says what it let through",
     test_thin_path,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"6 products, 6 served",
      "6 served by serve=any alone, perhaps slower than cuBLAS: not tuned on this device",
      "48x64x32:bf16:nn; served by serve=any alone: not tuned on this device"}},
    {"GEMMTUNE_CHECK while another thread captures",
     test_check_beside_capture,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"1 products, 1 served"}},
    {"sizes that need 64 bits",
     test_wide,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"3 products, 0 served", "a size, stride"}},
    {"settings alone", test_settings_alone, {"GEMMTUNE_MARGIN=much"}, {NULL}},
    {"a small stack",
     test_small_stack,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"1 products, 1 served"}},
    {"NVIDIA_TF32_OVERRIDE=0",
     test_no_tf32,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "NVIDIA_TF32_OVERRIDE=0"},
     {"2 products, 2 served", "48x64x32:f32:nn"}},
    {"a program that has taken every key",
     test_no_key_left,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"2 products, 2 served"}},
    {"only recorded",
     test_nested,
     {"GEMMTUNE_CAPTURE=captured", "GEMMTUNE_WAIT=1"},
     {"calls are only recorded"}},
};

static bool holds(const char *path, const char *const words[4])
{
    char text[65536];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[length] = '\0';
    if (file)
        fclose(file);
    for (int i = 0; i < 4 && words[i]; i++)
        if (!strstr(text, words[i])) {
            printf("# the report lacks '%s':\n%s", words[i], text);
            return false;
        }
    return true;
}

/* `calls --client [FILE]`: a program with a few products, for tests of commands, which has first
 * opened a file; it ends with 3. */
static int client(const char *file)
{
    const int opened = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644) : 0;
    const struct product often = plain(EX, 64, 48, 32);
    struct product seldom = plain(SGEMM, 16, 24, 8);
    void *handle = new_handle();
    int served = 0;

    seldom.ta = GT_OP_T;
    seldom.lda = 8;
    begin_context();
    for (int i = 0; i < 5; i++)
        served += run(handle, &often);
    for (int i = 0; i < 2; i++)
        served += run(handle, &seldom);
    cublasDestroy_v2(handle);
    printf("%d of 7 products served\n", served);
    return opened < 0 ? 1 : 3;
}

/* `calls --cost`: nanoseconds of a call of one multiplication.  Run with and without the library,
 * the difference is what the library costs. */
static int cost(void)
{
    enum { CALLS = 1000000 };
    const struct product p = plain(EX, 1, 1, 1);
    void *handle = new_handle();
    struct memory memory = fill(&p);
    const float alpha = 1, beta = 0;

    begin_context();
    for (int turn = 0; turn < 5; turn++) {
        struct timespec begin, end;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < CALLS; i++)
            cublasGemmEx(handle, 0, 0, 1, 1, 1, &alpha, memory.a, 0, 1, memory.b, 0, 1, &beta,
                         memory.c, 0, 1, GT_COMPUTE_32F, -1);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%.1f ns\n",
               ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
                   CALLS);
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool failed = false;

    if (argc > 1 && strcmp(argv[1], "--cost") == 0)
        return cost();

    if (argc > 1 && strcmp(argv[1], "--client") == 0)
        return client(argv[2]);

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        const struct test *test = &tests[i];
        int status = 0;
        pid_t child;
        bool good;

        if (argc > 1 && !strstr(test->name, argv[1]))
            continue;
        unlink("report");
        fflush(stdout);
        child = fork();
        if (child == 0) {
            putenv((char *)"GEMMTUNE_REPORT=report");
            for (int j = 0; j < 6 && test->settings[j]; j++)
                putenv((char *)test->settings[j]);
            begin_context();
            test->run();
            exit(0);
        }
        waitpid(child, &status, 0);
        good = status == 0 && holds("report", test->words);
        if (status)
            printf("# status %d\n", status);
        printf("%s %zu - %s\n", good ? "ok" : "not ok", i + 1, test->name);
        failed |= !good;
    }
    return failed;
}

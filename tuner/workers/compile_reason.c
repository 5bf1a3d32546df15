/* compile_reason.c - reads the compiler's log for people; and the known source, by which a compiler
 * that does not work is distinguished from a candidate that does not compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/compile.h"
#include "cuda/cuda_api.h"
#include "workers/compile_reason.h"

#define STATIC_SHARED 49152 /* bytes of static shared memory for a block, on every arch */

/* The entry of the log with the most static shared memory, if this is more than STATIC_SHARED.
 * ptxas then fails, and NVRTC leaves the sentence of ptxas out of the log. */
static int too_large(const char *log, char entry[GT_STATIC_SHARED_MAX])
{
    char all[GT_STATIC_SHARED_MAX];
    int bytes, most = STATIC_SHARED;

    gt_log_static_shared(log, all);
    for (const char *line = all; *line; line += strcspn(line, "\n") + 1) {
        const char *number = strchr(line, ' ');

        bytes = number ? (int)strtol(number, NULL, 10) : 0;
        if (bytes > most) {
            most = bytes;
            snprintf(entry, GT_STATIC_SHARED_MAX, "%.*s", (int)(number - line), line);
        }
    }
    return most > STATIC_SHARED ? most : 0;
}

void gt_compile_reason(char *text, size_t size, const char *log)
{
    char entry[GT_STATIC_SHARED_MAX];
    const char *at = strstr(log, "error"), *hint = "";
    size_t length;
    int bytes = at ? 0 : too_large(log, entry);

    if (bytes) {
        snprintf(text, size,
                 "%s has %d bytes of static shared memory, and a block may have %d; what is more "
                 "must be dynamic (GT_DYNAMIC_SHARED, \"shared\" of the launch)",
                 entry, bytes, STATIC_SHARED);
        return;
    }
    while (at && at > log && at[-1] != '\n')
        at--;
    if (!at)
        at = log;
    length = strcspn(at, "\n");
    if (memmem(at, length, "cannot open source file", strlen("cannot open source file")))
        hint = "; --include-dir (-I) names folders of headers";
    snprintf(text, size, "%.*s%s%s", (int)length, at, hint, at + length);
    length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
}

/* ---- the known source ---- */

/* The known source needs the compiler's built-in declarations and its library of mathematical
 * functions, and nothing from the data folder. */
const char gt_known_source[] = "extern \"C\" __global__ void known(float *x)\n"
                               "{\n"
                               "    __shared__ float s[32];\n"
                               "    s[threadIdx.x % 32] = x[blockIdx.x];\n"
                               "    __syncthreads();\n"
                               "    x[threadIdx.x] = expf(s[31 - threadIdx.x % 32]);\n"
                               "}\n";

/* The remedy for NVRTC's result (nvrtc.h) or its words. */
static const char *remedy(int result, const char *reason)
{
    if (result == 7 || strstr(reason, "builtin"))
        return "its library libnvrtc-builtins of the same version must lie beside it: install "
               "NVRTC anew, run tools/setup, or name another one with GEMMTUNE_LIBNVRTC";
    if (result == 1 || strstr(reason, "takes more than") || strstr(reason, "out of memory") ||
        strstr(reason, "signal 9 "))
        return "free memory, raise the limit (ulimit -v) or take fewer workers with --jobs";
    if (result == 5 || strstr(reason, "gpu-architecture"))
        return "a newer CUDA Toolkit knows that arch; GEMMTUNE_LIBNVRTC may name its NVRTC";
    if (strstr(reason, "allowed"))
        return "the machine is overloaded or the compiler hangs: take fewer workers with --jobs, "
               "or name another NVRTC with GEMMTUNE_LIBNVRTC";
    return "install NVRTC anew, run tools/setup, or name another one with GEMMTUNE_LIBNVRTC";
}

void gt_known_complaint(char *text, size_t size, int nvrtc, int arch, int result,
                        const char *reason)
{
    static const char failed[] = "with this source: ";
    const char *words = strstr(reason, failed); /* behind a sentence about the candidate */
    char number[32] = "";

    if (words)
        reason = words + strlen(failed);
    if (result)
        snprintf(number, sizeof(number), "result %d, ", result);
    snprintf(text, size,
             "the compiler does not work here: NVRTC %d.%d does not even compile " GT_KNOWN_NAME
             " for sm_%d (%s%.300s); %s",
             nvrtc / 1000, nvrtc % 1000 / 10, arch, number, reason, remedy(result, reason));
}

int gt_known_check(struct gt_nvrtc *nvrtc, int cc, struct gt_err *err)
{
    const struct gt_compile_request request = {.source = gt_known_source,
                                               .name = GT_KNOWN_NAME,
                                               .include_dirs = "",
                                               .arch = cc,
                                               .device_cc = cc};
    struct gt_binary binary = {0};
    struct gt_err why = {0};
    char reason[512], text[sizeof(err->msg)];
    int rc = gt_compile(nvrtc, &request, &binary, &why);

    if (rc) {
        if (binary.result && binary.log && *binary.log)
            gt_compile_reason(reason, sizeof(reason), binary.log);
        else
            snprintf(reason, sizeof(reason), "%.500s", why.msg);
        gt_known_complaint(text, sizeof(text), gt_nvrtc_version(nvrtc), cc, binary.result, reason);
        rc = gt_err_set(err, GT_ENOLIB, "%s", text);
    }
    gt_binary_release(&binary);
    return rc;
}

int gt_known_dead(const char *how, struct gt_err *err)
{
    return gt_err_set(err, GT_ENOLIB,
                      "the compiler (NVRTC) does not work here: %s where it opened it or compiled "
                      "with it; %s",
                      how, remedy(0, how));
}

int gt_known_pair(const struct gt_nvrtc *nvrtc, int driver, struct gt_err *err)
{
    const int version = gt_nvrtc_version(nvrtc);

    if (driver <= 0 || version / 1000 <= driver / 1000)
        return GT_OK;
    if (driver < 12000)
        return gt_err_set(err, GT_ECUDA,
                          "the driver is for CUDA %d.%d, and gemmtune needs one for CUDA 12 or "
                          "later: update the driver",
                          driver / 1000, driver % 1000 / 10);
    return gt_err_set(err, GT_ECUDA,
                      "the driver is for CUDA %d.%d and does not run what NVRTC %d.%d compiles: "
                      "update the driver, or install NVRTC %d, which GEMMTUNE_LIBNVRTC may name",
                      driver / 1000, driver % 1000 / 10, version / 1000, version % 1000 / 10,
                      driver / 1000);
}

void gt_known_tell_driver(void)
{
    struct gt_driver_api driver;
    char text[16];
    int version = 0;

    if (!gt_driver_api_load(&driver, NULL))
        driver.DriverGetVersion(&version);
    snprintf(text, sizeof(text), "%d", version);
    setenv("GEMMTUNE_DRIVER", text, 1);
}

/* test_calibrate.c - tests that the kernels of the calibration compile with NVRTC for every arch
 * that runs them; what they measure needs a GPU.  Without NVRTC it is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/err.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"
#include "timing/calibrate.h"

#include <stdlib.h>

static void compile(struct gt_nvrtc *nvrtc, const char *data_dir, int cc,
                    const struct gt_program_sources *sources)
{
    struct gt_binary binary = {0};
    struct gt_err err = {0};

    if (gt_sources_compile(&binary, cc, nvrtc, data_dir, NULL, sources, &err))
        fail_msg("sm_%d: %s", cc, err.msg);
    gt_binary_release(&binary);
}

static void test_its_kernels_compile(void **state)
{
    static const int arches[] = {75, 80, 86, 89, 90, 100, 120};
    struct gt_nvrtc *nvrtc;
    struct gt_err err = {0};
    char *data_dir;

    (void)state;
    if (gt_nvrtc_open(&nvrtc, &err)) {
        print_message("# SKIP %s\n", err.msg);
        skip();
    }
    assert_int_equal(gt_data_dir(&data_dir, &err), GT_OK);
    for (size_t i = 0; i < sizeof(arches) / sizeof(arches[0]); i++)
        compile(nvrtc, data_dir, arches[i], &gt_calibrate_sources);
    compile(nvrtc, data_dir, 90, &gt_calibrate_wgmma_sources);
    free(data_dir);
    gt_nvrtc_close(nvrtc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_its_kernels_compile)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

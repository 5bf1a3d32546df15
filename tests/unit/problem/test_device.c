/* test_device.c - archs, profiles, occupancy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/device.h"
#include "base/strbuf.h"

static const int profiles[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

static void test_arch(void **state)
{
    static const struct {
        const char *text;
        int cc;
    } good[] = {{"sm_86", 86}, {"sm86", 86},    {"SM_90A", 90},   {"86", 86},      {"sm_90a", 90},
                {"90a", 90},   {"sm_100", 100}, {"sm_100f", 100}, {"sm_121", 121}, {"sm_75", 75}};
    static const char *const bad[] = {
        "",           "sm_",    "sm_70",  "sm_86x", "sm_90aa", "8.6",    "sm__86",
        "compute_86", "sm_-86", "sm_860", "sm_86a", "a",       "sm_ 86", "99999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        int cc = 0;

        assert_int_equal(gt_arch_parse(good[i].text, &cc, NULL), GT_OK);
        assert_int_equal(cc, good[i].cc);
        assert_true(gt_arch_known(cc));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct gt_err err = {0};
        int cc = -1;

        assert_int_equal(gt_arch_parse(bad[i], &cc, &err), GT_ENOTFOUND);
        assert_int_equal(cc, -1);
        assert_non_null(strstr(err.msg, "known: sm_75"));
    }
    assert_false(gt_arch_known(70));
}

/* Every shipped profile is a plausible GPU of its arch. */
static void test_profiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
        struct gt_device device;
        struct gt_err err = {0};

        if (gt_device_profile(&device, ".", profiles[i], &err))
            fail_msg("%s", err.msg);
        assert_true(device.profile);
        assert_int_equal(device.cc, profiles[i]);
        assert_int_equal(device.ordinal, -1);
        assert_int_equal(device.regs_sm, 65536);
        assert_int_equal(device.max_threads_sm % 512, 0);
        assert_true(device.l2_gbps > device.memory_gbps);
        assert_true(device.smem_block + device.smem_reserved <= device.smem_sm);
        assert_int_equal(device.fma_lanes, profiles[i] == 75 || profiles[i] == 80 ? 64 : 128);
        assert_true(device.tensor_f16 >= 8 * device.fma_lanes / 2);
        assert_true(device.tensor_tf32 == (profiles[i] == 75 ? 0 : device.tensor_f16 / 2));
        assert_true((device.tensor_f8 > 0) == (profiles[i] >= 89));
        assert_true(device.tensor_s8 > 0);
        assert_string_equal(device.uuid, "");
    }
}

/* Names as people type them, and as NVIDIA's tools print them. */
static void test_names(void **state)
{
    static const char *const called[][2] = {
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 80GB HBM3 (profile)", "H100-80GB"},
        {"NVIDIA GeForce RTX 3090", "3090"},
        {"RTX 3090 (profile)", "geforce rtx3090"},
        {"RTX 3090 Ti (profile)", "NVIDIA GeForce RTX 3090 Ti"},
        {"NVIDIA A100-PCIE-40GB", "a100 40gb pcie"},
        {"NVIDIA GeForce RTX 3080 Laptop GPU", "3080laptop"},
    };
    static const char *const others[][2] = {
        {"NVIDIA H200", "h20"},
        {"NVIDIA H200", "gh200"},
        {"NVIDIA A100-SXM4-40GB", "a10"},
        {"NVIDIA A10", "a100"},
        {"NVIDIA L40", "l40s"},
        {"NVIDIA GeForce RTX 3090", "3090 ti"},
        {"NVIDIA H100 80GB HBM3", "H100 PCIe"},
        {"NVIDIA H100 80GB HBM3", "NVIDIA"},
        {"NVIDIA H100 80GB HBM3", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(called) / sizeof(*called); i++)
        assert_true(gt_device_called(called[i][0], called[i][1]));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(gt_device_called(others[i][0], others[i][1]));
    assert_true(gt_device_same("NVIDIA GeForce RTX 3090", "RTX 3090 (profile)"));
    assert_false(gt_device_same("NVIDIA GeForce RTX 3090 Ti", "RTX 3090 (profile)"));
    assert_false(gt_device_same("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H100 80GB HBM3"));
}

static void test_no_profile(void **state)
{
    struct gt_device device;
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(gt_device_profile(&device, ".", 88, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "no device profile of sm_88"));
    assert_non_null(strstr(err.msg, "there are sm_75 sm_80 sm_86"));
    assert_int_equal(gt_device_profile(&device, "/nonexistent", 86, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "there is none"));
}

/* Replaces `from` by `to` in the shipped profile of sm_86 and expects `words` in the sentence. */
static void refused(const char *dir, const char *from, const char *to, const char *words)
{
    struct gt_strbuf text = GT_STRBUF_INIT, path = GT_STRBUF_INIT;
    struct gt_device device;
    struct gt_err err = {0};
    const char *at;
    FILE *file;

    assert_int_equal(gt_strbuf_add_file(&text, "configs/devices/sm_86.json", &err), GT_OK);
    at = strstr(text.text, from);
    assert_non_null(at);
    gt_strbuf_addf(&path, "%s/configs/devices/sm_86.json", dir);
    file = fopen(path.text, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - text.text), text.text, to, at + strlen(from));
    fclose(file);
    assert_int_equal(gt_device_profile_of(&device, dir, 86, "small", &err), GT_ECONFIG);
    if (!strstr(err.msg, words) || !strstr(err.msg, "sm_86.json"))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, words);
    gt_strbuf_release(&text);
    gt_strbuf_release(&path);
}

static void test_malformed_profiles(void **state)
{
    static const char *const cases[][3] = {
        {"\"sms\": 82", "\"sms\": 0", "\"sms\" is 0; it must be a whole number from 1"},
        {"\"sms\": 82", "\"sms\": 8.5", "\"sms\" is 8.5; it must be a whole number"},
        {"\"sms\": 82", "\"sms\": \"82\"", "\"sms\" must be a number"},
        {"\"sms\": 82,", "", "key \"sms\" is missing"},
        {"\"sms\": 82", "\"SMS\": 82", "unknown key \"SMS\" (did you mean \"sms\"?)"},
        {"\"sms\": 82", "\"sms\": 82, \"sms\": 82", "key \"sms\" is given twice"},
        {"\"sms\": 82,", "\"sms\": 82", "line 6: malformed JSON"},
        {"\"cc\": 86", "\"cc\": 89", "\"cc\" is 89; it must be a whole number from 86 to 86"},
        {"\"source\":", "\"doc\":", "key \"doc\" is given twice"},
        {"\"smem_sm\": 102400", "\"smem_sm\": 101376", "a block could never run"},
        {"\"clock_mhz\": 1695", "\"clock_mhz\": 0", "\"clock_mhz\" is 0; it must lie between"},
        {"\"clock_mhz\": 1695", "\"clock_mhz\": true", "\"clock_mhz\" must be a number"},
        {"\"devices\": [", "\"devices\": [{\"device\": \"Small (profile)\", \"SMS\": 8},",
         "unknown key \"SMS\" (did you mean \"sms\"?)"},
    };
    char dir[] = "/tmp/gt_device_XXXXXX", path[128];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/configs", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/configs/devices", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        refused(dir, cases[i][0], cases[i][1], cases[i][2]);
    snprintf(path, sizeof(path), "%s/configs/devices/sm_86.json", dir);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(dir);
}

/* Blocks per SM by the CUDA occupancy calculator's rules. */
static void test_occupancy(void **state)
{
    static const struct {
        int cc, registers, threads, shared, blocks;
    } cases[] = {
        {86, 32, 256, 0, 6},                             /* threads: 1536 / 256 */
        {86, 128, 256, 0, 2},                            /* registers: 16 warps of 4096 */
        {86, 129, 256, 0, 1},                            /* rounded up to 136: 15.05 -> 12 warps */
        {86, 255, 256, 0, 1},                            /* 8 warps of 8192 */
        {86, 255, 288, 0, 0},                            /* 9 warps do not fit */
        {86, 16, 32, 0, 16},                             /* blocks of an SM */
        {86, 32, 128, 49152, 2},                         /* 49152 + 1024 twice in 102400 */
        {86, 32, 128, 50200, 1},                         /* 51224 rounded up to 51328 */
        {86, 32, 128, 101376, 1},                        /* the most a block may have */
        {86, 32, 128, 101377, 0},  {86, 256, 128, 0, 0}, /* more than 255 registers */
        {86, 32, 1025, 0, 0},      {86, 32, 0, 0, 0},       {86, 32, 32, -1, 0},
        {75, 64, 256, 0, 4},       {75, 64, 256, 32768, 2}, {75, 64, 1024, 65536, 1},
        {90, 168, 384, 0, 1},      /* 12 warps of 5376: 12 fit */
        {90, 32, 1024, 116736, 1}, /* half the SM and the reserved KiB do not fit twice */
        {90, 32, 1024, 115712, 2}, {80, 0, 64, 0, 32},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_device device;
        int blocks;

        assert_int_equal(gt_device_profile(&device, ".", cases[i].cc, NULL), GT_OK);
        blocks =
            gt_device_occupancy(&device, cases[i].registers, cases[i].threads, cases[i].shared);
        if (blocks != cases[i].blocks)
            fail_msg("case %zu: %d blocks, expected %d", i, blocks, cases[i].blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arch),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_profile),
        cmocka_unit_test(test_malformed_profiles),
        cmocka_unit_test(test_occupancy),
    };

    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}

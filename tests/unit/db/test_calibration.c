/* test_calibration.c - what devices reach: kept, found again for the right device, and used. */
#include "store_fixture.h"

#include "timing/calibrate.h"

static struct gt_calibration some(double copy, double wgmma_f16)
{
    struct gt_calibration calibration = {{0}};

    calibration.value[GT_CALIBRATION_MEMORY_COPY] = copy;
    calibration.value[GT_CALIBRATION_L2] = 6000;
    calibration.value[GT_CALIBRATION_LAUNCH] = 2.25;
    calibration.value[GT_CALIBRATION_NEXT_LAUNCH] = 1.5;
    calibration.value[GT_CALIBRATION_MMA_F16] = 620;
    calibration.value[GT_CALIBRATION_WGMMA_F16] = wgmma_f16;
    return calibration;
}

static int add_name(void *context, const struct gt_calibrated *calibrated, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %d %g;", calibrated->device, calibrated->sms,
                   calibrated->calibration.value[GT_CALIBRATION_MEMORY_COPY]);
    return GT_OK;
}

static void expect_devices(struct fixture *f, int cc, const char *expected)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    OK(f, gt_store_calibrated(f->store, cc, add_name, &text, &f->err));
    assert_string_equal(gt_strbuf_check(&text, &f->err) ? ""
                        : text.text                     ? text.text
                                                        : "",
                        expected);
    gt_strbuf_release(&text);
}

static void test_kept_and_replaced(void **state)
{
    struct fixture *f = *state;
    struct gt_device device = fixture_device();
    struct gt_calibration calibration = some(3900, 0);

    expect_devices(f, 0, "");
    OK(f, gt_store_put_calibration(f->store, &device, &calibration, &f->err));
    expect_devices(f, 90, "NVIDIA Test 132 3900;");
    expect_devices(f, 80, "");
    calibration.value[GT_CALIBRATION_MEMORY_COPY] = 3800;
    OK(f, gt_store_put_calibration(f->store, &device, &calibration, &f->err));
    expect_devices(f, 0, "NVIDIA Test 132 3800;");
}

static void test_used_for_the_device_and_its_profile(void **state)
{
    struct fixture *f = *state;
    struct gt_device device = fixture_device(), other = device, profile = device, found;
    struct gt_calibration calibration = some(3900, 780);

    device.tensor_f16 = 4096;
    device.tensor_tf32 = 2048;
    device.memory_gbps = 1;
    OK(f, gt_store_put_calibration(f->store, &device, &calibration, &f->err));
    found = device;
    OK(f, gt_store_apply_calibration(f->store, &found, &f->err));
    assert_true(found.memory_gbps == 3900 && found.l2_gbps == 6000);
    assert_true(found.launch_us == 2.25 && found.next_launch_us == 1.5);
    assert_int_equal(found.tensor_f16, 2984); /* the better way of using them, per clock and SM */
    assert_int_equal(found.tensor_tf32, 2048);
    snprintf(other.name, sizeof(other.name), "NVIDIA Other");
    OK(f, gt_store_apply_calibration(f->store, &other, &f->err));
    assert_true(other.memory_gbps == 0);
    profile.profile = true;
    snprintf(profile.name, sizeof(profile.name), "Test (profile)");
    found = profile;
    OK(f, gt_store_apply_calibration(f->store, &found, &f->err));
    assert_true(found.memory_gbps == 3900);
    found = profile;
    found.sms = 114;
    OK(f, gt_store_apply_calibration(f->store, &found, &f->err));
    assert_true(found.memory_gbps == 0);
}

static void test_merged(void **state)
{
    struct fixture *f = *state, other = {0};
    struct gt_device device = fixture_device();
    struct gt_calibration calibration = some(3900, 0);
    int64_t rows;

    snprintf(other.path, sizeof(other.path), "%s/other.db", f->folder);
    OK(&other, gt_store_open(&other.store, other.path, GT_STORE_WRITE, &other.err));
    OK(&other, gt_store_put_calibration(other.store, &device, &calibration, &other.err));
    gt_store_close(other.store);
    OK(f, gt_store_merge(f->store, other.path, &rows, &f->err));
    expect_devices(f, 0, "NVIDIA Test 132 3900;");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kept_and_replaced),
        TEST(test_used_for_the_device_and_its_profile),
        TEST(test_merged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_learn_trials.c - learning from trials that are told by name: the first one says what device
 * is learned for; what is of another arch or of no kernel here is left out and counted; a point of
 * an earlier text is known; clocks and estimates count as in learn.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "learn/learn.h"

#include <stdlib.h>

#define POINT                                                                                    \
    "CONSUMERS=2,BN=192,BK=32,STAGES=3,PROMOTE=32,VEC_C=2,MIN_BLOCKS=1,SPLIT=0,GROUP=4,ORDER=1," \
    "SPLITS=1"

static struct gt_kernels kernels;
static struct gt_learning learning;
static struct gt_learn_source source;
static char *data;

static int setup(void **state)
{
    struct gt_err err = {0};
    int rc = gt_data_dir(&data, &err);

    (void)state;
    if (!rc)
        rc = gt_kernels_load(&kernels, data, NULL, NULL, &err);
    if (rc)
        print_error("%s\n", err.msg);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    gt_kernels_release(&kernels);
    free(data);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    learning = (struct gt_learning){.kernels = &kernels};
    source = (struct gt_learn_source){.learning = &learning, .data_dir = data};
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_learn_release(&learning);
    return 0;
}

static struct gt_named_trial trial_of(const char *device, int cc, double us)
{
    return (struct gt_named_trial){.device = device,
                                   .cc = cc,
                                   .problem = "1000x21504x5376:f32:nn:accuracy=f32",
                                   .kernel = "f32acc",
                                   .point = POINT,
                                   .trial = {.status = GT_STATUS_OK, .us = us}};
}

/* Takes a trial; false: it was left out. */
static bool taken(const struct gt_named_trial *named)
{
    const size_t rows = learning.rows;
    struct gt_err err = {0};

    if (gt_learn_take(&source, named, &err))
        fail_msg("%s", err.msg);
    return learning.rows > rows;
}

static void test_the_first_says_the_device(void **state)
{
    struct gt_named_trial trial = trial_of("NVIDIA H100 80GB HBM3", 90, 3000);

    (void)state;
    assert_true(taken(&trial));
    assert_string_equal(learning.device.name, "NVIDIA H100 80GB HBM3");
    assert_true(learning.device.memory_gbps < 3600 && !learning.device.profile);
    trial.device = "NVIDIA H200"; /* teaches, too, and is a problem of its own */
    assert_true(taken(&trial));
    assert_string_equal(learning.device.name, "NVIDIA H100 80GB HBM3");
    assert_int_equal(learning.problems, 2);
    trial.cc = 86;
    assert_false(taken(&trial));
    assert_int_equal(source.other, 1);
    assert_int_equal(source.gone, 0);
}

static void test_what_no_kernel_has(void **state)
{
    struct gt_named_trial trial = trial_of("NVIDIA H200", 90, 3000);

    (void)state;
    trial.point = POINT ",COLOUR=3"; /* of an earlier text */
    assert_true(taken(&trial));
    trial.kernel = "nothing";
    assert_false(taken(&trial));
    trial.kernel = "simt_naive"; /* is none that look-ups choose */
    assert_false(taken(&trial));
    trial = trial_of("NVIDIA H200", 90, 3000);
    trial.point = "BN=192";
    assert_false(taken(&trial));
    trial.point = "CONSUMERS=2,BN=7";
    assert_false(taken(&trial));
    assert_int_equal(source.gone, 4);
    trial.problem = "a text that is no problem";
    assert_false(taken(&trial));
    assert_int_equal(learning.rows, 1);
}

/* A lower clock explains a part of the time, a higher one nothing; a spill was not timed. */
static void test_clocks_and_spills(void **state)
{
    struct gt_named_trial trial = trial_of("NVIDIA H200", 90, 3000);

    (void)state;
    assert_true(taken(&trial));
    trial.trial.clock_mhz = 3000;
    assert_true(taken(&trial));
    trial.trial.clock_mhz = 1500;
    assert_true(taken(&trial));
    assert_true(learning.row[0].us == 3000 && learning.row[1].us == 3000);
    assert_true(learning.row[2].us < 2950);
    trial.trial.status = GT_STATUS_SPILLS;
    assert_true(taken(&trial));
    assert_true(learning.row[3].avoided);
}

/* Where a problem was measured, what an earlier ranking expected of it is nothing. */
static void test_estimates(void **state)
{
    struct gt_named_trial trial = trial_of("NVIDIA H200", 90, 3000);
    struct gt_err err = {0};

    (void)state;
    trial.trial.provenance = GT_PREDICTED;
    assert_int_equal(gt_learn_take(&source, &trial, &err), GT_OK);
    assert_int_equal(learning.rows, 1);
    assert_true(learning.problem[0].estimated);
    trial.problem = "1000x21504x5384:f32:nn:accuracy=f32";
    trial.trial.provenance = GT_MEASURED;
    assert_true(taken(&trial));
    trial.trial.provenance = GT_PREDICTED;
    assert_int_equal(gt_learn_take(&source, &trial, &err), GT_OK);
    assert_int_equal(learning.rows, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_says_the_device, begin, end),
        cmocka_unit_test_setup_teardown(test_what_no_kernel_has, begin, end),
        cmocka_unit_test_setup_teardown(test_clocks_and_spills, begin, end),
        cmocka_unit_test_setup_teardown(test_estimates, begin, end),
    };

    return cmocka_run_group_tests_name("learn-trials", tests, setup, teardown);
}

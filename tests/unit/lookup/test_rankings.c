/* test_rankings.c - tables and rankings of several devices of an arch: each device has its own rows
 * and its own ranking; what a device without them gets is what src/lookup/README.md says. */
#include "lookup_fixture.h"

#include "lookup/ranking.h"
#include "problem/device.h"
#include "tests/unit/failmalloc.h"

#include <math.h>

#define H100    "NVIDIA H100 80GB HBM3"
#define H200    "NVIDIA H200"
#define UNTUNED "1000x1000x1000"

/* head: its lines behind the arch; point: its prototype. */
static void put_tree(struct world *w, const char *name, const char *head, const char *point,
                     const char *tree)
{
    struct gt_strbuf body = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
    char path[128], digest[GT_DIGEST_HEX];

    gt_strbuf_addf(&body, "arch 90\n%sloss f32/strict 0.06 0.25 17\nkernel k\n", head);
    gt_strbuf_addf(&body, "point f32/strict %s,VEC=4\ncolumns BM\n", point);
    gt_strbuf_addf(&body, "tree %s\n", tree);
    gt_digest_bytes(body.text, body.length, digest);
    gt_strbuf_addf(&text, "%s%s\n%s", GT_RANKING_MAGIC, digest, body.text);
    snprintf(path, sizeof(path), "%s/%s.ranking", w->folder, name);
    write_file(path, text.text);
    gt_strbuf_release(&body);
    gt_strbuf_release(&text);
}

/* A ranking that prefers the point, BM=32 or BM=128, by its trees and prototype. */
static void put_ranking(struct world *w, const char *name, const char *head, const char *point)
{
    put_tree(w, name, head, point, strcmp(point, "BM=128") ? "0<48 =-1 =1" : "0<128 =1 =-1");
}

/* Opens the folder as the system's table. */
static void open_folder(struct world *w)
{
    const struct gt_options options = {
        .user_db = "", .system_db = w->folder, .data_dir = w->folder};

    gt_close(w->gt);
    w->gt = NULL;
    OK(w, gt_open(&w->gt, &options, &w->err));
}

static void put_rows(struct world *w)
{
    add_row(w, 90, "measured", H100, "1024x1024x1024:f32:nn", "BM=64,VEC=4", 50);
    add_row(w, 90, "measured", H200, "1024x1024x1024:f32:nn", "BM=32,VEC=4", 40);
    write_table(w, w->table);
}

static void expect(struct world *w, const char *device, const char *ranking, const char *point)
{
    const struct gt_answer *answer = ask(w, 90, device, UNTUNED);

    assert_int_equal(answer->tier, GT_TIER_NEAR);
    if (!answer->ranking)
        fail_msg("no ranking answers for %s", device ? device : "the arch");
    assert_string_equal(answer->ranking, ranking);
    assert_string_equal(answer->point, point);
}

/* In the order of names, h100.ranking stands first. */
static void test_each_device_has_its_own(void **state)
{
    struct world *w = *state;

    put_rows(w);
    put_ranking(w, "h100", "device " H100 "\nfacts 132 2955\n", "BM=128");
    put_ranking(w, "h200", "device " H200 "\nfacts 132 3970\n", "BM=32");
    open_folder(w);
    expect(w, H100, H100, "BM=128,VEC=4");
    expect(w, H200, H200, "BM=32,VEC=4");
    expect(w, NULL, H200, "BM=32,VEC=4"); /* the arch's profile is an H200's */
    expect(w, "NVIDIA GH200 480GB", H200, "BM=32,VEC=4");
    assert_null(ask(w, 90, H100, "1024x1024x1024")->ranking);
}

/* A device without a ranking has that of the device most like it. */
static void test_the_most_alike(void **state)
{
    static const struct {
        int sms;
        double memory_gbps;
        int is;
    } devices[] = {{114, 1650, 0}, {132, 2950, 0}, {132, 3240, 0}, {132, 3600, 1}, {144, 4900, 1}};
    struct gt_ranking two[3] = {{.cc = 90, .device = H100, .sms = 132, .memory_gbps = 2955},
                                {.cc = 90, .device = H200, .sms = 132, .memory_gbps = 3970},
                                {.cc = 90}};
    struct gt_rankings rankings = {.ranking = two, .count = 2};
    struct gt_device device = {.cc = 90};

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
        device.sms = devices[i].sms;
        device.memory_gbps = devices[i].memory_gbps;
        assert_ptr_equal(gt_rankings_for(&rankings, &device, "another"), &two[devices[i].is]);
        assert_ptr_equal(gt_rankings_for(&rankings, &device, H100), &two[0]);
        assert_ptr_equal(gt_rankings_for(&rankings, &device, H200), &two[1]);
    }
    two[0].sms = 0; /* it does not say what it was learned on: farther away than any */
    two[0].memory_gbps = 0;
    device.memory_gbps = 1650;
    assert_ptr_equal(gt_rankings_for(&rankings, &device, NULL), &two[1]);
    rankings.count = 1;
    assert_ptr_equal(gt_rankings_for(&rankings, &device, NULL), &two[0]);
    device.cc = 86;
    assert_null(gt_rankings_for(&rankings, &device, H100));
    device.cc = 90;
    rankings.count = 3; /* one of an earlier version is of every device, and has its turn */
    assert_ptr_equal(gt_rankings_for(&rankings, &device, NULL), &two[2]);
    assert_ptr_equal(gt_rankings_for(&rankings, &device, H200), &two[1]);
}

static void test_files_of_earlier_versions(void **state)
{
    struct world *w = *state;

    put_rows(w);
    put_ranking(w, "a", "", "BM=128");
    open_folder(w);
    expect(w, H100, "", "BM=128,VEC=4");
    expect(w, NULL, "", "BM=128,VEC=4");
    put_ranking(w, "b", "device " H200 "\n", "BM=32");
    open_folder(w);
    expect(w, H200, "", "BM=128,VEC=4"); /* the first that is of the device */
}

static void refuse(struct world *w, const char *head, const char *sentence)
{
    const struct gt_answer *answer;

    put_ranking(w, "h100", head, "BM=128");
    open_folder(w);
    answer = ask(w, 90, H100, UNTUNED);
    assert_null(answer->ranking);
    assert_non_null(answer->passed_over);
    if (!strstr(answer->passed_over, sentence))
        fail_msg("%s: %s", head, answer->passed_over);
}

static void test_damaged_lines(void **state)
{
    struct world *w = *state;
    char longest[128] = "device ";

    put_rows(w);
    refuse(w, "device\n", "a device is");
    memset(longest + strlen(longest), 'x', 96);
    strcat(longest, "\n");
    refuse(w, longest, "a device is");
    refuse(w, "facts 132\n", "facts are");
    refuse(w, "facts 0 3000\n", "facts are");
    refuse(w, "facts 132 nan\n", "facts are");
    refuse(w, "facts 132 1e30\n", "facts are");
}

/* What is wrong with one device's file, answers of the other's do not mention. */
static void test_damage_of_another_device(void **state)
{
    struct world *w = *state;

    put_rows(w);
    put_ranking(w, "h100", "device\n", "BM=128");
    put_ranking(w, "h200", "device " H200 "\nfacts 132 3970\n", "BM=32");
    open_folder(w);
    expect(w, H200, H200, "BM=32,VEC=4");
    assert_null(ask(w, 90, H200, UNTUNED)->passed_over);
    expect(w, H100, H200, "BM=32,VEC=4");
    assert_non_null(strstr(ask(w, 90, H100, UNTUNED)->passed_over, "h100.ranking"));
}

/* A problem that was tuned on two devices: each has its own row, and does not hear of the other's.
 * A third one has neither: of rows of other devices none is exact. */
static void test_rows_of_two_devices(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    put_rows(w);
    open_folder(w);
    answer = ask(w, 90, H100, "1024x1024x1024");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_string_equal(answer->device, H100);
    assert_string_equal(answer->point, "BM=64,VEC=4");
    assert_true(answer->us == 50);
    assert_null(answer->passed_over);
    answer = ask(w, 90, H200, "1024x1024x1024");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_string_equal(answer->device, H200);
    assert_true(answer->us == 40);
    assert_null(answer->passed_over);
    answer = ask(w, 90, NULL, "1024x1024x1024"); /* any of the arch: the fastest row */
    assert_string_equal(answer->device, H200);
    assert_null(answer->passed_over);
    answer = ask(w, 90, "NVIDIA H800", "1024x1024x1024");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_true(fabs(answer->expected_loss - 0.07) < 1e-9); /* near, of another device */
    assert_non_null(strstr(answer->passed_over, "it was measured on another device"));
}

/* Near winners of the own device come first: another's loses 5 % more. */
static void test_near_rows_of_two_devices(void **state)
{
    struct world *w = *state;

    put_rows(w);
    open_folder(w);
    assert_string_equal(ask(w, 90, H100, "1024x1028x1024")->device, H100);
    assert_string_equal(ask(w, 90, H200, "1024x1028x1024")->device, H200);
}

static void put_changed(struct world *w, const char *signature)
{
    strcpy(w->signature, signature);
    add_row(w, 90, "measured", H200, "1024x1024x1024:f32:nn", "BM=32,VEC=4", 40);
}

/* The own device's winner by an older text of its kernel comes before another device's by today's,
 * though the ranking thinks a tenth more of that one; a much better one it does not hold up. */
static void test_own_older_winner(void **state)
{
    struct world *w = *state;
    const struct {
        const char *tree, *point;
    } ask_for[] = {{"0<48 =0.1 =0", "BM=32,VEC=4"}, {"0<48 =1 =0", "BM=64,VEC=4"}};

    add_row(w, 90, "measured", H100, "1024x1024x1024:f32:nn", "BM=64,VEC=4", 50);
    put_changed(w, "00000000000000000000000000000000");
    write_table(w, w->table);
    for (size_t i = 0; i < 2; i++) {
        const struct gt_answer *answer;

        put_tree(w, "h200", "device " H200 "\nfacts 132 3970\n", "BM=128", ask_for[i].tree);
        open_folder(w);
        answer = ask(w, 90, H200, "1024x1024x1024");
        assert_int_equal(answer->tier, GT_TIER_NEAR);
        assert_string_equal(answer->point, ask_for[i].point);
        assert_string_equal(ask(w, 90, H100, "1024x1024x1024")->point, "BM=64,VEC=4");
    }
}

static struct world *shared;

static int add_both(struct gt_err *err)
{
    static char first[128], second[128];
    char *const path[] = {first, second};
    struct gt_kernels none = {0};
    struct gt_rankings rankings = {0};
    int code;

    snprintf(first, sizeof(first), "%s/h100.ranking", shared->folder);
    snprintf(second, sizeof(second), "%s/h200.ranking", shared->folder);
    code = gt_rankings_add(&rankings, &none, path, 2, err);
    if (!code)
        assert_true(rankings.count == 1 && strstr(rankings.damage, "h100.ranking"));
    gt_rankings_release(&rankings);
    return code;
}

static void test_failing_allocations(void **state)
{
    shared = *state;
    put_ranking(shared, "h100", "device\n", "BM=128");
    put_ranking(shared, "h200", "device " H200 "\nfacts 132 3970\n", "BM=32");
    gt_failmalloc_every("gt_rankings_add", add_both, 3);
}

/* The facts of a device that is not there are its own where the profile lists it. */
static void test_profiles_of_devices(void **state)
{
    struct gt_device arch, device;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_device_profile(&arch, ".", 90, &err), GT_OK);
    assert_int_equal(gt_device_profile_of(&device, ".", 90, "NVIDIA H200", &err), GT_OK);
    assert_memory_equal(&device, &arch, sizeof(device));
    assert_int_equal(gt_device_profile_of(&device, ".", 90, "NVIDIA H800 PCIe", &err), GT_OK);
    assert_string_equal(device.name, arch.name);
    assert_int_equal(gt_device_profile_of(&device, ".", 90, H100, &err), GT_OK);
    assert_string_equal(device.name, H100 " (profile)");
    assert_true(device.profile && device.sms == 132 && device.l2_bytes == 50 << 20);
    assert_true(device.memory_gbps > 2600 && device.memory_gbps < 3352);
    assert_true(device.clock_mhz > 0 && device.tensor_f16 == arch.tensor_f16);
    assert_int_equal(gt_device_profile_of(&device, ".", 90, "h100", &err), GT_OK);
    assert_string_equal(device.name, H100 " (profile)");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_device_has_its_own),   cmocka_unit_test(test_the_most_alike),
        TEST(test_files_of_earlier_versions), TEST(test_damaged_lines),
        TEST(test_damage_of_another_device),  TEST(test_rows_of_two_devices),
        TEST(test_own_older_winner),          TEST(test_near_rows_of_two_devices),
        TEST(test_failing_allocations),       cmocka_unit_test(test_profiles_of_devices),
    };

    return cmocka_run_group_tests_name("rankings", tests, NULL, NULL);
}

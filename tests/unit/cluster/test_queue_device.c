/* test_queue_device.c - the device that a queue's row describes: what is read, what is refused, and
 * no text of a row that reads as a device out of bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/queue.h"

#define CLASS "NVIDIA H200/132 SMs/700 W/driver 13000"

static const char facts[] =
    "cc=90 sms=132 smem_block=232448 smem_sm=233472 smem_reserved=1024 regs_sm=65536"
    " max_threads_sm=2048 max_blocks_sm=32 l2_bytes=62914560 memory_bytes=150754820096"
    " clock_mhz=1980 memory_gbps=4100.5 l2_gbps=8000 launch_us=2.5 next_launch_us=1.2"
    " fma_lanes=128 tensor_tf32=2048 tensor_f16=4096 tensor_f8=8192 tensor_s8=8192";

static void test_reads(void **state)
{
    struct gt_device device;

    (void)state;
    assert_int_equal(gt_queue_read_device(&device, CLASS, facts, NULL), GT_OK);
    assert_string_equal(device.name, "NVIDIA H200");
    assert_int_equal(device.cc, 90);
    assert_int_equal(device.sms, 132);
    assert_int_equal(device.memory_bytes, 150754820096);
    assert_true(device.memory_gbps == 4100.5);
    assert_int_equal(device.tensor_s8, 8192);
    assert_false(device.profile);
}

/* The facts with one text replaced by another. */
static int read_with(const char *from, const char *to, struct gt_err *err)
{
    const char *at = strstr(facts, from);
    struct gt_device device;
    char text[1024];

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - facts), facts, to, at + strlen(from));
    return gt_queue_read_device(&device, CLASS, text, err);
}

static void test_refuses(void **state)
{
    static const char *const change[][2] = {
        {"sms=132", "sms=0"},
        {"sms=132", "sms=132x"},
        {"sms=132", "sms=nan"},
        {"sms=132", "sms=1e300"},
        {"sms=132 ", ""},
        {"cc=90", "cc=93"},
        {"cc=90", "cc="},
        {"sms=132", "smms=132"},
        {"tensor_s8=8192", ""},
        {"tensor_s8=8192", "a=1"},
        {"smem_sm=233472", "smem_sm=65536"},
        {"launch_us=2.5", "launch_us=-1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
        struct gt_err err = {0};

        assert_int_equal(read_with(change[i][0], change[i][1], &err), GT_EDB);
        assert_non_null(strstr(err.msg, "the queue's device \"" CLASS "\""));
    }
}

/* Random bytes in the text: refused, or within bounds. */
static void test_mutated(void **state)
{
    uint64_t random = 7;
    struct gt_device device;
    char text[sizeof(facts)];

    (void)state;
    for (int round = 0; round < 100000; round++) {
        memcpy(text, facts, sizeof(facts));
        for (int i = 0; i < 1 + round % 3; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % (sizeof(facts) - 1)] = "0123456789.=- enx\n"[(random >> 20) % 18];
        }
        if (gt_queue_read_device(&device, CLASS, text, NULL))
            continue;
        assert_true(gt_arch_known(device.cc));
        assert_in_range(device.sms, 1, 4096);
        assert_true(device.memory_bytes >= 1 && device.l2_bytes >= 1 && device.clock_mhz >= 1);
        assert_true(device.smem_block + device.smem_reserved <= device.smem_sm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_mutated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

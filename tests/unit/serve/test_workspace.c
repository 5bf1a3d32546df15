/* test_workspace.c - workspaces of served products: one for each stream, and how much memory of the
 * GPU all of them may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "serve/handle.h"

#define MIB ((size_t)1 << 20)

static struct gt_workspaces all;
static size_t held, most;
static int context;

static int push(void *current)
{
    assert_ptr_equal(current, &context);
    return 0;
}

static int pop(void **current)
{
    *current = &context;
    return 0;
}

/* Device memory of `most` bytes. */
static int allocate(uint64_t *buffer, size_t bytes)
{
    if (held + bytes > most)
        return 2;
    *buffer = 0x10000 + held;
    held += bytes;
    return 0;
}

static const struct gt_serve_driver driver = {
    .CtxPushCurrent = push, .CtxPopCurrent = pop, .MemAlloc = allocate};

static int begin(void **state)
{
    (void)state;
    memset(&all, 0, sizeof(all));
    held = 0;
    most = SIZE_MAX;
    return 0;
}

static void *stream(size_t number)
{
    return (void *)(uintptr_t)(0x5000 + 16 * number);
}

/* Whether there is one for the stream once the background thread was asked. */
static bool get(size_t number, size_t bytes)
{
    bool ask;

    if (gt_workspace_own(&all, &context, stream(number), bytes, &ask))
        return true;
    if (ask)
        gt_workspace_make(&all, &driver);
    return gt_workspace_own(&all, &context, stream(number), bytes, &ask) != NULL;
}

static void test_one_for_each_stream(void **state)
{
    bool ask;

    (void)state;
    assert_null(gt_workspace_own(&all, &context, stream(0), 5, &ask));
    assert_true(ask);
    assert_null(gt_workspace_own(&all, &context, stream(0), 5, &ask));
    assert_false(ask);
    assert_true(get(1, 5));
    assert_true(get(0, 5));
    assert_int_equal(held, 2 * MIB);
    assert_true(get(0, MIB));
    assert_int_equal(held, 2 * MIB);
    assert_true(get(0, MIB + 1));
    assert_int_equal(held, 4 * MIB);
    assert_ptr_not_equal(gt_workspace_own(&all, &context, stream(0), 1, &ask),
                         gt_workspace_own(&all, &context, stream(1), 1, &ask));
}

/* The driver is not asked again for what it has refused, but for less. */
static void test_refused(void **state)
{
    (void)state;
    most = 8 * MIB;
    assert_false(get(0, 9 * MIB));
    most = SIZE_MAX;
    assert_false(get(0, 9 * MIB));
    assert_true(get(0, 3 * MIB));
    assert_int_equal(held, 4 * MIB);
}

/* A program may make new streams for ever; its memory is its own. */
static void test_streams_without_end(void **state)
{
    size_t served = 0;

    (void)state;
    for (size_t i = 0; i < 100000; i++)
        served += get(i, 64 * MIB);
    assert_int_equal(served, GT_OWN_BYTES / (64 * MIB));
    assert_int_equal(held, GT_OWN_BYTES);
    assert_true(get(0, 64 * MIB)); /* those that have one keep it */
    assert_false(get(0, 65 * MIB));
}

/* Small ones fit all the same. */
static void test_large_beside_small(void **state)
{
    (void)state;
    assert_false(get(0, GT_OWN_BYTES + 1));
    assert_true(get(1, GT_OWN_BYTES / 2));
    assert_false(get(2, GT_OWN_BYTES / 2 + 1));
    assert_true(get(2, MIB));
    assert_true(held <= GT_OWN_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_for_each_stream, begin),
        cmocka_unit_test_setup(test_refused, begin),
        cmocka_unit_test_setup(test_streams_without_end, begin),
        cmocka_unit_test_setup(test_large_beside_small, begin),
    };

    return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}

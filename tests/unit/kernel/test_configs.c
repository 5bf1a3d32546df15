/* test_configs.c - every shipped kernel description: it loads, and only it says values, as its
 * template has no values of its own for parameters; the default point is valid wherever it serves
 * 4096^3; together they leave no type out where K is 0; what begins early does so without being
 * told; and copies begin their rows at lines of the L2 cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "problem/problem.h"
#include "search/space.h"
#include "shipped_kernels_fixture.h"
#include "tests/serves.h"

static const int archs[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

/* A template has no values of its own for parameters: they come from the description. */
static void check_block(const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < kernel->params; i++) {
        const char *name = kernel->param[i].name;

        for (const char *at = kernel->text; (at = strstr(at, name)); at += strlen(name)) {
            bool whole = !isalnum((unsigned char)at[strlen(name)]) && at[strlen(name)] != '_';

            if (whole && at - kernel->text >= 8 && !memcmp(at - 8, "#ifndef ", 8))
                fail_msg("%s: #ifndef %s: the description of %s has its values",
                         kernel->template_path, name, kernel->name);
        }
    }
}

static void test_parameter_blocks(void **state)
{
    const struct gt_kernels *kernels = *state;

    for (size_t i = 0; i < kernels->count; i++)
        check_block(kernels->kernel[i]);
}

/* 4096^3, or as many rows as the kernel serves, in the first type and layout it serves that the
 * default point is valid for, if there is one: a type may need some operands packed. */
static void some_problem(const struct gt_candidate *candidate, struct gt_problem *problem)
{
    const struct gt_kernel *kernel = candidate->kernel;
    bool some = false;

    for (int combination = 0; combination < 4 * GT_DTYPE_COUNT; combination++) {
        struct gt_problem tried;
        struct gt_candidate trial = *candidate;
        int type = combination / 4, layout = combination % 4, failed = 0;

        const struct gt_serves *entry = gt_serves_of(kernel, type, -1);
        if (!entry || !(entry->layouts >> layout & 1))
            continue;
        gt_problem_init(&tried, entry->max_m < 4096 ? entry->max_m : 4096, 4096, 4096);
        tried.type = (enum gt_dtype)type;
        tried.out = (enum gt_dtype)__builtin_ctz(entry->outs);
        tried.accuracy = gt_dtype_default_accuracy(tried.type);
        if (tried.accuracy < entry->accuracy)
            tried.accuracy = entry->accuracy;
        tried.trans_a = (unsigned char)(layout >> 1);
        tried.trans_b = (unsigned char)(layout & 1);
        gt_serves_words(&tried, entry);
        trial.problem = &tried;
        bool valid = gt_candidate_valid(&trial, &failed, NULL) || failed < 0;
        if (valid || !some)
            *problem = tried;
        if (valid)
            return;
        some = true;
    }
}

/* The default point is valid wherever the kernel serves the problem; on archs older than sm_80,
 * which lack copies that defaults are chosen for, some other point may stand in. */
static void check_default(const struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_geometry geometry;
    struct gt_space space = {0};
    struct gt_err err = {0};
    int failed;

    if (gt_candidate_valid(candidate, &failed, &err) ||
        (failed < 0 && gt_candidate_geometry(candidate, &geometry, &err)))
        fail_msg("sm_%d: %s", candidate->device->cc, err.msg);
    if (failed < 0)
        return;
    if (candidate->device->cc >= 80)
        fail_msg("sm_%d: %s: the default point breaks \"%s\" (%s)", candidate->device->cc,
                 kernel->name, gt_expr_text(kernel->constraint[failed].expr),
                 kernel->constraint[failed].why);
    if (gt_space_init(&space, kernel, candidate->problem, candidate->device, 16, &err))
        fail_msg("sm_%d: %s", candidate->device->cc, err.msg);
    assert_true(space.count > 0);
    gt_space_release(&space);
}

static void test_default_points(void **state)
{
    const struct gt_kernels *kernels = *state;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct gt_kernel *kernel = kernels->kernel[i];
        int served = 0;

        for (size_t j = 0; j < sizeof(archs) / sizeof(*archs); j++) {
            struct gt_problem problem;
            struct gt_device device;
            struct gt_candidate candidate = {kernel, &problem, &device, {{0}}};

            assert_int_equal(gt_device_profile(&device, ".", archs[j], NULL), GT_OK);
            gt_point_default(&candidate.point, kernel);
            some_problem(&candidate, &problem);
            if (!gt_kernel_serves(kernel, &problem, &device))
                continue;
            served++;
            check_default(&candidate);
        }
        if (!served)
            fail_msg("%s serves no profile at all", kernel->name);
    }
}

static bool has_point(const struct gt_kernel *kernel, const struct gt_problem *problem,
                      const struct gt_device *device)
{
    struct gt_space space = {0};
    int rc;

    if (!kernel->production || !gt_kernel_serves(kernel, problem, device))
        return false;
    rc = gt_space_init(&space, kernel, problem, device, 16, NULL);
    gt_space_release(&space);
    return rc == GT_OK;
}

/* Whether a kernel multiplies operands of the type there: some types have no kernel yet. */
static bool is_served(enum gt_dtype type, const struct gt_kernels *kernels, int cc)
{
    for (size_t i = 0; i < kernels->count; i++)
        for (size_t j = 0; j < kernels->kernel[i]->entries; j++)
            if (kernels->kernel[i]->entry[j].types >> type & 1 &&
                kernels->kernel[i]->entry[j].min_cc <= cc)
                return true;
    return false;
}

/* Where K is 0 D is made of C and bias alone, which some production kernel does for every type on
 * an H200 (layouts take turns); hopper with its tensor maps is none of them. */
static void test_no_depth(void **state)
{
    const struct gt_kernels *kernels = *state;
    struct gt_device device;

    assert_int_equal(gt_device_profile(&device, ".", 90, NULL), GT_OK);
    for (int type = 0; type < GT_DTYPE_COUNT; type++) {
        char text[64];
        struct gt_problem problem;
        bool found = false;

        if (!is_served((enum gt_dtype)type, kernels, device.cc))
            continue;
        snprintf(text, sizeof(text), "1000x520x0:%s:%c%c:beta=1",
                 gt_dtype_name((enum gt_dtype)type), "nt"[type / 2 % 2], "nt"[type % 2]);
        assert_int_equal(gt_problem_parse(&problem, text, NULL), GT_OK);
        for (size_t i = kernels->count; i-- && !found;)
            found = has_point(kernels->kernel[i], &problem, &device);
        if (!found)
            fail_msg("no kernel has a point for %s", text);
    }
}

/* What a model asks of a geometry is the same from slots that are known. */
static void check_launches(const struct gt_candidate *candidate, const int64_t *slots)
{
    struct gt_geometry whole, part;

    if (gt_candidate_geometry(candidate, &whole, NULL))
        return;
    assert_int_equal(gt_candidate_launches(candidate, slots, &part, NULL), GT_OK);
    assert_int_equal(part.launches, whole.launches);
    assert_memory_equal(part.launch, whole.launch, sizeof(part.launch));
    assert_int_equal(part.workspace_bytes, whole.workspace_bytes);
    assert_int_equal(part.max_registers, whole.max_registers);
}

/* Changes the parameters i and j to every pair of their values: what only looks at what depends on
 * them says the same as the whole check, whichever constraint it asks first.  Returns how many of
 * the points are valid. */
static size_t check_pair(const struct gt_candidate *start, const int64_t *before, size_t i,
                         size_t j)
{
    const struct gt_kernel *kernel = start->kernel;
    const struct gt_param *first = &kernel->param[i], *second = &kernel->param[j];
    const uint64_t changed = (uint64_t)1 << i | (uint64_t)1 << j;
    struct gt_candidate other = *start;
    size_t valid = 0, likely = SIZE_MAX;

    for (size_t v = 0; v < first->count; v++)
        for (size_t w = 0; w < second->count; w++) {
            int64_t now[GT_MAX_SLOTS], again[GT_MAX_SLOTS];
            uint64_t broken;
            bool whole, part, breaks;
            int failed;

            other.point.value[i] = first->value[v];
            other.point.value[j] = second->value[w];
            part = gt_candidate_still_valid(&other, changed, before, now, &likely);
            breaks = gt_candidate_breaks(&other, changed, before, again, &broken);
            whole = gt_candidate_valid(&other, &failed, NULL) == GT_OK && failed < 0;
            if (part != whole || breaks == whole || breaks != (broken != 0))
                fail_msg("%s: %s=%lld %s=%lld", kernel->name, first->name,
                         (long long)first->value[v], second->name, (long long)second->value[w]);
            if (whole) {
                int64_t slots[GT_MAX_SLOTS];

                assert_int_equal(gt_candidate_slots(&other, slots, NULL), GT_OK);
                assert_memory_equal(now, slots, kernel->names.count * sizeof(*slots));
                assert_memory_equal(again, slots, kernel->names.count * sizeof(*slots));
                check_launches(&other, now);
            }
            valid += whole;
        }
    return valid;
}

static void test_what_a_change_breaks(void **state)
{
    const struct gt_kernels *kernels = *state;
    size_t valid = 0;

    for (size_t k = 0; k < kernels->count; k++) {
        struct gt_problem problem;
        struct gt_device device;
        struct gt_candidate start = {kernels->kernel[k], &problem, &device, {{0}}};
        int64_t before[GT_MAX_SLOTS];
        int failed;

        assert_int_equal(gt_device_profile(&device, ".", 90, NULL), GT_OK);
        gt_point_default(&start.point, start.kernel);
        some_problem(&start, &problem);
        if (gt_candidate_valid(&start, &failed, NULL) || failed >= 0 ||
            gt_candidate_slots(&start, before, NULL))
            continue;
        for (size_t i = 0; i < start.kernel->params; i++)
            for (size_t j = i + 1; j < start.kernel->params; j++)
                valid += check_pair(&start, before, i, j);
    }
    assert_true(valid > 1000);
}

/* Whether the point is valid as it is, and what it is renewed to, which is valid. */
static void check_renewed(const struct gt_kernels *kernels, const char *kernel, const char *text,
                          const char *from, const char *to)
{
    struct gt_problem problem;
    struct gt_device device;
    struct gt_candidate candidate = {
        gt_kernels_find(kernels, kernel, NULL), &problem, &device, {{0}}};
    struct gt_point expected;
    int failed;

    assert_int_equal(gt_device_profile(&device, ".", 90, NULL), GT_OK);
    assert_int_equal(gt_problem_parse(&problem, text, NULL), GT_OK);
    assert_int_equal(gt_point_parse(&expected, candidate.kernel, to, NULL), GT_OK);
    assert_int_equal(gt_point_parse(&candidate.point, candidate.kernel, from, NULL), GT_OK);
    assert_int_equal(gt_candidate_valid(&candidate, &failed, NULL), GT_OK);
    assert_int_equal(failed >= 0, gt_candidate_renew(&candidate));
    assert_memory_equal(&candidate.point, &expected, sizeof(expected));
    assert_int_equal(gt_candidate_valid(&candidate, &failed, NULL), GT_OK);
    assert_true(failed < 0);
    assert_false(gt_candidate_renew(&candidate));
}

static void test_early_points(void **state)
{
    const char *late = "BM=64,BN=64,CONSUMERS=1,STAGES=6,DEPTH=2,STORE=1,GROUP=2,ORDER=1,SPREAD=0",
               *early = "EARLY=1,BM=64,BN=64,CONSUMERS=1,STAGES=6,DEPTH=2,STORE=1,GROUP=2,ORDER=1,"
                        "SPREAD=0";

    check_renewed(*state, "hopper", "640x640x640:f16:nn", late, early);
    check_renewed(*state, "hopper", "640x640x640:f16:nn", early, early);
    check_renewed(*state, "hopper", "2048x2048x2048:f16:nn", "BM=128,BN=128,STAGES=6,STORE=2",
                  "BM=128,BN=128,STAGES=6,STORE=2"); /* two rounds of tiles */
    check_renewed(
        *state, "mma", "714x47x180:bf16:nt",
        "COPY_A=8,COPY_B=8,COPY_C=2,BM=32,BN=32,WM=16,WN=16,BK_BYTES=128,STAGES=6,REG_"
        "DOUBLE=0,GROUP_M=1",
        "EARLY=1,COPY_A=8,COPY_B=8,COPY_C=2,BM=32,BN=32,WM=16,WN=16,BK_BYTES=128,STAGES=6,"
        "REG_DOUBLE=0,GROUP_M=1");
}

/* Where C is read, winners of products without C get as many buffers as fit, and C comes to them.
 */
static void test_points_that_read_c(void **state)
{
    const char *plain = "BM=128,BN=256,CLUSTER_M=2,STAGES=3,STORE=1",
               *full = "SWAP_AB=1,BM=128,BN=256,STAGES=4,STORE=1,READ_C=1";

    check_renewed(*state, "hopper", "4096x4096x8192:bf16:tn", plain, plain);
    check_renewed(*state, "hopper", "4096x4096x8192:bf16:tn:beta=1",
                  "BM=128,BN=256,CLUSTER_M=2,STAGES=3,STORE=1,READ_C=1",
                  "BM=128,BN=256,CLUSTER_M=2,STAGES=3,STORE=4,READ_C=1,LOAD_C=1");
    check_renewed(*state, "hopper", "4096x4096x8192:bf16:tn:beta=1:out=f32", full, full);
    check_renewed(
        *state, "hopper", "512x256x8192:bf16:tn:beta=1",
        "SPLIT=2,SPLITS=4,BM=64,BN=128,CONSUMERS=1,STORE=0,STAGES=8,VEC_C=4,SPREAD=0",
        "SPLIT=2,SPLITS=4,BM=64,BN=128,CONSUMERS=1,STORE=0,STAGES=8,VEC_C=4,SPREAD=0,LOAD_C=1");
}

/* Bytes between rows of the operand as the kernel's tensor map `map` has them. */
static uint64_t row_bytes(const struct gt_kernels *kernels, const char *kernel, const char *point,
                          const char *text, const char *map)
{
    struct gt_problem problem;
    struct gt_device device;
    struct gt_err err = {0};
    struct gt_geometry geometry;
    struct gt_candidate candidate = {
        gt_kernels_find(kernels, kernel, NULL), &problem, &device, {{0}}};
    size_t i = 0;

    assert_int_equal(gt_device_profile(&device, ".", 90, NULL), GT_OK);
    assert_int_equal(gt_problem_parse(&problem, text, NULL), GT_OK);
    assert_int_equal(gt_point_parse(&candidate.point, candidate.kernel, point, NULL), GT_OK);
    if (gt_candidate_geometry(&candidate, &geometry, &err))
        fail_msg("%s", err.msg);
    while (i < geometry.maps && strcmp(candidate.kernel->map[i].name, map) != 0)
        i++;
    assert_true(i < geometry.maps && geometry.map[i].used);
    return geometry.map[i].strides[1];
}

/* Copies begin their rows at lines of the L2 cache, short ones at 16 bytes. */
static void test_lines_of_copies(void **state)
{
    static const struct {
        const char *kernel, *point, *problem, *map;
        uint64_t bytes;
    } row[] = {
        {"hopper", "PACK_A=1,PACK_B=1,STORE_ROWS=1", "300x255x255:f16:nt", "packed a", 512},
        {"hopper", "PACK_A=1,PACK_B=1,STORE_ROWS=1", "300x255x251:f16:nt", "packed a", 512},
        {"hopper", "PACK_A=1,PACK_B=1,STORE_ROWS=1", "300x255x257:f16:nt", "packed a", 640},
        {"hopper", "PACK_A=1,PACK_B=1,STORE_ROWS=1", "300x1031x257:f16:nn", "packed b", 2176},
        {"hopper", "PACK_A=1,PACK_B=1,STORE_ROWS=1", "300x41x257:bf16:nn", "packed b", 96},
        {"hopper_transposed", "PACK_A=1,PACK_B=1", "300x300x515:tf32:nt", "packed a", 2176},
        {"f32acc", "", "100x200x1000:f32:nn:accuracy=f32", "a", 2048},
        {"f32acc_pair", "", "100x200x1000:f32:nn:accuracy=f32", "b", 2048},
        {"f32acc_pair", "", "100x200x2056:f32:nn:accuracy=f32", "a", 4224},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        assert_int_equal(row_bytes(*state, row[i].kernel, row[i].point, row[i].problem, row[i].map),
                         row[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter_blocks), cmocka_unit_test(test_default_points),
        cmocka_unit_test(test_no_depth),         cmocka_unit_test(test_what_a_change_breaks),
        cmocka_unit_test(test_early_points),     cmocka_unit_test(test_points_that_read_c),
        cmocka_unit_test(test_lines_of_copies),
    };

    return cmocka_run_group_tests_name("configs", tests, set_up, tear_down);
}

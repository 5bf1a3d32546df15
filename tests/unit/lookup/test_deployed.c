/* test_deployed.c - one file to deploy, on the stub driver: what was written is what programs run
 * that have no data folder, no compiler and no cache; and every way in which such a file can be
 * wrong ends with a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "deployed_fixture.h"
#include "failmalloc.h"

#include "lookup/deployed.h"
#include "lookup/lookup.h"

static void test_plan_and_run(void **state)
{
    const struct world *w = *state;
    struct gt *gt = open_file(w);

    for (int i = 0; i < 2 * PROBLEMS; i++) { /* each twice */
        const struct gt_answer *full = &w->full[i % PROBLEMS], *answer;
        struct gt_problem problem;
        struct gt_plan *plan;
        struct gt_err err;

        problem_of(&problem, i % PROBLEMS);
        if (gt_plan(&plan, gt, 0, &problem, &err))
            fail_msg("%s", err.msg);
        answer = gt_plan_answer(plan);
        assert_int_equal(answer->tier, full->tier);
        assert_int_equal(answer->workspace_bytes, full->workspace_bytes);
        assert_memory_equal(answer->grid, full->grid, sizeof(full->grid));
        assert_memory_equal(answer->block, full->block, sizeof(full->block));
        assert_int_equal(answer->shared_bytes, full->shared_bytes);
        assert_true(answer->us == full->us && answer->expected_us == full->expected_us);
        run(plan, N + 8 * (i % PROBLEMS));
        gt_plan_free(plan);
    }
    gt_close(gt);
}

static void test_lookup(void **state)
{
    const struct world *w = *state;
    struct gt *gt = open_file(w);
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;

    problem_of(&problem, 0);
    assert_int_equal(gt_lookup(gt, w->device.cc, w->device.name, &problem, &answer, &err), GT_OK);
    assert_int_equal(answer->tier, w->full[0].tier);
    assert_non_null(answer->point);
    assert_int_equal(gt_lookup(gt, w->device.cc, NULL, &problem, &answer, &err), GT_OK);
    assert_int_equal(answer->tier, w->full[0].tier);
    assert_int_equal(gt_lookup(gt, w->device.cc, "Another", &problem, &answer, &err), GT_OK);
    assert_true(answer->tier != GT_TIER_EXACT && answer->tier != GT_TIER_NONE);
    assert_true(answer->us == 0);
    assert_int_equal(gt_lookup(gt, 75, NULL, &problem, &answer, &err), GT_OK);
    assert_int_equal(answer->tier, GT_TIER_NONE);
    assert_non_null(strstr(answer->passed_over, "no kernel for sm_75; it was exported for sm_90"));
    problem.m = 1;
    problem.lda = N;
    assert_int_equal(gt_lookup(gt, w->device.cc, NULL, &problem, &answer, &err), GT_OK);
    assert_int_equal(answer->tier, GT_TIER_NONE);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "3 other problems of sm_90"));
    gt_close(gt);
}

/* What was changed of the third problem is refused for it, and for it alone. */
static void refused(struct world *w, const struct change *change, int code, const char *sentence)
{
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;
    struct gt *gt;

    setenv("GEMMTUNE_DATA", ".", 1);
    stub_environment();
    write_file(w, change);
    gt = open_file(w);
    problem_of(&problem, 0);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, &err), GT_OK);
    gt_plan_free(plan);
    problem_of(&problem, PROBLEMS - 1);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, &err), code);
    if (!strstr(err.msg, sentence))
        fail_msg("\"%s\" does not contain \"%s\"", err.msg, sentence);
    gt_close(gt);
}

static void test_other_devices(void **state)
{
    refused(*state, &(struct change){.cc = 86}, GT_ENOTFOUND, "2 other problems of sm_90");
    refused(*state, &(struct change){.sms = 7}, GT_ENOTFOUND, "2 other problems of sm_90");
    refused(*state, &(struct change){.nvrtc = 99010}, GT_ERANGE,
            "was compiled by CUDA 99.1, and this driver is of CUDA");
}

/* One of the arch with as many multiprocessors, under another name. */
static void test_sibling(void **state)
{
    struct world *w = *state;
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;
    struct gt *gt;

    setenv("GEMMTUNE_DATA", ".", 1);
    stub_environment();
    write_file(w, &(struct change){.device = "A sibling"});
    gt = open_file(w);
    problem_of(&problem, PROBLEMS - 1);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, &err), GT_OK);
    assert_true(gt_plan_answer(plan)->tier != GT_TIER_EXACT);
    assert_string_equal(gt_plan_answer(plan)->device, "A sibling");
    run(plan, N + 8 * (PROBLEMS - 1));
    gt_plan_free(plan);
    gt_close(gt);
}

static struct gt_strbuf bytes_of(const struct world *w)
{
    struct gt_strbuf bytes = GT_STRBUF_INIT;

    assert_int_equal(gt_strbuf_add_file(&bytes, w->path, NULL), GT_OK);
    return bytes;
}

static void put_bytes(const struct world *w, const char *bytes, size_t size)
{
    FILE *file = fopen(w->path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Opens the file and reads every image; the first error. */
static int read_all(const struct world *w, struct gt_err *err)
{
    struct gt_deployed *deployed;
    int rc = gt_deployed_open(&deployed, w->path, err);

    for (uint32_t i = 0; !rc && i < gt_deployed_items(deployed); i++) {
        void *image;
        size_t size;

        rc = gt_deployed_image(deployed, gt_deployed_item(deployed, i), &image, &size, err);
        free(image);
    }
    gt_deployed_close(deployed);
    return rc;
}

static void test_flips(void **state)
{
    const struct world *w = *state;
    struct gt_strbuf bytes = bytes_of(w);
    struct gt_err err = {0};

    assert_int_equal(read_all(w, &err), GT_OK);
    for (size_t at = 0; at < bytes.length; at += at < 2000 ? 1 : 7) {
        bytes.text[at] ^= (char)(1 << at % 8);
        put_bytes(w, bytes.text, bytes.length);
        err.msg[0] = '\0';
        if (read_all(w, &err) == GT_OK || !*err.msg)
            fail_msg("a flipped bit of byte %zu is not noticed", at);
        bytes.text[at] ^= (char)(1 << at % 8);
    }
    gt_strbuf_release(&bytes);
}

static void test_cut_off(void **state)
{
    const struct world *w = *state;
    struct gt_strbuf bytes = bytes_of(w);
    struct gt_err err;

    for (size_t size = 0; size < bytes.length; size += size < 300 ? 1 : 131) {
        put_bytes(w, bytes.text, size);
        err.msg[0] = '\0';
        assert_int_not_equal(read_all(w, &err), GT_OK);
        assert_int_not_equal(*err.msg, '\0');
    }
    put_bytes(w, bytes.text, bytes.length + 1); /* with the NUL behind the text */
    assert_int_equal(read_all(w, &err), GT_EDB);
    gt_strbuf_release(&bytes);
}

/* Cut off after it was opened: the plan fails, the program goes on. */
static void test_cut_off_later(void **state)
{
    const struct world *w = *state;
    struct gt *gt = open_file(w);
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;

    assert_int_equal(truncate(w->path, 200), 0);
    problem_of(&problem, 0);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, &err), GT_EDB);
    assert_non_null(strstr(err.msg, "cut off"));
    gt_close(gt);
}

static void test_not_ours(void **state)
{
    struct world *w = *state;
    const char *const folders[] = {"tests/unit/data", NULL};
    struct gt_options options = w->options;
    struct gt_err err;
    struct gt *gt;

    assert_int_equal(chmod(w->path, 0666), 0);
    assert_int_equal(gt_open(&gt, &options, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "writable by nobody else"));
    assert_int_equal(chmod(w->path, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(w->path, 12345, 0), 0);
        assert_int_equal(gt_open(&gt, &options, &err), GT_EIO);
        assert_int_equal(chown(w->path, 0, 0), 0);
    }
    options.system_db = "db/shipped";
    assert_int_equal(gt_open(&gt, &options, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "answers alone"));
    options.system_db = "";
    options.kernels_dirs = folders;
    assert_int_equal(gt_open(&gt, &options, &err), GT_ERANGE);
}

static const struct gt_options *opened; /* of the running test */

static int open_and_plan(struct gt_err *err)
{
    struct gt_problem problem;
    struct gt_plan *plan = NULL;
    struct gt *gt;
    int rc = gt_open(&gt, opened, err);

    problem_of(&problem, 0);
    if (!rc)
        rc = gt_plan(&plan, gt, 0, &problem, err);
    if (!rc)
        gt_plan_free(plan);
    gt_close(gt);
    return rc;
}

static void test_nomem(void **state)
{
    const struct world *w = *state;

    opened = &w->options;
    gt_failmalloc_every("a deployed file", open_and_plan, 12);
}

/* What is to be written, for the running test. */
static struct {
    struct gt_resolved resolved;
    struct gt_binary binary;
    FILE *to;
} making;

static int make_file(struct gt_err *err)
{
    struct gt_deploy_file file;
    size_t bytes;
    int rc;

    gt_deploy_file_init(&file);
    rc = gt_deploy_file_add(&file, &making.resolved, &making.binary, 13000, err);
    if (!rc)
        rc = gt_deploy_file_write(&file, making.to, &bytes, err);
    gt_deploy_file_release(&file);
    return rc;
}

static void test_nomem_of_the_writer(void **state)
{
    const struct world *w = *state;
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = ".",
                                       .allow_nvrtc = 1};
    struct gt_problem problem;
    struct gt *gt = NULL;
    struct gt_err err;

    setenv("GEMMTUNE_DATA", ".", 1);
    stub_environment();
    problem_of(&problem, 0);
    making.to = fopen("/dev/null", "we");
    if (!making.to || gt_open(&gt, &options, &err) ||
        gt_lookup_device(gt, &w->device, &problem, &making.resolved, &err) ||
        gt_plan_binary(gt_lookup_options(gt), &making.resolved, NULL, &making.binary, NULL, &err))
        fail_msg("%s", err.msg);
    gt_failmalloc_every("a deployed file in the making", make_file, 8);
    gt_binary_release(&making.binary);
    gt_resolved_release(&making.resolved);
    gt_close(gt);
    assert_int_equal(fclose(making.to), 0);
}

static void *plan_often(void *context)
{
    struct gt *gt = context;
    intptr_t failed = 0;

    for (int i = 0; i < 60; i++) {
        struct gt_problem problem;
        struct gt_plan *plan;

        problem_of(&problem, i % PROBLEMS);
        failed += gt_plan(&plan, gt, 0, &problem, NULL) != GT_OK;
        gt_plan_free(plan);
    }
    return (void *)failed;
}

static void test_threads(void **state)
{
    struct gt *gt = open_file(*state);
    pthread_t thread[6];

    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, plan_often, gt), 0);
    for (int i = 0; i < 6; i++) {
        void *failed;

        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
    gt_close(gt);
}

/* The program resets the device between two plans: the second one does not use what is gone. */
static void test_reset(void **state)
{
    struct gt *gt = open_file(*state);
    struct gt_problem problem;
    struct gt_plan *plan;

    problem_of(&problem, 0);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, NULL), GT_OK);
    gt_plan_free(plan);
    setenv("STUB_RESET", "1", 1);
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, NULL), GT_OK);
    run(plan, N);
    gt_plan_free(plan);
    gt_close(gt);
    unsetenv("STUB_RESET");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_plan_and_run),  TEST(test_lookup),
        TEST(test_other_devices), TEST(test_sibling),
        TEST(test_flips),         TEST(test_cut_off),
        TEST(test_cut_off_later), TEST(test_not_ours),
        TEST(test_nomem),         TEST(test_nomem_of_the_writer),
        TEST(test_threads),       TEST(test_reset),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

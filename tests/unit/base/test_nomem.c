/* test_nomem.c - the vocabulary when memory runs out: whichever allocation fails, the answer is
 * GT_ENOMEM with its sentence, nothing leaks, and the next try works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "problem/device.h"
#include "failmalloc.h"
#include "problem/problem.h"
#include "session/problemset.h"
#include "kernel/render.h"

#define DATA "tests/unit/data"

static const struct gt_kernel *tiny; /* for what needs a kernel that is there already */

static int do_expr(struct gt_err *err)
{
    static const struct gt_names names = {{"M", "BM"}, 2};
    struct gt_expr *expr;
    int rc = gt_expr_parse(&expr, "cdiv(M,BM) > 3 ? M : 7", &names, err);

    gt_expr_free(expr);
    return rc;
}

static int do_problem(struct gt_err *err)
{
    struct gt_problem problem;

    return gt_problem_parse(&problem, "64x64x64:lda=80:beta=0.5", err);
}

static int do_problemset(struct gt_err *err)
{
    struct gt_problemset set;
    int rc = gt_problemset_load(&set, "configs/problems/bench.json", err);

    gt_problemset_release(&set);
    return rc;
}

static int do_random_problems(struct gt_err *err)
{
    struct gt_problemset set = {0};
    int rc = gt_random_problems(&set, ".", NULL, 5, 1, err);

    gt_problemset_release(&set);
    return rc;
}

static int do_device(struct gt_err *err)
{
    struct gt_device device;

    return gt_device_profile(&device, ".", 86, err);
}

static int do_kernel(struct gt_err *err)
{
    struct gt_kernel *kernel;
    int rc = gt_kernel_load(&kernel, DATA, DATA "/configs/kernels/tiny.json", err);

    gt_kernel_free(kernel);
    return rc;
}

static int do_mapped_kernel(struct gt_err *err)
{
    struct gt_kernel *kernel;
    int rc = gt_kernel_load(&kernel, DATA, DATA "/mapped/mapped.json", err);

    gt_kernel_free(kernel);
    return rc;
}

/* scandir's and realpath's blocks come from libc and are freed here: fewer than none may live. */
static int do_kernels(struct gt_err *err)
{
    struct gt_kernels kernels;
    int rc = gt_kernels_load(&kernels, DATA, DATA "/mapped", DATA ":" DATA "/mapped", err);

    gt_kernels_release(&kernels);
    return rc;
}

static int do_data_dir(struct gt_err *err)
{
    char *path;
    int rc = gt_data_dir(&path, err);

    free(path);
    return rc;
}

static int do_point(struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_point point;
    int rc = gt_point_parse(&point, tiny, "BM=128", err);

    if (!rc)
        gt_point_format(&text, tiny, &point);
    if (!rc)
        rc = gt_strbuf_check(&text, err);
    gt_strbuf_release(&text);
    return rc;
}

static int do_render(struct gt_err *err)
{
    struct gt_problem problem;
    struct gt_device device = {.cc = 86};
    struct gt_candidate candidate = {tiny, &problem, &device, {{0}}};
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    gt_problem_init(&problem, 64, 64, 64);
    gt_point_default(&candidate.point, tiny);
    rc = gt_render(&text, &candidate, err);
    gt_strbuf_release(&text);
    return rc;
}

static void test_every_allocation(void **state)
{
    static const struct {
        const char *name;
        int (*act)(struct gt_err *);
        long least; /* how many allocations there must be at least, 0: none is fine */
    } acts[] = {
        {"expression", do_expr, 1},
        {"problem", do_problem, 0},
        {"problem set", do_problemset, 100},
        {"random problems", do_random_problems, 100},
        {"profile", do_device, 20},
        {"kernel", do_kernel, 200},
        {"kernel with tensor maps", do_mapped_kernel, 100},
        {"kernels", do_kernels, 200},
        {"data folder", do_data_dir, 1},
        {"point", do_point, 1},
        {"source", do_render, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
        gt_failmalloc_every(acts[i].name, acts[i].act, acts[i].least);
}

/* Sentences that list names must still be sentences without memory for the list. */
static void test_errors_without_memory(void **state)
{
    struct gt_point point;

    (void)state;
    for (long n = 0; n < 8; n++) {
        struct gt_err err = {0};

        gt_failmalloc_start(n);
        assert_int_equal(gt_point_parse(&point, tiny, "WOBBLE=1", &err), GT_ENOTFOUND);
        assert_int_equal(gt_point_parse(&point, tiny, "BM=1", &err), GT_ERANGE);
        gt_failmalloc_stop();
        assert_int_equal(gt_failmalloc_live(), 0);
        assert_non_null(strstr(err.msg, "BM cannot be \"1\""));
    }
}

/* A text that cannot be made is a failure, as one without memory is, not a text that is missing. */
static void test_texts_that_cannot_be(void **state)
{
    static const wchar_t no_character[] = {0x110000, 0};
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_err err = {0};

    (void)state;
    gt_strbuf_add(&text, "before ");
    gt_strbuf_addf(&text, "%ls", no_character);
    gt_strbuf_add(&text, "after");
    assert_int_equal(gt_strbuf_check(&text, &err), GT_ENOMEM);
    assert_null(gt_strbuf_detach(&text));
    gt_strbuf_add_bytes(&text, "", SIZE_MAX - 1);
    assert_int_equal(gt_strbuf_check(&text, &err), GT_ENOMEM);
    gt_strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
        cmocka_unit_test(test_errors_without_memory),
        cmocka_unit_test(test_texts_that_cannot_be),
    };
    struct gt_kernel *kernel;
    int failed;

    if (gt_kernel_load(&kernel, DATA, DATA "/configs/kernels/tiny.json", NULL))
        return 1;
    tiny = kernel;
    failed = cmocka_run_group_tests_name("nomem", tests, NULL, NULL);
    gt_kernel_free(kernel);
    return failed;
}

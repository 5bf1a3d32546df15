/* test_render.c - what is put in front of a template, and what makes two sources equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/render.h"

#define DATA "tests/unit/data"

struct fixture {
    struct gt_kernel *kernel;
    struct gt_device device;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    return !f || gt_device_profile(&f->device, ".", 86, NULL) ||
           gt_kernel_load(&f->kernel, DATA, DATA "/configs/kernels/tiny.json", NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    gt_kernel_free(f->kernel);
    free(f);
    return 0;
}

/* Renders a point for a problem, both as text; free the result. */
static char *render(const struct fixture *f, const char *problem_text, const char *point)
{
    struct gt_problem problem;
    struct gt_candidate candidate = {f->kernel, &problem, &f->device, {{0}}};
    struct gt_strbuf source = GT_STRBUF_INIT;

    assert_int_equal(gt_problem_parse(&problem, problem_text, NULL), GT_OK);
    assert_int_equal(gt_point_parse(&candidate.point, f->kernel, point, NULL), GT_OK);
    assert_int_equal(gt_render(&source, &candidate, NULL), GT_OK);
    return gt_strbuf_detach(&source);
}

static void test_source(void **state)
{
    static const char *const head = "// gemmtune kernel tiny, point BM=128,TM=4\n"
                                    "#define BM 128\n"
                                    "#define TM 4\n"
                                    "#define GROUP_M (args.launch[0])\n"
                                    "#define SPLIT (args.launch[1])\n"
                                    "#define PAD (args.launch[2])\n"
                                    "#define GT_TRANS_A 0\n"
                                    "#define GT_TRANS_B 1\n"
                                    "#define GT_EPILOGUE 1\n"
                                    "#define GT_TYPE 0\n"
                                    "#define GT_OUT 0\n"
                                    "#define GT_ACC 0\n"
                                    "#line 1 \"templates/tiny/tiny.cu\"\n";
    const struct fixture *f = *state;
    char *source = render(f, "64x64x64:nt:epi=bias", "BM=128,SPLIT=2");
    struct gt_strbuf template = GT_STRBUF_INIT;

    assert_memory_equal(source, head, strlen(head));
    assert_int_equal(gt_strbuf_add_file(&template, DATA "/templates/tiny/tiny.cu", NULL), GT_OK);
    assert_string_equal(source + strlen(head), template.text);
    gt_strbuf_release(&template);
    free(source);
}

/* Sizes and launch parameters are run-time values: the cubin is the same. */
static void test_equal_sources(void **state)
{
    static const struct {
        const char *problem, *point;
        bool equal;
    } cases[] = {
        {"1x2x3:alpha=2:beta=1:lda=9:batch=2:align=4:accuracy=tf32", "", true},
        {"64x64x64", "GROUP_M=1,SPLIT=4,PAD=1024", true},
        {"64x64x64", "TM=8", false},
        {"64x64x64:nt", "", false},
        {"64x64x64:tn", "", false},
        {"64x64x64:epi=bias", "", false},
        {"64x64x64:f16", "", false},
        {"64x64x64:out=f16", "", false},
        {"64x64x64:acc=f16", "", false},
    };
    const struct fixture *f = *state;
    char *first = render(f, "64x64x64", "");

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *source = render(f, cases[i].problem, cases[i].point);

        assert_int_equal(!strcmp(source, first), cases[i].equal);
        free(source);
    }
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_equal_sources),
    };

    return cmocka_run_group_tests_name("render", tests, set_up, tear_down);
}

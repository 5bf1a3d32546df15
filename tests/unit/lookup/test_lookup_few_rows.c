/* test_lookup_few_rows.c - untuned answers for every number of rows, or of columns, from 1 to 64:
 * from one to the next the time that is expected does not jump, it is near what the memory takes,
 * and few rows are not computed by tiles of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "gemmtune.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"
#include "whole.h"

#define FEW       64
#define JUMP_MOST 3.0  /* odd columns after even ones are not aligned: twice the time is true */
#define JUMP      1.3  /* what few neighbours do */
#define JUMPS     0.20 /* every second one changes what can be loaded at a time; 0.34 was wrong */
#define SLOW      10.0 /* times of the memory, with 2.7 us to launch: small k-heavy products */

struct grid {
    struct gt *gt;
    struct gt_device device;
    size_t pairs, jumps;
    double most_jump, most_slow;
};

/* The time that is expected, and the side of the answer's tiles along the few rows or columns. */
static double ask(struct grid *grid, const struct gt_problem *problem, double *tile, char *named)
{
    const struct gt_answer *answer;
    struct gt_candidate candidate = {.problem = problem, .device = &grid->device};
    struct gt_prediction prediction;
    struct gt_geometry geometry;
    struct gt_err err;

    if (gt_lookup(grid->gt, 90, NULL, problem, &answer, &err))
        fail_msg("%s", err.msg);
    candidate.kernel = gt_kernels_find(&grid->gt->sources.kernels, answer->kernel, NULL);
    if (gt_point_parse(&candidate.point, candidate.kernel, answer->point, &err) ||
        gt_candidate_geometry(&candidate, &geometry, &err) ||
        gt_predict_explain(&candidate, &geometry, 0, 0, &prediction, &err))
        fail_msg("%s", err.msg);
    *tile = problem->m < problem->n ? prediction.tile_m : prediction.tile_n;
    snprintf(named, 64, "%s", answer->kernel);
    return answer->expected_us;
}

/* One more row after the other. */
static void walk(struct grid *grid, const char *kind, int64_t many, int64_t k, bool columns)
{
    char text[GT_PROBLEM_TEXT_MAX], kernel[64], kernel_before[64] = "";
    double before = 0, tile;

    for (int few = 1; few <= FEW; few++) {
        struct gt_problem problem;
        struct gt_err err;
        double us, memory, jump;

        snprintf(text, sizeof(text), "%lldx%lldx%lld:%s", (long long)(columns ? many : few),
                 (long long)(columns ? few : many), (long long)k, kind);
        assert_int_equal(gt_problem_parse(&problem, text, &err), GT_OK);
        us = ask(grid, &problem, &tile, kernel);
        memory = 2.7 + gt_problem_traffic(&problem) / (grid->device.memory_gbps * 1e3);
        if (few <= 32 && tile > (problem.type != GT_F32 ? 128 : few <= 8 ? 32 : 64))
            fail_msg("%s: %s with tiles of %.0f", text, kernel, tile);
        if (us > SLOW * memory)
            fail_msg("%s: %s in %.1f us, the memory takes %.1f", text, kernel, us, memory);
        jump = before > 0 ? fmax(us / before, before / us) : 1;
        if (jump > JUMP_MOST)
            fail_msg("%s: %s in %.1f us, one row less %s in %.1f", text, kernel, us, kernel_before,
                     before);
        grid->pairs += before > 0;
        grid->jumps += jump > JUMP;
        grid->most_jump = fmax(grid->most_jump, jump);
        grid->most_slow = fmax(grid->most_slow, us / memory);
        before = us;
        memcpy(kernel_before, kernel, sizeof(kernel));
    }
}

static void test_grid(void **state)
{
    static const char *const type[] = {"f32:%s", "f32:%s:accuracy=f32", "tf32:%s", "f16:%s",
                                       "bf16:%s"};
    static const char *const layout[] = {"nn", "nt", "tn", "tt"};
    static const int64_t size[][2] = {{4096, 4096}, {257, 5000}};
    struct grid grid = {0};
    struct gt_err err;

    (void)state;
    /* Without WHOLE=1 every layout of a type has one of the sizes, and rows or columns. */
    assert_int_equal(gt_device_profile(&grid.device, ".", 90, &err), GT_OK);
    if (gt_open(&grid.gt, &(struct gt_options){.data_dir = ".", .user_db = ""}, &err))
        fail_msg("%s", err.msg);
    for (size_t t = 0; t < sizeof(type) / sizeof(*type); t++) {
        grid.pairs = grid.jumps = 0;
        grid.most_jump = grid.most_slow = 0;
        for (size_t l = 0; l < 4; l++)
            for (size_t s = 0; s < sizeof(size) / sizeof(*size); s++) {
                char kind[32];

                snprintf(kind, sizeof(kind), type[t], layout[l]);
                for (size_t columns = 0; columns < 2; columns++)
                    if (gt_whole(1, (t + l + s) % 2 == 0 && (t + l / 2 + columns) % 2 == 0))
                        walk(&grid, kind, size[s][0], size[s][1], columns == 1);
            }
        print_message("%s: %zu of %zu jump, most %.2f times; %.1f times of the memory\n", type[t],
                      grid.jumps, grid.pairs, grid.most_jump, grid.most_slow);
        assert_true((double)grid.jumps < JUMPS * (double)grid.pairs);
    }
    gt_close(grid.gt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grid)};

    return cmocka_run_group_tests_name("lookup_few_rows", tests, NULL, NULL);
}

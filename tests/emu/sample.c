/* sample.c - test: a cover of a kernel's parameter values by few points (sample.h): over several
 * problems, the point that brings the most new values is taken until none brings any. */
#include "sample.h"

#include <string.h>

#include "execute.h"
#include "operands.h"
#include "problem.h"

#include "../../tuner/space.h"

#define KEPT 3000 /* points of a space that are looked at */

/* A problem whose space is looked at. */
struct origin {
    size_t cases; /* index */
    struct gt_emu_scale scale;
    int layout;
};

static const struct origin origins[] = {
    {3, {4, 4, 1}, 0},  {3, {2, 2, 8}, 3}, {17, {1, 1, 8}, 2}, {7, {1, 2, 32}, 1},
    {8, {8, 1, 64}, 0}, {1, {4, 4, 1}, 3}, {15, {8, 8, 1}, 1}, {18, {1, 1, 1}, 2},
};

/* Values taken so far: bit v of taken[p] for value v of parameter p. */
struct cover {
    uint64_t taken[GT_MAX_PARAMS];
};

static int gain(const struct cover *cover, const struct gt_space *space, size_t i)
{
    size_t params = space->kernel->params;
    int fresh = 0;
    for (size_t p = 0; p < params; p++)
        fresh += !(cover->taken[p] >> space->index[i * params + p] & 1);
    return fresh;
}

static void take(struct cover *cover, const struct gt_space *space, size_t i)
{
    size_t params = space->kernel->params;
    for (size_t p = 0; p < params; p++)
        cover->taken[p] |= (uint64_t)1 << space->index[i * params + p];
}

/* Takes points of one space while they bring something new. */
static void cover_space(struct cover *cover, const struct gt_space *space,
                        const struct origin *origin, struct gt_emu_sample *sample, size_t *count)
{
    while (*count < GT_EMU_SAMPLES) {
        size_t best = 0;
        int most = 0;
        for (size_t i = 0; i < space->count; i++) {
            int fresh = gain(cover, space, i);
            if (fresh > most) {
                most = fresh;
                best = i;
            }
        }
        if (most == 0)
            return;
        take(cover, space, best);
        gt_space_point(space, best, &sample[*count].point);
        sample[*count].layouts = 1u << origin->layout;
        sample[(*count)++].scale = origin->scale;
    }
}

int gt_emu_sample(struct gt_emu_sample *sample, size_t *count, const struct gt_kernel *kernel,
                  struct gt_err *err)
{
    struct cover cover = {{0}};
    struct gt_device device;

    *count = 0;
    gt_emu_device(&device, kernel);
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        const struct origin *origin = &origins[i];
        struct gt_space space = {0};
        struct gt_problem problem;
        struct gt_err none_valid;
        gt_emu_case_problem(&problem, &gt_emu_cases[origin->cases], origin->scale,
                            origin->layout / 2, origin->layout % 2, GT_EPILOGUE_NONE);
        if (gt_problem_check(&problem, err))
            return GT_ERANGE;
        if (!gt_kernel_serves(kernel, &problem, &device, NULL))
            continue;
        int status = gt_space_init(&space, kernel, &problem, &device, KEPT, &none_valid);
        if (status == GT_OK)
            cover_space(&cover, &space, origin, sample, count);
        gt_space_release(&space);
        if (status && status != GT_ERANGE) {
            if (err)
                *err = none_valid;
            return status;
        }
    }
    return GT_OK;
}

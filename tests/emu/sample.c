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
    int sms;
};

static const struct origin origins[] = {
    {3, {4, 4, 1}, 0, 1},
    {3, {2, 2, 8}, 3, 1},
    {17, {1, 1, 8}, 2, 1},
    {7, {1, 2, 32}, 1, 1},
    {8, {8, 1, 64}, 0, 1},
    {1, {4, 4, 1}, 3, 1},
    {15, {8, 8, 1}, 1, 1},
    {18, {1, 1, 1}, 2, 1},
    {20, {1, 4, 8}, 0, 1},
    {20, {1, 4, 8}, 1, 1},
    {19, {1, 8, 8}, 2, 1},
    {19, {1, 8, 8}, 3, 1},
    {21, {1, 4, 4}, 1, 1},
    {22, {1, 8, 4}, 0, 1},
    {29, {1, 2, 8}, 0, 1},
    {30, {1, 8, 8}, 0, 1},
    {31, {1, 4, 4}, 2, 1},
    {8, {8, 1, 64}, 0, GT_EMU_SEVERAL_SMS},
    {21, {1, 4, 1}, 1, GT_EMU_SEVERAL_SMS},
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
                        const struct origin *origin, const struct gt_emu_types *types,
                        struct gt_emu_sample *sample, size_t *count)
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
        sample[*count].types = *types;
        sample[*count].layouts = 1u << origin->layout;
        sample[(*count)++].scale = origin->scale;
    }
}

/* Takes points that are valid for the origin as a problem of these types. */
static int sample_origin(struct cover *cover, const struct gt_kernel *kernel,
                         const struct origin *origin, const struct gt_emu_types *types,
                         struct gt_emu_sample *sample, size_t *count, struct gt_err *err)
{
    struct gt_space space = {0};
    struct gt_device device;
    struct gt_problem problem;
    struct gt_err none_valid;

    gt_emu_device(&device, kernel, origin->sms);
    gt_emu_case_problem(&problem, &gt_emu_cases[origin->cases], origin->scale, types,
                        origin->layout / 2, origin->layout % 2, GT_EPILOGUE_NONE);
    if (gt_problem_check(&problem, err))
        return GT_ERANGE;
    if (!gt_kernel_serves(kernel, &problem, &device, NULL))
        return GT_OK;
    int status = gt_space_init(&space, kernel, &problem, &device, KEPT, &none_valid);
    if (status == GT_OK)
        cover_space(cover, &space, origin, types, sample, count);
    gt_space_release(&space);
    if (status && status != GT_ERANGE) {
        if (err)
            *err = none_valid;
        return status;
    }
    return GT_OK;
}

int gt_emu_sample(struct gt_emu_sample *sample, size_t *count, const struct gt_kernel *kernel,
                  struct gt_err *err)
{
    struct cover cover = {{0}};
    struct gt_emu_types types[GT_EMU_TYPES];
    size_t pairs = gt_emu_types_of(types, kernel), origin_count = sizeof origins / sizeof *origins;
    int status = GT_OK;

    *count = 0;
    /* The types take turns at being first, so that each of them has a share of the points. */
    for (size_t turn = 0; turn < pairs && !status; turn++)
        for (size_t i = 0; i < origin_count && !status; i++)
            status = sample_origin(&cover, kernel, &origins[i], &types[(i + turn) % pairs], sample,
                                   count, err);
    return status;
}

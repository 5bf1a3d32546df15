/* sample.c - test: a cover of a kernel's parameter values by few points (sample.h): of the points
 * of several problems, the one that brings the most new values is taken until none brings any; a
 * layout counts like a value.  Values of points that are run anyway are not new the first time. */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "operands.h"
#include "problem/problem.h"
#include "served.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "search/space.h"
#include "tests/remembered.h"

#define KEPT         3000 /* points of a space that are examined */
#define ORIGIN_TYPES 3    /* pairs of types for which an origin is examined, in turn */

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
    {1, {5, 5, 1}, 3, 1},
    {15, {8, 8, 1}, 1, 1},
    {18, {1, 1, 1}, 2, 1},
    {20, {1, 4, 8}, 0, 1},
    {20, {1, 4, 8}, 1, 1},
    {19, {1, 8, 8}, 2, 1},
    {19, {1, 7, 9}, 3, 1},
    {21, {1, 4, 4}, 1, 1},
    {22, {1, 8, 4}, 0, 1},
    {29, {1, 2, 8}, 0, 1},
    {30, {1, 8, 8}, 0, 1},
    {31, {1, 4, 4}, 2, 1},
    {8, {8, 1, 64}, 0, GT_EMU_SEVERAL_SMS},
    {21, {1, 4, 1}, 1, GT_EMU_SEVERAL_SMS},
    /* rows of each count that a kernel for few rows is made for */
    {7, {2, 4, 32}, 0, 1},
    {7, {6, 4, 32}, 1, 1},
    {7, {12, 4, 32}, 2, 1},
    {15, {1, 5, 9}, 0, 1},
    {20, {3, 4, 4}, 0, 1},
    {20, {4, 4, 4}, 1, 1},
    {20, {5, 4, 4}, 2, 1},
    {20, {6, 4, 4}, 3, 1},
    {20, {8, 4, 4}, 0, 1},
};

/* The space of an origin for a pair of types. */
struct place {
    const struct origin *origin;
    struct gt_emu_types types;
    struct gt_problem problem;
    struct gt_device device;
    struct gt_space space;
    size_t taken; /* points */
};

/* What was taken so far: bit v of value[p] for value v of parameter p. */
struct cover {
    uint64_t value[GT_MAX_PARAMS];
    uint64_t marks; /* the layouts, say */
};

static int gain(const struct cover *cover, const struct gt_space *space, size_t i)
{
    size_t params = space->kernel->params;
    int fresh = 0;
    for (size_t p = 0; p < params; p++)
        fresh += !(cover->value[p] >> space->index[i * params + p] & 1);
    return fresh;
}

/* The point of a place that brings the most: *most values, and a layout if that is new. */
static size_t best_of(const struct cover *cover, const struct place *place, int *most)
{
    const struct gt_space *space = &place->space;
    size_t best = 0;
    *most = 0;
    for (size_t i = 0; i < space->count; i++) {
        int fresh = gain(cover, space, i);
        if (fresh > *most) {
            *most = fresh;
            best = i;
        }
    }
    *most += space->count && !(cover->marks >> place->origin->layout & 1);
    return best;
}

/* Takes point i of a place. */
static void take(struct cover *cover, struct place *place, size_t i, struct gt_emu_sample *sample)
{
    const struct gt_space *space = &place->space;
    size_t params = space->kernel->params;
    for (size_t p = 0; p < params; p++)
        cover->value[p] |= (uint64_t)1 << space->index[i * params + p];
    cover->marks |= 1u << place->origin->layout;
    gt_space_point(space, i, &sample->point);
    sample->problem = place->problem;
    sample->device = place->device;
    sample->types = place->types;
    sample->layouts = 1u << place->origin->layout;
    sample->scale = place->origin->scale;
    place->taken++;
}

/* Takes the best point of all places until none has anything new that is not in the cover.  Among
 * equals it takes that of the place with fewest points so far, so that types and layouts take
 * turns. */
static void cover_once(struct cover cover, struct place *place, size_t places,
                       struct gt_emu_sample *sample, size_t *count)
{
    while (*count < GT_EMU_SAMPLES) {
        size_t from = 0, best = 0;
        int most = 0;
        for (size_t i = 0; i < places; i++) {
            int fresh;
            size_t point = best_of(&cover, &place[i], &fresh);
            if (fresh > most || (fresh == most && fresh && place[i].taken < place[from].taken)) {
                most = fresh;
                best = point;
                from = i;
            }
        }
        if (most == 0)
            return;
        take(&cover, &place[from], best, &sample[(*count)++]);
    }
}

/* Enumerates what is valid for the origin as a problem of these types: place->space, which is left
 * empty where there is nothing. */
static int find_place(struct place *place, const struct gt_kernel *kernel,
                      const struct origin *origin, const struct gt_emu_types *types,
                      struct gt_err *err)
{
    struct gt_err none_valid;

    *place = (struct place){.origin = origin, .types = *types};
    gt_emu_device(&place->device, kernel, origin->sms);
    gt_emu_case_problem(&place->problem, &gt_emu_cases[origin->cases], origin->scale, types,
                        origin->layout / 2, origin->layout % 2, GT_EPILOGUE_NONE);
    if (gt_problem_check(&place->problem, err))
        return GT_ERANGE;
    if (!gt_kernel_serves(kernel, &place->problem, &place->device))
        return GT_OK;
    int status =
        gt_space_init(&place->space, kernel, &place->problem, &place->device, KEPT, &none_valid);
    if (status && status != GT_ERANGE) {
        if (err)
            *err = none_valid;
        return status;
    }
    return GT_OK;
}

/* The values that points have. */
static struct cover cover_of(const struct gt_kernel *kernel, const struct gt_point *point,
                             size_t points)
{
    struct cover cover = {0};

    for (size_t i = 0; i < points; i++)
        for (size_t p = 0; p < kernel->params; p++)
            for (size_t v = 0; v < kernel->param[p].count; v++)
                if (kernel->param[p].value[v] == point[i].value[p])
                    cover.value[p] |= (uint64_t)1 << v;
    return cover;
}

static int draw(struct gt_emu_sample *sample, size_t *count, const struct gt_kernel *kernel,
                int times, struct cover cover, struct gt_err *err)
{
    static struct place place[ORIGIN_TYPES * sizeof origins / sizeof *origins];
    struct gt_emu_types types[GT_EMU_TYPES];
    size_t pairs = gt_emu_types_of(types, kernel), places = 0;
    int status = GT_OK;

    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        for (size_t j = 0; j < pairs && j < ORIGIN_TYPES && !status; j++)
            status =
                find_place(&place[places++], kernel, &origins[i], &types[(i + j) % pairs], err);
    for (*count = 0; times > 0 && !status; times--) {
        cover_once(cover, place, places, sample, count);
        cover = (struct cover){0};
    }
    for (size_t i = 0; i < places; i++)
        gt_space_release(&place[i].space);
    return status;
}

/* The digest of all that decides what is drawn. */
static void find_key(char key[GT_DIGEST_HEX], const struct gt_kernel *kernel, int times,
                     const struct cover *cover)
{
    struct gt_strbuf description = GT_STRBUF_INIT, what = GT_STRBUF_INIT;
    static char base[GT_DIGEST_HEX];

    if (!*base)
        gt_remember_base(base, "drawn", "");
    gt_strbuf_addf(&what, "times=%d", times);
    for (size_t p = 0; p < kernel->params; p++)
        gt_strbuf_addf(&what, " %llx", (unsigned long long)cover->value[p]);
    *key = '\0';
    if (gt_strbuf_add_file(&description, kernel->path, NULL) == GT_OK)
        gt_remember_key(key, base, "", description.text, what.text);
    gt_strbuf_release(&description);
    gt_strbuf_release(&what);
}

int gt_emu_sample(struct gt_emu_sample *sample, size_t *count, const struct gt_kernel *kernel,
                  int times, const struct gt_point *known, size_t knowns, struct gt_err *err)
{
    const struct cover cover = cover_of(kernel, known, knowns);
    struct drawn {
        size_t count;
        struct gt_emu_sample sample[GT_EMU_SAMPLES];
    } *drawn = calloc(1, sizeof *drawn);
    char key[GT_DIGEST_HEX];
    int status = GT_OK;

    if (!drawn)
        return gt_err_nomem(err);
    find_key(key, kernel, times, &cover);
    if (!gt_remembered(key, drawn, sizeof *drawn)) {
        status = draw(drawn->sample, &drawn->count, kernel, times, cover, err);
        if (!status)
            gt_remember(key, drawn, sizeof *drawn);
    }
    *count = drawn->count;
    memcpy(sample, drawn->sample, drawn->count * sizeof *sample);
    free(drawn);
    return status;
}

/* Leaves of a size's values the least and the greatest. */
static void keep_ends(const struct gt_param *param, uint64_t *values)
{
    size_t least = 0, greatest = 0;

    for (size_t v = param->count; v-- > 0;)
        if (*values >> v & 1)
            least = greatest = v;
    for (size_t v = 0; v < param->count; v++)
        if (*values >> v & 1) {
            least = param->value[v] < param->value[least] ? v : least;
            greatest = param->value[v] > param->value[greatest] ? v : greatest;
        }
    if (param->count > GT_EMU_CHOICES)
        *values &= (uint64_t)1 << least | (uint64_t)1 << greatest;
}

static struct cover cover_listed(const struct gt_emu_listed *listed)
{
    struct cover cover = cover_of(listed->kernel, listed->point, 1);

    cover.marks = listed->marks;
    return cover;
}

/* All that is to be covered of the kernel's points. */
static struct cover wanted_of(const struct gt_kernel *kernel, const struct gt_emu_listed *list,
                              size_t count)
{
    struct cover wanted = {0};

    for (size_t i = 0; i < count; i++)
        if (list[i].kernel == kernel) {
            const struct cover has = cover_listed(&list[i]);

            for (size_t p = 0; p < kernel->params; p++)
                wanted.value[p] |= has.value[p];
            wanted.marks |= has.marks;
        }
    for (size_t p = 0; p < kernel->params; p++)
        keep_ends(&kernel->param[p], &wanted.value[p]);
    return wanted;
}

/* How much of what is wanted a point has; with `take`, it is wanted no longer. */
static int brings(struct cover *wanted, const struct gt_emu_listed *listed, bool take)
{
    const struct cover has = cover_listed(listed);
    int count = __builtin_popcountll(wanted->marks & has.marks);

    for (size_t p = 0; p < listed->kernel->params; p++) {
        count += (wanted->value[p] & has.value[p]) != 0;
        wanted->value[p] &= take ? ~has.value[p] : ~(uint64_t)0;
    }
    wanted->marks &= take ? ~has.marks : ~(uint64_t)0;
    return count;
}

static void choose_of(bool *taken, const struct gt_kernel *kernel, const struct gt_emu_listed *list,
                      size_t count, int few)
{
    struct cover wanted = wanted_of(kernel, list, count);
    int most;

    for (size_t i = 0; i < count; i++)
        if (taken[i] && list[i].kernel == kernel)
            brings(&wanted, &list[i], true);
    do {
        size_t best = 0;

        most = 0;
        for (size_t i = 0; i < count; i++) {
            const int has =
                taken[i] || list[i].kernel != kernel ? 0 : brings(&wanted, &list[i], false);

            best = has > most ? i : best;
            most = has > most ? has : most;
        }
        if (most) {
            taken[best] = true;
            brings(&wanted, &list[best], true);
        }
    } while (most && --few > 0);
}

void gt_emu_choose(bool *taken, const struct gt_emu_listed *list, size_t count, int few)
{
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;

        while (list[first].kernel != list[i].kernel)
            first++;
        if (first == i && list[i].kernel)
            choose_of(taken, list[i].kernel, list, count, few);
    }
}

/* strategy.c - the table of strategies and the bookkeeping that all strategies share. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "search/strategy.h"

#define ADDRESS(name) &gt_strategy_##name,

const struct gt_strategy_ops *const gt_strategies[] = {GT_STRATEGY_NAMES(ADDRESS) NULL};

/* Copies the seeds that are points of the space, each once. */
static void copy_seeds(struct gt_strategy *strategy, const struct gt_seeds *seeds)
{
    for (size_t i = 0; i < seeds->count; i++) {
        size_t point = seeds->point[i], j = 0;

        while (j < strategy->seeds && strategy->seed[j] != point)
            j++;
        if (j == strategy->seeds && point < strategy->space->count)
            strategy->seed[strategy->seeds++] = point;
    }
}

int gt_strategy_new(struct gt_strategy **strategy, const char *text, const struct gt_space *space,
                    uint64_t seed, const struct gt_seeds *seeds, struct gt_err *err)
{
    struct gt_strategy *new = calloc(1, sizeof(*new));
    int rc;

    if (!new)
        return gt_err_nomem(err);
    rc = gt_strategy_parse(&new->ops, new->option, text, err);
    if (rc) {
        free(new);
        return rc;
    }
    new->space = space;
    new->random.state = seed;
    new->fresh = space->count;
    new->best = SIZE_MAX;
    new->known = calloc(space->count + 1, sizeof(*new->known));
    new->seed = calloc((seeds ? seeds->count : 0) + 1, sizeof(*new->seed));
    new->state = calloc(1, new->ops->state_size + 1);
    if (!new->known || !new->seed || !new->state) {
        gt_strategy_free(new);
        return gt_err_nomem(err);
    }
    if (seeds)
        copy_seeds(new, seeds);
    new->given = seeds;
    if (new->ops->init)
        rc = new->ops->init(new, err);
    new->given = NULL;
    if (rc) {
        gt_strategy_free(new);
        return rc;
    }
    *strategy = new;
    return GT_OK;
}

void gt_strategy_free(struct gt_strategy *strategy)
{
    if (!strategy)
        return;
    if (strategy->state && strategy->ops->release)
        strategy->ops->release(strategy);
    free(strategy->state);
    free(strategy->known);
    free(strategy->seed);
    free(strategy);
}

size_t gt_strategy_seed(struct gt_strategy *strategy)
{
    while (strategy->next_seed < strategy->seeds) {
        size_t point = strategy->seed[strategy->next_seed++];

        if (strategy->known[point] == GT_POINT_NEW)
            return point;
    }
    return SIZE_MAX;
}

void gt_strategy_claim(struct gt_strategy *strategy, size_t point)
{
    if (strategy->known[point] != GT_POINT_NEW)
        return;
    strategy->known[point] = GT_POINT_ASKED;
    strategy->fresh--;
    strategy->flying++;
}

enum gt_next gt_strategy_next(struct gt_strategy *strategy, size_t *point)
{
    enum gt_next answer = GT_NEXT_POINT;

    if (!strategy->fresh)
        return GT_NEXT_DONE;
    *point = strategy->ops->own_seeds ? SIZE_MAX : gt_strategy_seed(strategy);
    if (*point == SIZE_MAX)
        answer = strategy->ops->next(strategy, point);
    if (answer != GT_NEXT_POINT)
        return answer;
    if (*point >= strategy->space->count || strategy->known[*point] != GT_POINT_NEW)
        return GT_NEXT_DONE; /* a strategy that answers no NEW point ends; the trials so far are
                                sound */
    gt_strategy_claim(strategy, *point);
    return GT_NEXT_POINT;
}

float gt_strategy_expect(struct gt_strategy *strategy, size_t point)
{
    return strategy->ops->expect ? strategy->ops->expect(strategy, point) : NAN;
}

static void find_best(struct gt_strategy *strategy)
{
    const float *known = strategy->known;

    strategy->best = SIZE_MAX;
    for (size_t i = 0; i < strategy->space->count; i++)
        if (known[i] > 0 && (strategy->best == SIZE_MAX || known[i] < known[strategy->best]))
            strategy->best = i;
}

void gt_strategy_tell(struct gt_strategy *strategy, size_t point, double us)
{
    const float time = us >= GT_LEAST_US && us < GT_MOST_US ? (float)us : 0;
    float *known = &strategy->known[point];

    if (*known == GT_POINT_NEW)
        strategy->fresh--;
    if (*known == GT_POINT_ASKED)
        strategy->flying--;
    *known = time > 0 ? time : GT_POINT_FAILED; /* 0 would mark the point as NEW */
    if (point == strategy->best)
        find_best(strategy); /* the best point may have become slower */
    else if (*known > 0 && (strategy->best == SIZE_MAX || *known < strategy->known[strategy->best]))
        strategy->best = point;
    if (strategy->ops->tell)
        strategy->ops->tell(strategy, point);
}

size_t gt_strategy_draw(struct gt_strategy *strategy)
{
    size_t count = strategy->space->count;
    size_t point = 0;

    assert(strategy->fresh > 0);
    /* Where NEW points are common, a few draws find one; else the next NEW point after a draw is
     * taken. */
    for (int draws = 0; draws < 32; draws++) {
        point = gt_random_below(&strategy->random, count);
        if (strategy->known[point] == GT_POINT_NEW)
            return point;
    }
    while (strategy->known[point] != GT_POINT_NEW)
        point = (point + 1) % count;
    return point;
}

void gt_strategy_place(const struct gt_strategy *strategy, size_t *list, size_t *count, size_t most,
                       size_t point)
{
    const float *known = strategy->known;
    size_t at = 0;

    while (at < *count && list[at] != point)
        at++;
    if (at < *count) /* the point was told or proposed before */
        memmove(&list[at], &list[at + 1], (--*count - at) * sizeof(*list));
    for (at = *count; at > 0 && known[point] < known[list[at - 1]]; at--)
        ;
    if (known[point] <= 0 || at >= most)
        return;
    *count -= *count == most;
    GT_ARRAY_OPEN(list, at, *count);
    list[at] = point;
    ++*count;
}

void gt_strategy_change(struct gt_strategy *strategy, uint8_t *index, uint64_t changes)
{
    const struct gt_kernel *kernel = strategy->space->kernel;

    while (changes--) {
        size_t p = gt_random_below(&strategy->random, kernel->params);

        index[p] = (uint8_t)gt_random_below(&strategy->random, kernel->param[p].count);
    }
}

#define DRAWS 64 /* draws of a kick, after which it gives up */

size_t gt_strategy_kick(struct gt_strategy *strategy, size_t point, size_t changes)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    const uint8_t *from = strategy->space->index + point * kernel->params;

    for (int draws = 0; draws < DRAWS && kernel->params; draws++) {
        uint64_t number = 1 + gt_random_below(&strategy->random, changes);
        uint8_t index[GT_MAX_PARAMS];
        size_t found;

        memcpy(index, from, kernel->params);
        gt_strategy_change(strategy, index, number);
        found = gt_space_find_index(strategy->space, index);
        if (found != SIZE_MAX && strategy->known[found] == GT_POINT_NEW)
            return found;
    }
    return SIZE_MAX;
}

/* The text form of a strategy, NAME:OPTION=VALUE,... */

#define NAMES 32

/* The index of word[0..length) among the names, or SIZE_MAX with a sentence; what: "unknown
 * strategy". */
static size_t find_name(const char *what, const char *word, size_t length, const char *const *name,
                        size_t count, struct gt_err *err)
{
    struct gt_strbuf names = GT_STRBUF_INIT;
    const char *near = gt_near(word, length, name, count);

    for (size_t i = 0; i < count; i++)
        if (strlen(name[i]) == length && memcmp(name[i], word, length) == 0)
            return i;
    for (size_t i = 0; i < count; i++)
        gt_strbuf_addf(&names, "%s%s", i ? ", " : "", name[i]);
    gt_err_set(err, GT_ENOTFOUND, "%s \"%.*s\"%s%s%s; there are: %s", what, (int)length, word,
               near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "",
               count ? names.text : "none");
    gt_strbuf_release(&names);
    return SIZE_MAX;
}

/* Strategies of earlier versions.  On no recorded space they found faster points than the
 * others. */
static const struct {
    const char *name, *instead;
} gone[] = {{"adjacent", "local"},  {"iterated", "local"},       {"basin", "local"},
            {"annealing", "local"}, {"differential", "genetic"}, {"swarm", "genetic"},
            {"dual", "local"}};

static const struct gt_strategy_ops *find_ops(const char *text, size_t length, struct gt_err *err)
{
    const char *name[NAMES];
    size_t count = 0, at;

    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        if (strlen(gone[i].name) == length && memcmp(gone[i].name, text, length) == 0) {
            gt_err_set(err, GT_ENOTFOUND,
                       "strategy \"%s\" of earlier versions is gone; use %s, or auto, the default",
                       gone[i].name, gone[i].instead);
            return NULL;
        }
    for (; gt_strategies[count] && count < NAMES; count++)
        name[count] = gt_strategies[count]->name;
    at = find_name("unknown strategy", text, length, name, count, err);
    return at == SIZE_MAX ? NULL : gt_strategies[at];
}

/* Reads [text, end): OPTION=VALUE, each option once. */
static int parse_option(const struct gt_strategy_ops *ops, double *value, unsigned *given,
                        const char *text, const char *end, struct gt_err *err)
{
    const struct gt_strategy_option *option = ops->option;
    const char *name[GT_STRATEGY_OPTIONS];
    const char *equals = memchr(text, '=', (size_t)(end - text));
    size_t length = (size_t)((equals ? equals : end) - text), count = 0, at;
    char *after, what[64];

    snprintf(what, sizeof(what), "strategy %s: unknown option", ops->name);
    for (; option && option[count].name; count++)
        name[count] = option[count].name;
    at = find_name(what, text, length, name, count, err);
    if (at == SIZE_MAX)
        return GT_ENOTFOUND;
    if (*given >> at & 1)
        return gt_err_set(err, GT_ESYNTAX, "strategy %s: option %s is given twice", ops->name,
                          option[at].name);
    *given |= 1u << at;
    value[at] = equals ? strtod(equals + 1, &after) : NAN;
    if (!equals || after != end || after == equals + 1 || !(value[at] >= option[at].least) ||
        !(value[at] <= option[at].most))
        return gt_err_set(err, GT_ERANGE, "strategy %s: \"%.*s\": %s=NUMBER, %g to %g", ops->name,
                          (int)(end - text), text, option[at].name, option[at].least,
                          option[at].most);
    return GT_OK;
}

int gt_strategy_parse(const struct gt_strategy_ops **ops, double *option, const char *text,
                      struct gt_err *err)
{
    double value[GT_STRATEGY_OPTIONS] = {0};
    size_t length = strcspn(text, ":");
    const struct gt_strategy_ops *found = find_ops(text, length, err);
    const char *part = text + length;
    unsigned given = 0; /* bit i: option i */

    if (!found)
        return GT_ENOTFOUND;
    for (size_t i = 0; found->option && found->option[i].name; i++)
        value[i] = found->option[i].standard;
    while (*part) {
        const char *begin = part + 1, *end = begin + strcspn(begin, ",");
        int rc = parse_option(found, value, &given, begin, end, err);

        if (rc)
            return rc;
        part = end;
    }
    if (ops)
        *ops = found;
    if (option)
        memcpy(option, value, sizeof(value));
    return GT_OK;
}

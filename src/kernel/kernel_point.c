/* kernel_point.c - vocabulary: points as text, and the slots and constraints of a
 * candidate, also after a few parameters have got other values. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "kernel/kernel_impl.h"
#include "problem/problem.h"

const char *const gt_fact_names[GT_FACT_COUNT] = {
#define FACT_NAME(name, value) #name,
    GT_FACT_MAP(FACT_NAME)
#undef FACT_NAME
#define DTYPE_NAME(name, text, bits) [GT_FACT_DTYPE + GT_##name] = #name,
        GT_DTYPE_MAP(DTYPE_NAME)
#undef DTYPE_NAME
};

void gt_facts_fill(const struct gt_problem *problem, const struct gt_device *device,
                   int64_t slots[GT_MAX_SLOTS])
{
#define FILL(name, value) slots[GT_FACT_##name] = value;
    GT_FACT_MAP(FILL)
#undef FILL
    for (int i = 0; i < GT_DTYPE_COUNT; i++)
        slots[GT_FACT_DTYPE + i] = i;
}

void gt_point_default(struct gt_point *point, const struct gt_kernel *kernel)
{
    memset(point, 0, sizeof(*point)); /* so that equal points have equal bytes */
    for (size_t i = 0; i < kernel->params; i++)
        point->value[i] = kernel->param[i].value[kernel->param[i].standard];
}

/* ---- parameters and derived values that expressions ask about ---- */

uint64_t gt_kernel_depends(const struct gt_kernel *kernel, const struct gt_expr *expr)
{
    size_t first_derived = kernel->first_param + kernel->params;
    uint64_t depends = 0;

    if (!expr)
        return 0;
    for (size_t i = 0; i < kernel->params; i++)
        if (gt_expr_uses(expr, kernel->first_param + i))
            depends |= (uint64_t)1 << i;
    for (size_t i = 0; i < kernel->deriveds; i++)
        if (gt_expr_uses(expr, first_derived + i))
            depends |= kernel->derived[i].depends;
    return depends;
}

uint64_t gt_kernel_deriveds(const struct gt_kernel *kernel, const struct gt_expr *expr)
{
    uint64_t deriveds = 0;

    for (size_t i = 0; i < kernel->deriveds; i++)
        if (gt_expr_uses(expr, kernel->first_param + kernel->params + i))
            deriveds |= (uint64_t)1 << i | kernel->derived[i].derived;
    return deriveds;
}

void gt_kernel_each_expr(const struct gt_kernel *kernel,
                         void (*each)(void *context, struct gt_expr *expr), void *context)
{
#define EACH(member, standard) each(context, of->member);
    for (const struct gt_launch *of = kernel->launch; of < kernel->launch + kernel->launches;
         of++) {
        for (int i = 0; i < 3; i++) {
            each(context, of->grid[i]);
            each(context, of->block[i]);
            each(context, of->cluster[i]);
        }
        GT_LAUNCH_EXPRS(EACH)
    }
    for (const struct gt_tensor_map *of = kernel->map; of < kernel->map + kernel->maps; of++) {
        for (int i = 0; i < GT_MAX_MAP_RANK; i++) {
            each(context, of->dims[i]);
            each(context, of->strides[i]);
            each(context, of->box[i]);
        }
        GT_MAP_EXPRS(EACH)
    }
#undef EACH
}

/* ---- slots and constraints ---- */

uint64_t gt_kernel_derive(const struct gt_kernel *kernel, uint64_t set, uint64_t undefined,
                          int64_t *slots, int *rc, struct gt_err *err)
{
    int64_t *value = slots + kernel->first_param + kernel->params;

    *rc = GT_OK;
    for (; set; set &= set - 1) {
        const size_t i = (size_t)__builtin_ctzll(set);
        const struct gt_derived *derived = &kernel->derived[i];
        int failed = GT_OK;

        value[i] = 0;
        if (!(derived->derived & undefined))
            failed = gt_expr_eval(derived->expr, slots, &value[i], *rc ? NULL : err);
        if (failed || derived->derived & undefined)
            undefined |= (uint64_t)1 << i;
        if (failed && !*rc)
            *rc = gt_err_prefix(err, failed, "kernel %s: derive[%zu] (%s)", kernel->name, i,
                                derived->name);
    }
    return undefined;
}

/* Fills the slots; returns the derived values that cannot be computed. */
static uint64_t fill_slots(const struct gt_candidate *candidate, int64_t slots[GT_MAX_SLOTS],
                           int *rc, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;

    gt_facts_fill(candidate->problem, candidate->device, slots);
    memcpy(slots + kernel->first_param, candidate->point.value, kernel->params * sizeof(*slots));
    return gt_kernel_derive(kernel,
                            kernel->deriveds ? ~0ull >> (GT_MAX_DERIVED - kernel->deriveds) : 0, 0,
                            slots, rc, err);
}

int gt_candidate_slots(const struct gt_candidate *candidate, int64_t slots[GT_MAX_SLOTS],
                       struct gt_err *err)
{
    int rc;

    fill_slots(candidate, slots, &rc, err);
    return rc;
}

int gt_constraint_holds(const struct gt_constraint *constraint, const int64_t *slots,
                        struct gt_err *err)
{
    int64_t value;
    const int rc = gt_expr_eval(constraint->expr, slots, &value, err);

    return rc ? rc : value != 0;
}

static int check(const struct gt_candidate *candidate, bool bets, int *failed, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS];
    int undefined_rc, holds;
    uint64_t undefined = fill_slots(candidate, slots, &undefined_rc, err);

    *failed = -1;
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];

        if (constraint->bet && !bets)
            continue;
        if (constraint->derived & undefined)
            return undefined_rc;
        holds = gt_constraint_holds(constraint, slots, undefined ? NULL : err);
        if (holds < 0)
            return undefined
                       ? holds
                       : gt_err_prefix(err, holds, "kernel %s: constraints[%zu]", kernel->name, i);
        if (!holds) {
            *failed = (int)i;
            return GT_OK;
        }
    }
    return undefined_rc;
}

/* If the point breaks the constraint, gives it the values of the constraint's `instead`.  false:
 * the constraint holds, or the point has these values already. */
static bool renew(struct gt_candidate *candidate, const struct gt_constraint *constraint)
{
    const struct gt_pattern *instead = constraint->instead;
    struct gt_point renewed = candidate->point;
    int64_t slots[GT_MAX_SLOTS];

    for (size_t i = 0; i < candidate->kernel->params; i++)
        if (instead->named >> i & 1)
            renewed.value[i] = instead->point.value[i];
    if (memcmp(&renewed, &candidate->point, sizeof(renewed)) == 0 ||
        gt_candidate_slots(candidate, slots, NULL) || gt_constraint_holds(constraint, slots, NULL))
        return false;
    candidate->point = renewed;
    return true;
}

static bool has_value(const struct gt_param *param, int64_t value)
{
    size_t i = 0;

    while (i < param->count && param->value[i] != value)
        i++;
    return i < param->count;
}

/* Gives the parameters that constraints fix the values of this problem. */
static bool follow(struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS], value;
    bool changed = false;

    gt_facts_fill(candidate->problem, candidate->device, slots);
    memcpy(slots + kernel->first_param, candidate->point.value, kernel->params * sizeof(*slots));
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];
        const size_t at = constraint->follower;

        if (!constraint->follows || gt_expr_eval(constraint->follows, slots, &value, NULL) ||
            value == candidate->point.value[at] || !has_value(&kernel->param[at], value))
            continue;
        candidate->point.value[at] = slots[kernel->first_param + at] = value;
        changed = true;
    }
    return changed;
}

bool gt_candidate_renew(struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    bool changed = follow(candidate);

    for (size_t i = 0; i < kernel->constraints; i++)
        if (kernel->constraint[i].instead)
            changed |= renew(candidate, &kernel->constraint[i]);
    return changed;
}

int gt_candidate_valid(const struct gt_candidate *candidate, int *failed, struct gt_err *err)
{
    return check(candidate, true, failed, err);
}

int gt_candidate_possible(const struct gt_candidate *candidate, int *failed, struct gt_err *err)
{
    return check(candidate, false, failed, err);
}

/* ---- changes ----
 *
 * A look-up asks thousands of times whether a neighbour of a valid candidate is valid, too.  Only
 * the expressions that ask for a changed value are computed. */

static void compare(struct gt_change *change, size_t slot)
{
    change->differ[slot / 64] |= (uint64_t)(change->now[slot] != change->before[slot]) << slot % 64;
}

void gt_change_begin(struct gt_change *change, const struct gt_candidate *candidate,
                     uint64_t changed, const int64_t before[GT_MAX_SLOTS],
                     int64_t now[GT_MAX_SLOTS])
{
    const struct gt_kernel *kernel = candidate->kernel;

    *change = (struct gt_change){.kernel = kernel, .before = before, .now = now};
    memcpy(now, before, kernel->names.count * sizeof(*now));
    for (uint64_t left = changed; left; left &= left - 1) {
        const size_t i = (size_t)__builtin_ctzll(left);

        now[kernel->first_param + i] = candidate->point.value[i];
        compare(change, kernel->first_param + i);
        change->stale |= kernel->param[i].derived;
    }
}

bool gt_change_derive(struct gt_change *change, uint64_t derived)
{
    const struct gt_kernel *kernel = change->kernel;
    const size_t first = kernel->first_param + kernel->params;

    derived &= change->stale;
    change->stale &= ~derived;
    for (; derived; derived &= derived - 1) {
        const size_t i = (size_t)__builtin_ctzll(derived);
        const struct gt_expr *expr = kernel->derived[i].expr;

        if (!gt_change_asked(change, expr))
            continue;
        if (gt_expr_eval(expr, change->now, &change->now[first + i], NULL))
            return false;
        compare(change, first + i);
    }
    return true;
}

bool gt_change_asked(const struct gt_change *change, const struct gt_expr *expr)
{
    return gt_expr_uses_any(expr, change->differ);
}

/* Whether a constraint that held before the change still holds.  False also if it cannot be
 * computed. */
static bool holds(struct gt_change *change, const struct gt_constraint *constraint)
{
    return gt_change_derive(change, constraint->derived) &&
           (!gt_change_asked(change, constraint->expr) ||
            gt_constraint_holds(constraint, change->now, NULL) > 0);
}

bool gt_candidate_still_valid(const struct gt_candidate *candidate, uint64_t changed,
                              const int64_t before[GT_MAX_SLOTS], int64_t now[GT_MAX_SLOTS],
                              size_t *likely)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_change change;

    gt_change_begin(&change, candidate, changed, before, now);
    if (*likely < kernel->constraints && !holds(&change, &kernel->constraint[*likely]))
        return false;
    for (size_t i = 0; i < kernel->constraints; i++)
        if (kernel->constraint[i].depends & changed && i != *likely &&
            !holds(&change, &kernel->constraint[i])) {
            *likely = i;
            return false;
        }
    return gt_change_derive(&change, change.stale);
}

bool gt_candidate_breaks(const struct gt_candidate *candidate, uint64_t changed,
                         const int64_t before[GT_MAX_SLOTS], int64_t now[GT_MAX_SLOTS],
                         uint64_t *broken)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_change change;

    gt_change_begin(&change, candidate, changed, before, now);
    *broken = changed;
    if (!gt_change_derive(&change, change.stale))
        return true;
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];
        int holds = 1;

        if (constraint->depends & changed && gt_change_asked(&change, constraint->expr))
            holds = gt_constraint_holds(constraint, now, NULL);
        if (!holds)
            *broken = constraint->depends;
        if (holds <= 0)
            return true;
    }
    *broken = 0;
    return false;
}

/* ---- points as text ---- */

void gt_param_format(struct gt_strbuf *buf, const struct gt_param *param, int64_t value)
{
    if (param->word)
        gt_strbuf_add(buf, param->word[value]);
    else
        gt_strbuf_addf(buf, "%lld", (long long)value);
}

bool gt_point_same(const struct gt_kernel *kernel, const struct gt_point *x,
                   const struct gt_point *y)
{
    return memcmp(x->value, y->value, kernel->params * sizeof(x->value[0])) == 0;
}

void gt_point_format(struct gt_strbuf *buf, const struct gt_kernel *kernel,
                     const struct gt_point *point)
{
    for (size_t i = 0; i < kernel->params; i++) {
        gt_strbuf_addf(buf, "%s%s=", i ? "," : "", kernel->param[i].name);
        gt_param_format(buf, &kernel->param[i], point->value[i]);
    }
}

static int unknown_parameter(const struct gt_kernel *kernel, const char *name, size_t length,
                             struct gt_err *err)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    const char *known[GT_MAX_PARAMS], *near;
    int rc;

    for (size_t i = 0; i < kernel->params; i++) {
        known[i] = kernel->param[i].name;
        gt_strbuf_addf(&list, " %s", known[i]);
    }
    near = gt_near(name, length, known, kernel->params);
    rc = gt_err_set(err, GT_ENOTFOUND,
                    "kernel %s has no parameter \"%.*s\"%s%s%s; its parameters are:%s",
                    kernel->name, (int)(length < 64 ? length : 64), name,
                    near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", list.text);
    gt_strbuf_release(&list);
    return rc;
}

static int unknown_value(const struct gt_kernel *kernel, const struct gt_param *param,
                         const char *text, size_t length, struct gt_err *err)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    int rc;

    for (size_t i = 0; i < param->count; i++) {
        gt_strbuf_add_char(&list, ' ');
        gt_param_format(&list, param, param->value[i]);
    }
    rc = gt_err_set(err, GT_ERANGE, "kernel %s: %s cannot be \"%.*s\"; its values are:%s",
                    kernel->name, param->name, (int)(length < 64 ? length : 64), text, list.text);
    gt_strbuf_release(&list);
    return rc;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strncmp(word, text, length) == 0 && !word[length];
}

/* INT64_MAX, which no parameter has: text[0..length) is no value. */
static int64_t parse_value(const struct gt_param *param, const char *text, size_t length)
{
    int64_t value = 0;
    char *end;

    if (!param->word) {
        value = strtoll(text, &end, 10);
        return length && end == text + length ? value : INT64_MAX;
    }
    while (param->word[value] && !is_word(param->word[value], text, length))
        value++;
    return param->word[value] ? value : INT64_MAX;
}

/* Parses one "NAME=value", which is text[0..length). */
static int parse_assignment(struct gt_point *point, const struct gt_kernel *kernel,
                            const char *text, size_t length, uint64_t *given, struct gt_err *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length, i = 0;
    const char *number;
    int64_t value;

    if (!equals)
        return gt_err_set(err, GT_ESYNTAX, "point: \"%.*s\" is not NAME=value",
                          (int)(length < 64 ? length : 64), text);
    while (i < kernel->params && !is_word(kernel->param[i].name, text, name))
        i++;
    if (i == kernel->params)
        return unknown_parameter(kernel, text, name, err);
    if (*given & (uint64_t)1 << i)
        return gt_err_set(err, GT_ESYNTAX, "point: %s is given twice", kernel->param[i].name);
    *given |= (uint64_t)1 << i;
    number = equals + 1;
    length -= (size_t)(number - text);
    value = parse_value(&kernel->param[i], number, length);
    for (size_t j = 0; j < kernel->param[i].count; j++)
        if (kernel->param[i].value[j] == value) {
            point->value[i] = value;
            return GT_OK;
        }
    return unknown_value(kernel, &kernel->param[i], number, length, err);
}

int gt_pattern_parse(struct gt_pattern *pattern, const struct gt_kernel *kernel, const char *text,
                     struct gt_err *err)
{
    int rc = GT_OK;

    pattern->named = 0;
    gt_point_default(&pattern->point, kernel);
    while (!rc && *text) {
        size_t length = strcspn(text, ",");

        rc = parse_assignment(&pattern->point, kernel, text, length, &pattern->named, err);
        text += length;
        if (!rc && *text && !*++text)
            rc = gt_err_set(err, GT_ESYNTAX, "point: it ends with a comma");
    }
    return rc;
}

int gt_point_parse(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                   struct gt_err *err)
{
    struct gt_pattern pattern;
    int rc = gt_pattern_parse(&pattern, kernel, text, err);

    *point = pattern.point;
    return rc;
}

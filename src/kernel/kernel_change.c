/* kernel_change.c - vocabulary: a candidate of which a few parameters got other values.
 *
 * A look-up asks thousands of times whether a neighbour of a valid candidate is valid, too.  Only
 * what asks for a value that is another one now is computed for that. */
#include "kernel/kernel.h"

#include <string.h>

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

/* Whether a constraint that held still does.  False also where it cannot be computed. */
static bool holds(struct gt_change *change, const struct gt_constraint *constraint)
{
    int64_t value;

    if (!gt_change_derive(change, constraint->derived))
        return false;
    return !gt_change_asked(change, constraint->expr) ||
           (gt_expr_eval(constraint->expr, change->now, &value, NULL) == GT_OK && value);
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
    int64_t value;

    gt_change_begin(&change, candidate, changed, before, now);
    *broken = changed;
    if (!gt_change_derive(&change, change.stale))
        return true;
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];

        if (!(constraint->depends & changed) || !gt_change_asked(&change, constraint->expr))
            continue;
        if (gt_expr_eval(constraint->expr, now, &value, NULL))
            return true;
        if (!value) {
            *broken = constraint->depends;
            return true;
        }
    }
    *broken = 0;
    return false;
}

/* cmd_try_point.c - whether the point of `tune try` is valid, and the nearest valid one if not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "lookup/lookup_impl.h"
#include "measure/cmd_try.h"

/* A kernel with fewer values and constraints than the one that it is a copy of. */
struct narrowed {
    struct gt_kernel kernel;
    struct gt_point held;
};

static void narrow(struct narrowed *to, const struct gt_candidate *from, uint64_t held, bool bets,
                   struct gt_constraint *constraint)
{
    to->kernel = *from->kernel;
    to->held = from->point;
    for (size_t i = 0; i < to->kernel.params; i++)
        if (held >> i & 1) {
            to->kernel.param[i].value = &to->held.value[i];
            to->kernel.param[i].count = 1;
            to->kernel.param[i].standard = 0;
        }
    to->kernel.constraint = constraint;
    to->kernel.constraints = 0;
    for (size_t i = 0; i < from->kernel->constraints; i++)
        if (bets || !from->kernel->constraint[i].bet)
            constraint[to->kernel.constraints++] = from->kernel->constraint[i];
}

/* Makes the candidate valid without a change of the parameters in `held`; false: that was not
 * found, and the candidate is as it was. */
static bool repair(struct gt_candidate *candidate, uint64_t held, bool bets)
{
    struct gt_constraint *constraint =
        calloc(candidate->kernel->constraints + 1, sizeof(*constraint));
    struct narrowed *narrowed = calloc(1, sizeof(*narrowed));
    struct gt_candidate copy = *candidate;
    struct gt_geometry geometry;
    bool found = false;

    if (narrowed && constraint) {
        narrow(narrowed, candidate, held, bets, constraint);
        copy.kernel = &narrowed->kernel;
        found = gt_lookup_repair(&copy, &geometry);
        if (!found) {
            copy.point = candidate->point;
            found = gt_lookup_walk(&copy, &geometry);
        }
    }
    for (size_t i = 0; i < candidate->kernel->params; i++)
        found &= !(held >> i & 1) || copy.point.value[i] == candidate->point.value[i];
    if (found)
        candidate->point = copy.point;
    free(constraint);
    free(narrowed);
    return found;
}

/* Writes the values of `now` that differ from those of `before`. */
static void list_changes(char text[GT_TRY_CHANGED_MAX], const struct gt_kernel *kernel,
                         const struct gt_point *before, const struct gt_point *now)
{
    size_t used = 0;

    for (size_t i = 0; i < kernel->params && used < GT_TRY_CHANGED_MAX; i++)
        if (before->value[i] != now->value[i])
            used += (size_t)snprintf(text + used, GT_TRY_CHANGED_MAX - used, "%s%s=%" PRId64,
                                     used ? "," : "", kernel->param[i].name, now->value[i]);
}

/* Takes the nearest valid point: what was named stays if it can. */
static bool take_nearest(struct gt_try *attempt, struct gt_candidate *candidate)
{
    const struct gt_point before = candidate->point;

    if (!repair(candidate, attempt->named, true) && !repair(candidate, attempt->named, false) &&
        (!attempt->named || !repair(candidate, 0, false)))
        return false;
    attempt->candidate.point = candidate->point;
    list_changes(attempt->changed, candidate->kernel, &before, &candidate->point);
    return true;
}

int gt_try_check_point(struct gt_try *attempt, struct gt_device device, struct gt_err *err)
{
    struct gt_candidate candidate = attempt->candidate;
    const struct gt_kernel *kernel = candidate.kernel;
    const struct gt_constraint *constraint = kernel->constraint;
    FILE *log = attempt->cli->quiet ? NULL : attempt->cli->log;
    int failed = -1, rc;

    candidate.device = &device;
    device.chained = attempt->on_cpu; /* there, points for chains alone are tried, too */
    rc = gt_candidate_possible(&candidate, &failed, err);
    if ((rc || failed >= 0) && take_nearest(attempt, &candidate)) {
        if (log && failed >= 0)
            fprintf(log, "the point is not valid on sm_%d: \"%s\" does not hold: %s\n", device.cc,
                    gt_expr_text(constraint[failed].expr), constraint[failed].why);
        if (log)
            fprintf(log, "the nearest valid point is tried, with %s\n", attempt->changed);
        rc = GT_OK;
    } else if (!rc && failed >= 0) {
        return gt_err_set(err, GT_ERANGE,
                          "the point is not valid on sm_%d: \"%s\" does not hold: %s", device.cc,
                          gt_expr_text(constraint[failed].expr), constraint[failed].why);
    }
    GT_STEP(rc, gt_candidate_valid(&candidate, &failed, err));
    if (!rc && failed >= 0 && log)
        fprintf(log, "a sweep on sm_%d leaves this point out: \"%s\" does not hold: %s\n",
                device.cc, gt_expr_text(constraint[failed].expr), constraint[failed].why);
    return rc;
}

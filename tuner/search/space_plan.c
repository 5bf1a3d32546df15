/* space_plan.c - the plan of a walk: in which order parameters are bound, and what can be settled
 * when each of them is, for space_walk.c. */
#include "search/space_walk.h"

#include "base/err.h"

#include <stdlib.h>

/* Whether an expression reads only derived values of `computed`. */
static bool computable(const struct gt_kernel *kernel, const struct gt_expr *expr,
                       const bool *computed)
{
    for (size_t i = 0; i < kernel->deriveds; i++)
        if (!computed[i] && gt_expr_uses(expr, kernel->first_param + kernel->params + i))
            return false;
    return true;
}

/* Sets the steps of each level: constraints as early as possible, a derived value only after the
 * constraints that guard it (BM % WARPS == 0 before xdiv(BM, WARPS)).  checked: zeros, one for each
 * constraint. */
static void plan_steps(struct gt_walk_plan *plan, const uint64_t *need, bool *checked)
{
    const struct gt_kernel *kernel = plan->kernel;
    bool computed[GT_MAX_DERIVED] = {false};
    uint64_t bound = 0;
    size_t steps = 0;

    for (size_t level = 0; level <= plan->depth; level++) {
        plan->first_step[level] = steps;
        if (level > 0)
            bound |= 1ull << plan->order[level - 1];
        for (size_t d = 0; d <= kernel->deriveds; d++) {
            for (size_t c = 0; c < kernel->constraints; c++) {
                if (checked[c] || (need[c] & ~bound) ||
                    !computable(kernel, kernel->constraint[c].expr, computed))
                    continue;
                checked[c] = true;
                plan->step[steps++] = (struct gt_walk_step){true, c};
            }
            if (d < kernel->deriveds && !computed[d] && !(kernel->derived[d].depends & ~bound)) {
                computed[d] = true;
                plan->step[steps++] = (struct gt_walk_step){false, d};
            }
        }
    }
    plan->first_step[plan->depth + 1] = steps;
}

int gt_walk_plan_init(struct gt_walk_plan *plan, const struct gt_kernel *kernel,
                      const int64_t *facts, struct gt_err *err)
{
    uint64_t *need = calloc(kernel->constraints + 1, sizeof(*need));
    bool *checked = calloc(kernel->constraints + 1, sizeof(*checked));
    int rc = GT_OK;

    *plan = (struct gt_walk_plan){.kernel = kernel};
    plan->step = calloc(kernel->constraints + kernel->deriveds + 1, sizeof(*plan->step));
    if (!need || !checked || !plan->step) {
        rc = gt_err_nomem(err);
    } else {
        for (size_t c = 0; c < kernel->constraints; c++)
            need[c] = gt_kernel_depends(kernel, kernel->constraint[c].expr);
        plan->depth = gt_space_order(kernel, facts, need, plan->order);
        plan_steps(plan, need, checked);
    }
    free(need);
    free(checked);
    return rc;
}

void gt_walk_plan_release(struct gt_walk_plan *plan)
{
    free(plan->step);
    *plan = (struct gt_walk_plan){.step = NULL};
}

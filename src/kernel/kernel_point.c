/* kernel_point.c - vocabulary: default points, and the constraints of a candidate. */
#include "kernel/kernel.h"

#include "base/err.h"
#include "kernel/kernel_impl.h"
#include "problem/problem.h"

#include <string.h>

const char *const gt_fact_names[GT_FACT_COUNT] = {
#define FACT_NAME(name, value) #name,
    GT_FACT_MAP(FACT_NAME)
#undef FACT_NAME
#define DTYPE_NAME(name, text, bytes) [GT_FACT_DTYPE + GT_##name] = #name,
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
    memset(point, 0, sizeof(*point)); /* unused places, too: equal points have equal bytes */
    for (size_t i = 0; i < kernel->params; i++)
        point->value[i] = kernel->param[i].value[kernel->param[i].standard];
}

/* Fills the slots.  Derived values that cannot be computed (a division by zero, say) are returned
 * as undefined: bit i for derived[i]; *rc and err describe the first one. */
static uint64_t fill_slots(const struct gt_candidate *candidate, int64_t slots[GT_MAX_SLOTS],
                           int *rc, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    size_t first = kernel->first_param + kernel->params;
    uint64_t undefined = 0;

    *rc = GT_OK;
    gt_facts_fill(candidate->problem, candidate->device, slots);
    memcpy(slots + kernel->first_param, candidate->point.value, kernel->params * sizeof(*slots));
    for (size_t i = 0; i < kernel->deriveds; i++) {
        const struct gt_expr *expr = kernel->derived[i].expr;
        int failed;

        slots[first + i] = 0;
        if (undefined && gt_kernel_uses_derived(kernel, expr, undefined)) {
            undefined |= (uint64_t)1 << i;
            continue;
        }
        failed = gt_expr_eval(expr, slots, &slots[first + i], *rc ? NULL : err);
        if (failed)
            undefined |= (uint64_t)1 << i;
        if (failed && !*rc)
            *rc = gt_err_prefix(err, failed, "kernel %s: derive[%zu] (%s)", kernel->name, i,
                                kernel->derived[i].name);
    }
    return undefined;
}

int gt_candidate_slots(const struct gt_candidate *candidate, int64_t slots[GT_MAX_SLOTS],
                       struct gt_err *err)
{
    int rc;

    fill_slots(candidate, slots, &rc, err);
    return rc;
}

static int check(const struct gt_candidate *candidate, bool bets, int *failed, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS], holds;
    int undefined_rc, rc;
    uint64_t undefined = fill_slots(candidate, slots, &undefined_rc, err);

    *failed = -1;
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_expr *expr = kernel->constraint[i].expr;

        if (kernel->constraint[i].bet && !bets)
            continue;
        if (undefined && gt_kernel_uses_derived(kernel, expr, undefined))
            return undefined_rc;
        rc = gt_expr_eval(expr, slots, &holds, undefined ? NULL : err);
        if (rc)
            return undefined
                       ? rc
                       : gt_err_prefix(err, rc, "kernel %s: constraints[%zu]", kernel->name, i);
        if (!holds) {
            *failed = (int)i;
            return GT_OK;
        }
    }
    return undefined_rc;
}

/* Gives a point that breaks the constraint the values of its `instead`; false: it has them, or the
 * constraint holds. */
static bool renew(struct gt_candidate *candidate, const struct gt_constraint *constraint)
{
    const struct gt_pattern *instead = constraint->instead;
    struct gt_point renewed = candidate->point;
    int64_t slots[GT_MAX_SLOTS], holds;

    for (size_t i = 0; i < candidate->kernel->params; i++)
        if (instead->named >> i & 1)
            renewed.value[i] = instead->point.value[i];
    if (memcmp(&renewed, &candidate->point, sizeof(renewed)) == 0 ||
        gt_candidate_slots(candidate, slots, NULL) ||
        gt_expr_eval(constraint->expr, slots, &holds, NULL) || holds)
        return false;
    candidate->point = renewed;
    return true;
}

bool gt_candidate_renew(struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    bool changed = false;

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

/* show_text.c - prints one candidate as text; see show_text.h. */
#include "commands/show_text.h"

#include "base/err.h"
#include "lookup/predict.h"
#include "problem/problem.h"

void gt_show_params(FILE *out, const struct gt_candidate *candidate, const int64_t *slots)
{
    const struct gt_kernel *kernel = candidate->kernel;

    fprintf(out, "\nparameters\n");
    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];

        fprintf(out, "  %-14s %8lld  %-7s %s {", param->name, (long long)candidate->point.value[i],
                param->launch ? "launch" : "compile", param->doc);
        for (size_t v = 0; v < param->count; v++)
            fprintf(out, "%s%lld", v ? " " : "", (long long)param->value[v]);
        fprintf(out, "}\n");
    }
    for (size_t i = 0; i < kernel->deriveds; i++)
        fprintf(out, "  %-14s %8lld  derived %s = %s\n", kernel->derived[i].name,
                (long long)slots[kernel->first_param + kernel->params + i],
                kernel->derived[i].doc ? kernel->derived[i].doc : "",
                gt_expr_text(kernel->derived[i].expr));
}

static bool has_bets(const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < kernel->constraints; i++)
        if (kernel->constraint[i].bet)
            return true;
    return false;
}

int gt_show_constraints(FILE *out, const struct gt_candidate *candidate, bool bets,
                        const int64_t *slots, int *broken, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;

    *broken = 0;
    if (!bets)
        fputs("\nconstraints: what must hold, or it is wrong or impossible\n", out);
    else if (has_bets(kernel))
        fputs("\nbets: what must hold, or it is thought slow (tune --no-bets tries it all the "
              "same)\n",
              out);
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];
        int64_t value;
        int rc;

        if (constraint->bet != bets)
            continue;
        rc = gt_expr_eval(constraint->expr, slots, &value, err);
        if (rc)
            return gt_err_prefix(err, rc, "kernel %s: constraints[%zu]", kernel->name, i);
        fprintf(out, "  %-4s %s: %s\n", value ? "ok" : "NOT", gt_expr_text(constraint->expr),
                constraint->why);
        *broken += !value;
    }
    return GT_OK;
}

void gt_show_geometry(FILE *out, const struct gt_geometry *geometry)
{
    fprintf(out, "\nlaunches\n");
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *launch = &geometry->launch[i];

        fprintf(out, "  %-8s grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic shared",
                launch->entry, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                launch->block[1], launch->block[2], launch->shared_bytes);
        if (launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1)
            fprintf(out, ", cluster %u x %u x %u", launch->cluster[0], launch->cluster[1],
                    launch->cluster[2]);
        if (launch->carveout >= 0)
            fprintf(out, ", carve-out %d %%", launch->carveout);
        if (launch->pdl)
            fputs(", beginning early", out);
        fputc('\n', out);
    }
    fprintf(out, "  workspace %zu bytes; results %s\n", geometry->workspace_bytes,
            geometry->deterministic ? "equal from launch to launch"
                                    : "may differ in the last bits (atomics)");
}

/* "200 x 100 x 1" */
static void show_sizes(FILE *out, const char *words, const uint64_t *size, int count)
{
    fputs(words, out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%llu", i ? " x " : "", (unsigned long long)size[i]);
}

void gt_show_maps(FILE *out, const struct gt_kernel *kernel, const struct gt_geometry *geometry)
{
    static const char *const operands[] = {"a", "b", "c", "d", "workspace"};

    if (geometry->maps)
        fprintf(out, "\ntensor maps\n");
    for (size_t i = 0; i < geometry->maps; i++) {
        const struct gt_map_geometry *map = &geometry->map[i];
        uint64_t box[GT_MAX_MAP_RANK];

        fprintf(out, "  %-8s ", kernel->map[i].name);
        if (!map->used) {
            fprintf(out, "not used\n");
            continue;
        }
        for (int j = 0; j < map->rank; j++)
            box[j] = map->box[j];
        fprintf(out, "%s of %s", gt_dtype_name(map->element), operands[map->operand]);
        if (map->offset)
            fprintf(out, " from byte %lld", (long long)map->offset);
        show_sizes(out, ": ", map->dims, map->rank);
        if (map->rank > 1)
            show_sizes(out, ", strides ", map->strides + 1, map->rank - 1);
        show_sizes(out, ", box ", box, map->rank);
        fprintf(out, ", swizzle %d, promotion %d\n", map->swizzle, map->promotion);
    }
}

/* Prints the time that a sweep without a GPU would rank the candidate by. */
static void show_estimate(FILE *out, const struct gt_candidate *candidate,
                          const struct gt_geometry *geometry, const struct gt_binary *binary)
{
    struct gt_geometry whole = *geometry;
    struct gt_prediction prediction;
    char statics[GT_STATIC_SHARED_MAX];

    gt_log_static_shared(binary->log, statics);
    for (size_t i = 0; i < whole.launches; i++)
        whole.launch[i].shared_bytes +=
            (unsigned)gt_static_shared_of(statics, whole.launch[i].entry);
    if (gt_predict_explain(candidate, &whole, binary->registers, binary->spill_bytes, &prediction,
                           NULL))
        return; /* no block fits an SM, as the line before says */
    fprintf(out, "\nmodel: %.2f us (%.2f TFLOP/s) PREDICTED, bound by %s, %.2f waves of blocks\n",
            prediction.us, gt_problem_flops(candidate->problem) / prediction.us * 1e-6,
            prediction.bound, prediction.waves);
}

void gt_show_binary(FILE *out, const struct gt_candidate *candidate,
                    const struct gt_geometry *geometry, const struct gt_binary *binary)
{
    const struct gt_launch_geometry *launch = &geometry->launch[0];
    int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    int blocks = gt_device_occupancy(candidate->device, binary->registers, threads,
                                     binary->static_shared + (int64_t)launch->shared_bytes);

    char reason[GT_SERIALIZED_MAX];

    fprintf(out, "  %d registers, %d bytes spilled, %d bytes of static shared, %zu bytes of code\n",
            binary->registers, binary->spill_bytes, binary->static_shared, binary->size);
    fprintf(out, "  %d blocks of %d threads fit an SM of %s\n", blocks, threads,
            candidate->device->name);
    if (gt_log_serialized(binary->log, reason))
        fprintf(out, "  wgmma serialized: %s\n", reason);
    show_estimate(out, candidate, geometry, binary);
}

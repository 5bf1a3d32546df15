/* cmd_show_json.c - one candidate at every stage as a JSON document; a writer of JSON exports. */
#include "commands/cmd_show_json.h"

#include <cjson/cJSON.h>

#include "base/err.h"
#include "problem/problem.h"
#include "base/strbuf.h"
#include "commands/cmd_stored_energy.h"
#include "console/cmd_json.h"
#include "console/options.h"

static void add_sizes(cJSON *json, const char *key, const uint64_t *size, int count)
{
    cJSON *list = cJSON_AddArrayToObject(json, key);

    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)size[i]));
}

static void add_triple(cJSON *json, const char *key, const unsigned size[3])
{
    const uint64_t wide[3] = {size[0], size[1], size[2]};

    add_sizes(json, key, wide, 3);
}

static void add_names(cJSON *root, const struct gt_shown *shown)
{
    const struct gt_kernel *kernel = shown->candidate->kernel;
    cJSON *params = cJSON_AddObjectToObject(root, "params");
    cJSON *derived = cJSON_AddObjectToObject(root, "derived");

    for (size_t i = 0; i < kernel->params; i++)
        cJSON_AddNumberToObject(params, kernel->param[i].name,
                                (double)shown->candidate->point.value[i]);
    for (size_t i = 0; i < kernel->deriveds; i++)
        cJSON_AddNumberToObject(derived, kernel->derived[i].name,
                                (double)shown->slots[kernel->first_param + kernel->params + i]);
}

static int add_constraints(cJSON *root, const struct gt_shown *shown, struct gt_err *err)
{
    const struct gt_kernel *kernel = shown->candidate->kernel;
    cJSON *list = cJSON_AddArrayToObject(root, "constraints");

    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];
        cJSON *item = cJSON_CreateObject();
        int64_t value = 0;
        int rc = gt_expr_eval(constraint->expr, shown->slots, &value, err);

        cJSON_AddItemToArray(list, item);
        if (rc)
            return gt_err_prefix(err, rc, "kernel %s: constraints[%zu]", kernel->name, i);
        cJSON_AddStringToObject(item, "if", gt_expr_text(constraint->expr));
        cJSON_AddStringToObject(item, "kind", constraint->bet ? "bet" : "must");
        cJSON_AddStringToObject(item, "why", constraint->why);
        cJSON_AddBoolToObject(item, "holds", value != 0);
    }
    return GT_OK;
}

static void add_launches(cJSON *root, const struct gt_geometry *geometry)
{
    cJSON *list = cJSON_AddArrayToObject(root, "launches");

    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *launch = &geometry->launch[i];
        cJSON *item = cJSON_CreateObject();

        cJSON_AddItemToArray(list, item);
        cJSON_AddStringToObject(item, "entry", launch->entry);
        add_triple(item, "grid", launch->grid);
        add_triple(item, "block", launch->block);
        add_triple(item, "cluster", launch->cluster);
        cJSON_AddNumberToObject(item, "shared_bytes", launch->shared_bytes);
        cJSON_AddNumberToObject(item, "carveout", launch->carveout);
        cJSON_AddBoolToObject(item, "pdl", launch->pdl);
        cJSON_AddBoolToObject(item, "maps", launch->maps);
    }
    cJSON_AddNumberToObject(root, "workspace_bytes", (double)geometry->workspace_bytes);
    cJSON_AddBoolToObject(root, "deterministic", geometry->deterministic);
}

static void add_maps(cJSON *root, const struct gt_kernel *kernel,
                     const struct gt_geometry *geometry)
{
    static const char *const operands[] = {"a", "b", "c", "d", "workspace"};
    cJSON *list = geometry->maps ? cJSON_AddArrayToObject(root, "tensor_maps") : NULL;

    for (size_t i = 0; i < geometry->maps; i++) {
        const struct gt_map_geometry *map = &geometry->map[i];
        uint64_t box[GT_MAX_MAP_RANK];
        cJSON *item = cJSON_CreateObject();

        cJSON_AddItemToArray(list, item);
        cJSON_AddStringToObject(item, "name", kernel->map[i].name);
        cJSON_AddBoolToObject(item, "used", map->used);
        if (!map->used)
            continue;
        for (int j = 0; j < map->rank; j++)
            box[j] = map->box[j];
        cJSON_AddStringToObject(item, "operand", operands[map->operand]);
        cJSON_AddStringToObject(item, "element", gt_dtype_name(map->element));
        cJSON_AddNumberToObject(item, "offset", (double)map->offset);
        add_sizes(item, "dims", map->dims, map->rank);
        add_sizes(item, "strides", map->strides + 1, map->rank - 1);
        add_sizes(item, "box", box, map->rank);
        cJSON_AddNumberToObject(item, "swizzle", map->swizzle);
        cJSON_AddNumberToObject(item, "promotion", map->promotion);
    }
}

static void add_binary(cJSON *root, const struct gt_shown *shown)
{
    const struct gt_binary *binary = shown->binary;
    cJSON *json = cJSON_AddObjectToObject(root, "compiled");
    char serialized[GT_SERIALIZED_MAX];

    cJSON_AddNumberToObject(json, "nvrtc", shown->nvrtc_version);
    cJSON_AddNumberToObject(json, "arch", shown->geometry->code_arch);
    cJSON_AddNumberToObject(json, "registers", binary->registers);
    cJSON_AddNumberToObject(json, "spill_bytes", binary->spill_bytes);
    cJSON_AddNumberToObject(json, "static_shared", binary->static_shared);
    cJSON_AddNumberToObject(json, "bytes", (double)binary->size);
    cJSON_AddNumberToObject(json, "ms", binary->ms);
    if (gt_log_serialized(binary->log, serialized))
        cJSON_AddStringToObject(json, "serialized", serialized);
    cJSON_AddStringToObject(json, "log", binary->log);
}

int gt_show_json(const struct gt_cli *cli, const struct gt_shown *shown, struct gt_err *err)
{
    const struct gt_candidate *candidate = shown->candidate;
    struct gt_strbuf point = GT_STRBUF_INIT;
    char problem[GT_PROBLEM_TEXT_MAX];
    cJSON *root = cJSON_CreateObject();
    int rc;

    gt_problem_format(candidate->problem, problem);
    gt_point_format(&point, candidate->kernel, &candidate->point);
    cJSON_AddStringToObject(root, "format", "gemmtune candidate 1");
    cJSON_AddStringToObject(root, "kernel", candidate->kernel->name);
    cJSON_AddStringToObject(root, "doc", candidate->kernel->doc);
    cJSON_AddStringToObject(root, "point", point.text);
    cJSON_AddStringToObject(root, "problem", problem);
    cJSON_AddStringToObject(root, "device", candidate->device->name);
    add_names(root, shown);
    if (shown->energies)
        gt_stored_energies_list(shown->energies, shown->one_point ? &candidate->point : NULL, root);
    rc = add_constraints(root, shown, err);
    if (shown->geometry) {
        add_launches(root, shown->geometry);
        add_maps(root, candidate->kernel, shown->geometry);
    }
    if (shown->binary)
        add_binary(root, shown);
    if (shown->source)
        cJSON_AddStringToObject(root, "source", shown->source);
    gt_strbuf_release(&point);
    if (!rc)
        return gt_cmd_print_json(cli, root, err);
    cJSON_Delete(root);
    return rc;
}

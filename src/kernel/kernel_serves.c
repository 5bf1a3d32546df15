/* kernel_serves.c - vocabulary: the object "serves" of a kernel description. */
#include "kernel/kernel_reader.h"

#include "base/err.h"
#include "problem/problem.h"

#include <string.h>

/* A list of names under `key`, each turned into a bit by `parse`; `known` is for the sentence. */
static int read_bits(struct gt_reader *r, unsigned *bits, const cJSON *object, const char *key,
                     enum gt_presence presence, const char *known,
                     bool (*parse)(unsigned *bit, const char *text, size_t length))
{
    const cJSON *list, *item;
    int rc = gt_json_get(&list, object, r->where, key, cJSON_Array, presence, r->err);
    unsigned bit;

    if (rc || !list)
        return rc;
    *bits = 0;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";

        if (!parse(&bit, text, strlen(text)))
            return gt_err_set(r->err, GT_ECONFIG,
                              "%s: \"%s\" lists \"%.32s\"; it must be one of: %s", r->where, key,
                              text, known);
        if (*bits & 1u << bit)
            return gt_err_set(r->err, GT_ECONFIG, "%s: \"%s\" lists \"%.32s\" twice", r->where, key,
                              text);
        *bits |= 1u << bit;
    }
    if (!*bits)
        return gt_err_set(r->err, GT_ECONFIG, "%s: \"%s\" is empty; it must list some of: %s",
                          r->where, key, known);
    return GT_OK;
}

static bool parse_type(unsigned *bit, const char *text, size_t length)
{
    enum gt_dtype type;

    if (!gt_dtype_parse(&type, text, length))
        return false;
    *bit = type;
    return true;
}

static int read_archs(struct gt_reader *r, const cJSON *object)
{
    int64_t least = 0, most = 9999;
    int rc = gt_json_integer(&least, object, r->where, "min_cc", 75, 9999, GT_REQUIRED, r->err);

    if (!rc)
        rc = gt_json_integer(&most, object, r->where, "max_cc", 75, 9999, GT_OPTIONAL, r->err);
    if (!rc && most < least)
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: max_cc %lld is below min_cc %lld", r->where,
                        (long long)most, (long long)least);
    r->kernel->min_cc = (int)least;
    r->kernel->max_cc = (int)most;
    return rc;
}

/* "type_cc": for some types a greater least compute capability. */
static int read_type_archs(struct gt_reader *r, const cJSON *object)
{
    const cJSON *archs, *item;
    int rc = gt_json_get(&archs, object, r->where, "type_cc", cJSON_Object, GT_OPTIONAL, r->err);

    if (rc || !archs)
        return rc;
    cJSON_ArrayForEach(item, archs)
    {
        unsigned type;
        int64_t least = 0;

        if (!parse_type(&type, item->string, strlen(item->string)) ||
            !(r->kernel->types >> type & 1))
            return gt_err_set(r->err, GT_ECONFIG,
                              "%s: \"type_cc\" has \"%.32s\", which \"types\" does not list",
                              r->where, item->string);
        rc = gt_json_integer(&least, archs, r->where, item->string, r->kernel->min_cc, 9999,
                             GT_REQUIRED, r->err);
        if (rc)
            return rc;
        r->kernel->type_cc[type] = (int)least;
    }
    return GT_OK;
}

int gt_reader_serves(struct gt_reader *r)
{
    static const char *const allowed[] = {"types",  "out",     "layouts",  "min_cc",
                                          "max_cc", "type_cc", "accuracy", "epilogues",
                                          "batch",  "max_m",   NULL};
    static const char types[] = "f32 tf32 f16 bf16 e4m3 e5m2 s8 s32";
    struct gt_kernel *kernel = r->kernel;
    const char *accuracy = "";
    const cJSON *serves;
    int rc;

    rc = gt_json_get(&serves, r->root, kernel->path, "serves", cJSON_Object, GT_REQUIRED, r->err);
    if (rc)
        return rc;
    gt_reader_at(r, "serves");
    kernel->epilogues = 1u << GT_EPILOGUE_NONE;
    rc = gt_json_keys(serves, r->where, allowed, r->err);
    if (!rc)
        rc = read_bits(r, &kernel->types, serves, "types", GT_REQUIRED, types, parse_type);
    if (!rc)
        rc = read_bits(r, &kernel->outs, serves, "out", GT_REQUIRED, types, parse_type);
    if (!rc)
        rc = read_bits(r, &kernel->layouts, serves, "layouts", GT_REQUIRED, "nn nt tn tt",
                       gt_layout_parse);
    if (!rc)
        rc = read_bits(r, &kernel->epilogues, serves, "epilogues", GT_OPTIONAL,
                       "none bias relu gelu bias+relu bias+gelu", gt_epilogue_parse);
    if (!rc)
        rc = read_archs(r, serves);
    if (!rc)
        rc = read_type_archs(r, serves);
    kernel->max_m = GT_MAX_EXTENT;
    if (!rc)
        rc = gt_json_integer(&kernel->max_m, serves, r->where, "max_m", 1, GT_MAX_EXTENT,
                             GT_OPTIONAL, r->err);
    if (!rc)
        rc = gt_json_bool(&kernel->batched, serves, r->where, "batch", GT_OPTIONAL, r->err);
    if (!rc)
        rc = gt_json_string(&accuracy, serves, r->where, "accuracy", GT_REQUIRED, r->err);
    if (!rc && !gt_accuracy_parse(&kernel->accuracy, accuracy, strlen(accuracy)))
        rc = gt_err_set(r->err, GT_ECONFIG,
                        "%s: \"accuracy\" is \"%.32s\"; it must be strict, f32, tf32 or low",
                        r->where, accuracy);
    return rc;
}

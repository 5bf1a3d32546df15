/* kernel_json.c - vocabulary: the one reader of kernel descriptions (configs/kernels/NAME.json).
 *
 * Every key is listed here once, with its range; configs/README.md explains them. */
#include "kernel/kernel_impl.h"

#include "base/err.h"
#include "kernel/kernel_reader.h"
#include "templates/common/args.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME        31  /* characters of a parameter or derived name */
#define MAX_VALUES      256 /* of a parameter: points are kept as one byte each */
#define MAX_CONSTRAINTS 256
#define MAX_REPORTED    64
#define MAX_SEEDS       64

/* Adds a name that expressions may use from now on. */
static int add_name(struct gt_reader *r, const char *name)
{
    static const char *const reserved[] = {"cdiv", "min", "max", "pow2", "xdiv", "args"};
    struct gt_names *names = &r->kernel->names;
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++)
        if (!(isalpha((unsigned char)name[i]) || name[i] == '_' ||
              (i && isdigit((unsigned char)name[i]))))
            return gt_err_set(r->err, GT_ECONFIG,
                              "%s: name \"%.64s\" must consist of letters, digits and _", r->where,
                              name);
    if (length > MAX_NAME)
        return gt_err_set(r->err, GT_ECONFIG, "%s: name \"%.64s\" is longer than %d characters",
                          r->where, name, MAX_NAME);
    if (!strncmp(name, "GT_", 3) || !strncmp(name, "gt_", 3) || !strncmp(name, "__", 2))
        return gt_err_set(r->err, GT_ECONFIG,
                          "%s: name \"%s\" begins with GT_, gt_ or __, which are reserved",
                          r->where, name);
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (!strcmp(reserved[i], name))
            return gt_err_set(r->err, GT_ECONFIG, "%s: name \"%s\" is reserved", r->where, name);
    if (gt_names_find(names, name, length) >= 0)
        return gt_err_set(r->err, GT_ECONFIG, "%s: name \"%s\" is taken by %s", r->where, name,
                          gt_names_find(names, name, length) < GT_FACT_COUNT
                              ? "a fact of the problem or the device"
                              : "an earlier parameter or derived value");
    names->name[names->count++] = name;
    return GT_OK;
}

static int read_values(struct gt_reader *r, struct gt_param *param, const cJSON *object)
{
    const cJSON *list, *item;
    int64_t standard = 0;
    int rc = gt_json_get(&list, object, r->where, "values", cJSON_Array, GT_REQUIRED, r->err);
    int count = rc ? 0 : cJSON_GetArraySize(list);

    if (!rc && (count < 1 || count > MAX_VALUES))
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: \"values\" %s; it must list 1 to %d numbers",
                        r->where, count ? "is too long" : "is empty", MAX_VALUES);
    if (rc)
        return rc;
    param->value = malloc((size_t)count * sizeof(*param->value));
    if (!param->value)
        return gt_err_nomem(r->err);
    cJSON_ArrayForEach(item, list)
    {
        int64_t *value = &param->value[param->count];

        if (!gt_json_whole(item, INT32_MIN, INT32_MAX, value))
            return gt_err_set(r->err, GT_ECONFIG,
                              "%s: values[%zu] must be a whole number of 32 bits", r->where,
                              param->count);
        for (size_t i = 0; i < param->count; i++)
            if (param->value[i] == *value)
                return gt_err_set(r->err, GT_ECONFIG, "%s: value %lld is listed twice", r->where,
                                  (long long)*value);
        param->count++;
    }
    rc = gt_json_integer(&standard, object, r->where, "default", INT32_MIN, INT32_MAX, GT_REQUIRED,
                         r->err);
    if (rc)
        return rc;
    while (param->standard < param->count && param->value[param->standard] != standard)
        param->standard++;
    if (param->standard == param->count)
        return gt_err_set(r->err, GT_ECONFIG, "%s: \"default\" %lld is not among the values",
                          r->where, (long long)standard);
    return GT_OK;
}

static int read_param(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char *const allowed[] = {"name", "values", "default", "kind", "doc", NULL};
    struct gt_param *param = &r->kernel->param[index];
    const char *kind = "compile";
    int rc;

    gt_reader_at(r, "params[%zu]", index);
    if (!cJSON_IsObject(object))
        return gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    r->kernel->params++;
    rc = gt_reader_string(r, &param->name, object, "name", GT_REQUIRED);
    if (rc)
        return rc;
    gt_reader_at(r, "params[%zu] (%.32s)", index, param->name);
    rc = gt_json_keys(object, r->where, allowed, r->err);
    if (!rc)
        rc = add_name(r, param->name);
    if (!rc)
        rc = gt_reader_string(r, &param->doc, object, "doc", GT_REQUIRED);
    if (!rc)
        rc = gt_json_string(&kind, object, r->where, "kind", GT_OPTIONAL, r->err);
    if (!rc && strcmp(kind, "compile") && strcmp(kind, "launch"))
        rc = gt_err_set(r->err, GT_ECONFIG,
                        "%s: \"kind\" is \"%.32s\"; it must be compile or launch", r->where, kind);
    param->launch = !rc && !strcmp(kind, "launch");
    return rc ? rc : read_values(r, param, object);
}

static int read_derived(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char *const allowed[] = {"name", "value", "doc", NULL};
    struct gt_derived *derived = &r->kernel->derived[index];
    int rc;

    gt_reader_at(r, "derive[%zu]", index);
    if (!cJSON_IsObject(object))
        return gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    r->kernel->deriveds++;
    rc = gt_json_keys(object, r->where, allowed, r->err);
    if (!rc)
        rc = gt_reader_string(r, &derived->name, object, "name", GT_REQUIRED);
    if (!rc)
        rc = gt_reader_string(r, &derived->doc, object, "doc", GT_OPTIONAL);
    if (!rc && !cJSON_GetObjectItemCaseSensitive(object, "value"))
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: key \"value\" is missing", r->where);
    if (!rc) /* before the name is known: a value cannot use itself */
        rc = gt_reader_expr(r, &derived->expr, object, "value", NULL);
    if (!rc)
        derived->depends = gt_kernel_depends(r->kernel, derived->expr);
    return rc ? rc : add_name(r, derived->name);
}

static int read_constraint(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char *const allowed[] = {"if", "kind", "why", NULL};
    const char *kind = "must";
    struct gt_constraint *constraint = &r->kernel->constraint[index];
    int rc;

    gt_reader_at(r, "constraints[%zu]", index);
    if (!cJSON_IsObject(object))
        return gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    r->kernel->constraints++;
    rc = gt_json_keys(object, r->where, allowed, r->err);
    if (!rc)
        rc = gt_reader_string(r, &constraint->why, object, "why", GT_REQUIRED);
    if (!rc)
        rc = gt_json_string(&kind, object, r->where, "kind", GT_OPTIONAL, r->err);
    if (!rc && strcmp(kind, "must") && strcmp(kind, "bet"))
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: \"kind\" is \"%.32s\"; it must be must or bet",
                        r->where, kind);
    constraint->bet = !rc && !strcmp(kind, "bet");
    if (!rc && !cJSON_GetObjectItemCaseSensitive(object, "if"))
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: key \"if\" is missing", r->where);
    return rc ? rc : gt_reader_expr(r, &constraint->expr, object, "if", NULL);
}

static int read_launch(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char *const allowed[] = {"entry",   "when",     "grid", "block", "shared",
                                          "cluster", "carveout", "pdl",  "maps",  NULL};
    struct gt_launch *launch = &r->kernel->launch[index];
    int rc;

    gt_reader_at(r, "launches[%zu]", index);
    if (!cJSON_IsObject(object))
        return gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    r->kernel->launches++;
    rc = gt_json_keys(object, r->where, allowed, r->err);
    if (!rc)
        rc = gt_reader_string(r, &launch->entry, object, "entry", GT_REQUIRED);
    if (!rc)
        rc = gt_reader_triple(r, launch->grid, object, "grid", GT_REQUIRED);
    if (!rc)
        rc = gt_reader_triple(r, launch->block, object, "block", GT_REQUIRED);
    if (!rc)
        rc = gt_reader_triple(r, launch->cluster, object, "cluster", GT_OPTIONAL);
    if (!rc)
        rc = gt_reader_expr(r, &launch->when, object, "when", "1");
    if (!rc)
        rc = gt_reader_expr(r, &launch->shared, object, "shared", "0");
    if (!rc)
        rc = gt_reader_expr(r, &launch->carveout, object, "carveout", "-1");
    if (!rc)
        rc = gt_reader_expr(r, &launch->pdl, object, "pdl", "0");
    return rc ? rc : gt_json_bool(&launch->maps, object, r->where, "maps", GT_OPTIONAL, r->err);
}

static int read_reported(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char *const allowed[] = {"source", "tflops", "share", NULL};
    struct gt_reported *reported = &r->kernel->reported[index];
    int rc;

    gt_reader_at(r, "reported[%zu]", index);
    if (!cJSON_IsObject(object))
        return gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    r->kernel->reported_count++;
    rc = gt_json_keys(object, r->where, allowed, r->err);
    if (!rc)
        rc = gt_reader_string(r, &reported->source, object, "source", GT_REQUIRED);
    if (!rc)
        rc = gt_json_real(&reported->tflops, object, r->where, "tflops", 0, 1e6, GT_OPTIONAL,
                          r->err);
    return rc ? rc
              : gt_json_real(&reported->share, object, r->where, "share", 0, 100, GT_OPTIONAL,
                             r->err);
}

static int read_seed(struct gt_reader *r, const cJSON *item, size_t index)
{
    int rc;

    gt_reader_at(r, "seeds[%zu]", index);
    if (!cJSON_IsString(item))
        return gt_err_set(r->err, GT_ECONFIG, "%s must be a text like \"BM=128,BN=64\"", r->where);
    rc = gt_pattern_parse(&r->kernel->seed[index], r->kernel, item->valuestring, r->err);
    if (rc)
        return gt_err_prefix(r->err, GT_ECONFIG, "%s", r->where);
    r->kernel->seeds++;
    return GT_OK;
}

/* ---- the rest of the top object ---- */

static int read_model(struct gt_reader *r)
{
    static const char *const allowed[] = {
        "block_m",   "block_n",   "block_k",      "splits",        "stages", "registers",
        "fma",       "issue",     "group",        "shared_words",  "mma",    "mma_type",
        "cluster_m", "cluster_n", "prepare_read", "prepare_write", "even",   NULL};
    struct gt_model *model = &r->kernel->model;
    const struct {
        const char *key;
        struct gt_expr **expr;
    } entries[] = {
        {"block_m", &model->block_m},
        {"block_n", &model->block_n},
        {"block_k", &model->block_k},
        {"splits", &model->splits},
        {"stages", &model->stages},
        {"registers", &model->registers},
        {"fma", &model->fma},
        {"issue", &model->issue},
        {"group", &model->group},
        {"shared_words", &model->shared_words},
        {"mma", &model->mma},
        {"mma_type", &model->mma_type},
        {"cluster_m", &model->cluster_m},
        {"cluster_n", &model->cluster_n},
        {"prepare_read", &model->prepare_read},
        {"prepare_write", &model->prepare_write},
        {"even", &model->even},
    };
    const cJSON *object;
    int rc;

    rc = gt_json_get(&object, r->root, r->kernel->path, "model", cJSON_Object, GT_OPTIONAL, r->err);
    if (rc || !object)
        return rc;
    gt_reader_at(r, "model");
    rc = gt_json_keys(object, r->where, allowed, r->err);
    for (size_t i = 0; !rc && i < sizeof(entries) / sizeof(*entries); i++)
        rc = gt_reader_expr(r, entries[i].expr, object, entries[i].key, NULL);
    return rc;
}

static int read_compile(struct gt_reader *r)
{
    static const char *const allowed[] = {"max_registers", "code_arch", "arch_features", "code_ptx",
                                          NULL};
    struct gt_kernel *kernel = r->kernel;
    const cJSON *object;
    int rc;

    rc = gt_json_get(&object, r->root, kernel->path, "compile", cJSON_Object, GT_OPTIONAL, r->err);
    if (rc)
        return rc;
    gt_reader_at(r, "compile");
    if (object)
        rc = gt_json_keys(object, r->where, allowed, r->err);
    if (!rc)
        rc = gt_reader_expr(r, &kernel->max_registers, object, "max_registers", "0");
    if (!rc)
        rc = gt_reader_expr(r, &kernel->code_arch, object, "code_arch", "CC");
    if (!rc)
        rc = gt_reader_expr(r, &kernel->arch_features, object, "arch_features", "0");
    if (!rc)
        rc = gt_reader_expr(r, &kernel->code_ptx, object, "code_ptx", "0");
    return rc;
}

static int read_role(struct gt_reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    const char *role = "";
    int64_t rung = 0;
    int rc = gt_json_string(&role, r->root, kernel->path, "role", GT_REQUIRED, r->err);

    if (!rc && strcmp(role, "production") && strcmp(role, "ladder"))
        rc = gt_err_set(r->err, GT_ECONFIG,
                        "%s: \"role\" is \"%.32s\"; it must be production or ladder", kernel->path,
                        role);
    kernel->production = !rc && !strcmp(role, "production");
    if (!rc)
        rc = gt_json_integer(&rung, r->root, kernel->path, "rung", 1, 99,
                             kernel->production ? GT_OPTIONAL : GT_REQUIRED, r->err);
    if (!rc && kernel->production && rung)
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: \"rung\" is for kernels of the ladder only",
                        kernel->path);
    kernel->rung = (int)rung;
    return rc;
}

/* Name, document, template: strings of the top object. */
static int read_identity(struct gt_reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    const char *base = strrchr(kernel->path, '/');
    size_t length;
    int rc;

    snprintf(r->where, sizeof(r->where), "%s", kernel->path);
    base = base ? base + 1 : kernel->path;
    rc = gt_reader_string(r, &kernel->name, r->root, "kernel", GT_REQUIRED);
    if (rc)
        return rc;
    length = strlen(kernel->name);
    if (strspn(kernel->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") <
            length ||
        length > 63)
        return gt_err_set(r->err, GT_ECONFIG,
                          "%s: \"kernel\" is \"%.64s\"; a name has up to 63 letters, digits and _",
                          kernel->path, kernel->name);
    if (strncmp(base, kernel->name, length) || strcmp(base + length, ".json"))
        return gt_err_set(r->err, GT_ECONFIG,
                          "%s: \"kernel\" is \"%s\"; it must be the file's name", kernel->path,
                          kernel->name);
    rc = gt_reader_string(r, &kernel->doc, r->root, "doc", GT_REQUIRED);
    if (!rc)
        rc = gt_reader_string(r, &kernel->template_path, r->root, "template", GT_REQUIRED);
    if (!rc && (*kernel->template_path == '/' || strstr(kernel->template_path, "..") ||
                strpbrk(kernel->template_path, "\"\\\n")))
        rc = gt_err_set(r->err, GT_ECONFIG,
                        "%s: \"template\" is \"%.100s\"; it must be a path inside the data folder "
                        "or the description's own folder",
                        kernel->path, kernel->template_path);
    return rc;
}

/* Parameters and derived values, in order: later expressions see earlier names. */
static int read_names(struct gt_reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    size_t launch_params = 0;
    int rc;

    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        kernel->names.name[i] = gt_fact_names[i];
    kernel->names.count = kernel->first_param = GT_FACT_COUNT;
    rc = gt_reader_list(r, "params", GT_MAX_PARAMS, GT_REQUIRED, read_param);
    for (size_t i = 0; i < kernel->params; i++)
        launch_params += kernel->param[i].launch;
    if (!rc && launch_params > GT_MAX_LAUNCH_PARAMS)
        rc = gt_err_set(r->err, GT_ECONFIG,
                        "%s: %zu parameters of kind launch; gt_args has room for %d", kernel->path,
                        launch_params, GT_MAX_LAUNCH_PARAMS);
    return rc ? rc : gt_reader_list(r, "derive", GT_MAX_DERIVED, GT_OPTIONAL, read_derived);
}

/* Room for the items of a list of the top object; an absent or foreign one needs none. */
static int allocate_list(struct gt_reader *r, void *list, const char *key, size_t item_bytes)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(r->root, key);
    int count = array ? cJSON_GetArraySize(array) : 0;
    void *memory = calloc(count ? (size_t)count : 1, item_bytes);

    memcpy(list, &memory, sizeof(memory));
    return memory ? GT_OK : gt_err_nomem(r->err);
}

static int read_top(struct gt_reader *r)
{
    static const char *const allowed[] = {
        "kernel",        "doc",     "template", "role",        "rung",        "reported",
        "serves",        "params",  "derive",   "constraints", "launches",    "workspace",
        "deterministic", "compile", "model",    "seeds",       "tensor_maps", NULL};
    struct gt_kernel *kernel = r->kernel;
    int rc;

    rc = gt_json_keys(r->root, kernel->path, allowed, r->err);
    if (!rc)
        rc = read_identity(r);
    if (!rc)
        rc = read_role(r);
    if (!rc)
        rc = gt_reader_serves(r);
    if (!rc)
        rc = read_names(r);
    if (!rc)
        rc = allocate_list(r, &kernel->constraint, "constraints", sizeof(*kernel->constraint));
    if (!rc)
        rc = gt_reader_list(r, "constraints", MAX_CONSTRAINTS, GT_OPTIONAL, read_constraint);
    if (!rc)
        rc = gt_reader_list(r, "launches", GT_MAX_LAUNCHES, GT_REQUIRED, read_launch);
    if (!rc && !kernel->launches)
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: \"launches\" is empty", kernel->path);
    if (!rc)
        rc = gt_reader_maps(r);
    if (!rc)
        rc = allocate_list(r, &kernel->reported, "reported", sizeof(*kernel->reported));
    if (!rc)
        rc = gt_reader_list(r, "reported", MAX_REPORTED, GT_OPTIONAL, read_reported);
    if (!rc)
        rc = allocate_list(r, &kernel->seed, "seeds", sizeof(*kernel->seed));
    if (!rc)
        rc = gt_reader_list(r, "seeds", MAX_SEEDS, GT_OPTIONAL, read_seed);
    snprintf(r->where, sizeof(r->where), "%s", kernel->path);
    if (!rc)
        rc = gt_reader_expr(r, &kernel->workspace, r->root, "workspace", "0");
    if (!rc)
        rc = gt_reader_expr(r, &kernel->deterministic, r->root, "deterministic", "1");
    if (!rc)
        rc = read_compile(r);
    return rc ? rc : read_model(r);
}

int gt_kernel_read_description(struct gt_kernel *kernel, const char *text, size_t length,
                               struct gt_err *err)
{
    struct gt_reader reader = {.kernel = kernel, .err = err};
    cJSON *root;
    int rc = gt_json_parse(&root, kernel->path, text, length, err);

    reader.root = root;
    if (!rc)
        rc = read_top(&reader);
    cJSON_Delete(root);
    return rc;
}

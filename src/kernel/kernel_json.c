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

/* Adds a name that later expressions may use. */
static void add_name(struct gt_reader *r, const char *name)
{
    static const char *const reserved[] = {"cdiv", "min", "max", "pow2", "xdiv", "args"};
    struct gt_names *names = &r->kernel->names;
    size_t length = r->rc ? 0 : strlen(name);
    int taken;

    for (size_t i = 0; i < length; i++)
        if (!(isalpha((unsigned char)name[i]) || name[i] == '_' ||
              (i && isdigit((unsigned char)name[i]))))
            gt_reader_fail(r, "name \"%.64s\" must consist of letters, digits and _", name);
    if (r->rc)
        return;
    if (length > MAX_NAME)
        gt_reader_fail(r, "name \"%.64s\" is longer than %d characters", name, MAX_NAME);
    if (!strncmp(name, "GT_", 3) || !strncmp(name, "gt_", 3) || !strncmp(name, "__", 2))
        gt_reader_fail(r, "name \"%s\" begins with GT_, gt_ or __, which are reserved", name);
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (!strcmp(reserved[i], name))
            gt_reader_fail(r, "name \"%s\" is reserved", name);
    taken = gt_names_find(names, name, length);
    if (taken >= 0)
        gt_reader_fail(r, "name \"%s\" is taken by %s", name,
                       taken < GT_FACT_COUNT ? "a fact of the problem or the device"
                                             : "an earlier parameter or derived value");
    if (!r->rc)
        names->name[names->count++] = name;
}

static void read_values(struct gt_reader *r, struct gt_param *param, const cJSON *object)
{
    const cJSON *list = gt_reader_get(r, object, "values", cJSON_Array, GT_REQUIRED), *item;
    int count = list ? cJSON_GetArraySize(list) : 0;
    int64_t standard;

    if (list && (count < 1 || count > MAX_VALUES))
        gt_reader_fail(r, "\"values\" %s; it must list 1 to %d numbers",
                       count ? "is too long" : "is empty", MAX_VALUES);
    param->value = gt_reader_allocate(r, (size_t)count, sizeof(*param->value));
    if (!param->value)
        return;
    cJSON_ArrayForEach(item, list)
    {
        int64_t *value = &param->value[param->count];

        if (!gt_json_whole(item, INT32_MIN, INT32_MAX, value)) {
            gt_reader_fail(r, "values[%zu] must be a whole number of 32 bits", param->count);
            return;
        }
        for (size_t i = 0; i < param->count; i++)
            if (param->value[i] == *value)
                gt_reader_fail(r, "value %lld is listed twice", (long long)*value);
        param->count++;
    }
    standard = gt_reader_needed(r, object, "default", INT32_MIN, INT32_MAX);
    while (param->standard < param->count && param->value[param->standard] != standard)
        param->standard++;
    if (param->standard == param->count)
        gt_reader_fail(r, "\"default\" %lld is not among the values", (long long)standard);
}

static void read_param(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "name values default kind doc";
    static const char *const kinds[] = {"compile", "launch"};
    struct gt_param *param = &r->kernel->param[index];

    r->kernel->params++;
    if (!gt_reader_object(r, object, allowed))
        return;
    gt_reader_string(r, &param->name, object, "name", GT_REQUIRED);
    gt_reader_at(r, "params[%zu] (%.32s)", index, param->name);
    add_name(r, param->name);
    gt_reader_string(r, &param->doc, object, "doc", GT_REQUIRED);
    param->launch = gt_reader_choice(r, object, "kind", kinds, 2, 0);
    read_values(r, param, object);
}

static void read_derived(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "name value doc";
    struct gt_derived *derived = &r->kernel->derived[index];

    r->kernel->deriveds++;
    if (!gt_reader_object(r, object, allowed))
        return;
    gt_reader_string(r, &derived->name, object, "name", GT_REQUIRED);
    gt_reader_string(r, &derived->doc, object, "doc", GT_OPTIONAL);
    /* Read before the name is added, because a value cannot use itself. */
    gt_reader_needed_expr(r, &derived->expr, object, "value");
    if (!r->rc) {
        derived->depends = gt_kernel_depends(r->kernel, derived->expr);
        derived->derived = gt_kernel_deriveds(r->kernel, derived->expr);
        for (size_t i = 0; i < r->kernel->params; i++)
            r->kernel->param[i].derived |= (derived->depends >> i & 1) << index;
    }
    add_name(r, derived->name);
}

static void read_pattern(struct gt_reader *r, struct gt_pattern *pattern, const char *text)
{
    struct gt_err why = {0};

    if (!r->rc && gt_pattern_parse(pattern, r->kernel, text, &why))
        gt_reader_fail(r, "%s", why.msg);
}

/* The values by which a point meets a bet. */
static void read_instead(struct gt_reader *r, const cJSON *object, struct gt_constraint *constraint)
{
    char *text = NULL;

    gt_reader_string(r, &text, object, "instead", GT_OPTIONAL);
    if (text && !constraint->bet)
        gt_reader_fail(r, "\"instead\" belongs to constraints of kind \"bet\"");
    if (text && !r->rc)
        constraint->instead = gt_reader_allocate(r, 1, sizeof(*constraint->instead));
    if (constraint->instead)
        read_pattern(r, constraint->instead, text);
    free(text);
}

static void read_constraint(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "if kind why instead";
    static const char *const kinds[] = {"must", "bet"};
    struct gt_constraint *constraint = &r->kernel->constraint[index];

    r->kernel->constraints++;
    if (!gt_reader_object(r, object, allowed))
        return;
    gt_reader_string(r, &constraint->why, object, "why", GT_REQUIRED);
    constraint->bet = gt_reader_choice(r, object, "kind", kinds, 2, 0);
    gt_reader_needed_expr(r, &constraint->expr, object, "if");
    if (!r->rc) {
        constraint->depends = gt_kernel_depends(r->kernel, constraint->expr);
        constraint->derived = gt_kernel_deriveds(r->kernel, constraint->expr);
    }
    read_instead(r, object, constraint);
}

static void read_launch(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "entry when grid block shared cluster carveout pdl maps";
    struct gt_launch *launch = &r->kernel->launch[index];

    r->kernel->launches++;
    if (!gt_reader_object(r, object, allowed))
        return;
    gt_reader_string(r, &launch->entry, object, "entry", GT_REQUIRED);
    gt_reader_triple(r, launch->grid, object, "grid", GT_REQUIRED);
    gt_reader_triple(r, launch->block, object, "block", GT_REQUIRED);
    gt_reader_triple(r, launch->cluster, object, "cluster", GT_OPTIONAL);
#define READ(member, standard) gt_reader_expr(r, &launch->member, object, #member, standard);
    GT_LAUNCH_EXPRS(READ)
#undef READ
    launch->maps = gt_reader_bool(r, object, "maps", false);
}

static void read_reported(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "source tflops share";
    struct gt_reported *reported = &r->kernel->reported[index];

    r->kernel->reported_count++;
    if (!gt_reader_object(r, object, allowed))
        return;
    gt_reader_string(r, &reported->source, object, "source", GT_REQUIRED);
    reported->tflops = gt_reader_real(r, object, "tflops", 1e6);
    reported->share = gt_reader_real(r, object, "share", 100);
}

static void read_seed(struct gt_reader *r, const cJSON *item, size_t index)
{
    if (!cJSON_IsString(item)) {
        r->rc = gt_err_set(r->err, GT_ECONFIG, "%s must be a text like \"BM=128,BN=64\"", r->where);
        return;
    }
    read_pattern(r, &r->kernel->seed[index], item->valuestring);
    r->kernel->seeds += !r->rc;
}

/* ---- the rest of the top object ---- */

static void read_model(struct gt_reader *r)
{
#define KEY(member) " " #member
    static const char allowed[] = GT_MODEL_EXPRS(KEY);
#undef KEY
    const cJSON *object = gt_reader_get(r, r->root, "model", cJSON_Object, GT_OPTIONAL);

    gt_reader_at(r, "model");
    if (!object || !gt_reader_object(r, object, allowed + 1))
        return;
#define READ(member) gt_reader_expr(r, &r->kernel->model.member, object, #member, NULL);
    GT_MODEL_EXPRS(READ)
#undef READ
}

static void read_compile(struct gt_reader *r)
{
#define KEY(member, standard) " " #member
    static const char allowed[] = GT_COMPILE_EXPRS(KEY);
#undef KEY
    const cJSON *object = gt_reader_get(r, r->root, "compile", cJSON_Object, GT_OPTIONAL);

    gt_reader_at(r, "compile");
    if (object)
        gt_reader_object(r, object, allowed + 1);
#define READ(member, standard) gt_reader_expr(r, &r->kernel->member, object, #member, standard);
    GT_COMPILE_EXPRS(READ)
#undef READ
}

static void read_role(struct gt_reader *r)
{
    static const char *const roles[] = {"production", "ladder"};
    struct gt_kernel *kernel = r->kernel;

    kernel->production = !gt_reader_choice(r, r->root, "role", roles, 2, -1);
    kernel->rung = (int)(kernel->production ? gt_reader_integer(r, r->root, "rung", 1, 99, 0)
                                            : gt_reader_needed(r, r->root, "rung", 1, 99));
    if (kernel->production && kernel->rung)
        gt_reader_fail(r, "\"rung\" is for kernels of the ladder only");
}

/* Reads the strings of the top object: name, document, template. */
static void read_identity(struct gt_reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    const char *base = strrchr(kernel->path, '/');
    size_t length;

    base = base ? base + 1 : kernel->path;
    gt_reader_string(r, &kernel->name, r->root, "kernel", GT_REQUIRED);
    if (r->rc)
        return;
    length = strlen(kernel->name);
    if (strspn(kernel->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") <
            length ||
        length > 63)
        gt_reader_fail(r, "\"kernel\" is \"%.64s\"; a name has up to 63 letters, digits and _",
                       kernel->name);
    if (strncmp(base, kernel->name, length) || strcmp(base + length, ".json"))
        gt_reader_fail(r, "\"kernel\" is \"%s\"; it must be the file's name", kernel->name);
    gt_reader_string(r, &kernel->doc, r->root, "doc", GT_REQUIRED);
    gt_reader_string(r, &kernel->template_path, r->root, "template", GT_REQUIRED);
    if (!r->rc && (*kernel->template_path == '/' || strstr(kernel->template_path, "..") ||
                   strpbrk(kernel->template_path, "\"\\\n")))
        gt_reader_fail(r,
                       "\"template\" is \"%.100s\"; it must be a path inside the data folder or "
                       "the description's own folder",
                       kernel->template_path);
}

/* Reads parameters and derived values in their order, because later expressions use earlier names.
 */
static void read_names(struct gt_reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    size_t launch_params = 0;

    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        kernel->names.name[i] = gt_fact_names[i];
    kernel->names.count = kernel->first_param = GT_FACT_COUNT;
    gt_reader_list(r, "params", GT_MAX_PARAMS, GT_REQUIRED, read_param);
    for (size_t i = 0; i < kernel->params; i++)
        launch_params += kernel->param[i].launch;
    if (launch_params > GT_MAX_LAUNCH_PARAMS)
        gt_reader_fail(r, "%zu parameters of kind launch; gt_args has room for %d", launch_params,
                       GT_MAX_LAUNCH_PARAMS);
    gt_reader_list(r, "derive", GT_MAX_DERIVED, GT_OPTIONAL, read_derived);
}

/* Allocates the items of a list of the top object; a list that is absent or has another type needs
 * none. */
static void *allocate_list(struct gt_reader *r, const char *key, size_t item_bytes)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(r->root, key);

    return gt_reader_allocate(r, array ? (size_t)cJSON_GetArraySize(array) : 0, item_bytes);
}

static void read_top(struct gt_reader *r)
{
    static const char allowed[] =
        "kernel doc template role rung reported serves params derive constraints launches "
        "workspace deterministic compile model seeds tensor_maps";
    struct gt_kernel *kernel = r->kernel;

    snprintf(r->where, sizeof(r->where), "%s", kernel->path);
    if (!gt_reader_object(r, r->root, allowed))
        return;
    read_identity(r);
    read_role(r);
    gt_reader_serves(r);
    read_names(r);
    kernel->constraint = allocate_list(r, "constraints", sizeof(*kernel->constraint));
    gt_reader_list(r, "constraints", MAX_CONSTRAINTS, GT_OPTIONAL, read_constraint);
    gt_reader_list(r, "launches", GT_MAX_LAUNCHES, GT_REQUIRED, read_launch);
    if (!kernel->launches)
        gt_reader_fail(r, "\"launches\" is empty");
    gt_reader_maps(r);
    kernel->reported = allocate_list(r, "reported", sizeof(*kernel->reported));
    gt_reader_list(r, "reported", MAX_REPORTED, GT_OPTIONAL, read_reported);
    kernel->seed = allocate_list(r, "seeds", sizeof(*kernel->seed));
    gt_reader_list(r, "seeds", MAX_SEEDS, GT_OPTIONAL, read_seed);
#define READ(member, standard) gt_reader_expr(r, &kernel->member, r->root, #member, standard);
    GT_CANDIDATE_EXPRS(READ)
#undef READ
    read_compile(r);
    read_model(r);
}

int gt_kernel_read_description(struct gt_kernel *kernel, const char *data_dir, const char *text,
                               size_t length, struct gt_err *err)
{
    struct gt_reader reader = {.kernel = kernel, .err = err};
    cJSON *root;

    reader.rc = gt_json_parse(&root, kernel->path, text, length, err);
    if (!reader.rc)
        reader.rc = gt_description_expand(root, kernel->path, data_dir, err);
    reader.root = root;
    if (!reader.rc)
        read_top(&reader);
    cJSON_Delete(root);
    return reader.rc;
}

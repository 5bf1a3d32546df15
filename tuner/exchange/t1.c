/* t1.c - reads T1 and enumerates its valid points; see t1.h. */
#include "exchange/t1.h"

#include "base/strbuf.h"
#include "base/err.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct gt_t1 *t1;
    struct gt_names names; /* the parameters read so far */
    const char *path;
    struct gt_err *err;
};

bool gt_t1_is(const char *text, size_t length)
{
    static const char key[] = "\"ConfigurationSpace\"";

    return memmem(text, length, key, sizeof(key) - 1) != NULL;
}

/* ---- parameters ---- */

int gt_t1_value(struct gt_t1_param *param, const struct gt_python_value *value, uint8_t *index,
                struct gt_err *err)
{
    size_t i = 0;
    char *text;

    while (i < param->count && !gt_python_equal(&param->value[i], value))
        i++;
    *index = (uint8_t)i;
    if (i < param->count)
        return GT_OK;
    if (i == UINT8_MAX + 1)
        return gt_err_set(err, GT_ERANGE, "parameter %s has more than 256 values", param->name);
    if (GT_ARRAY_RESERVE(&param->value, i + 1, &param->capacity, err))
        return GT_ENOMEM;
    text = value->text ? strdup(value->text) : NULL;
    if (value->text && !text)
        return gt_err_nomem(err);
    param->value[param->count++] = (struct gt_python_value){text, value->number};
    return GT_OK;
}

void gt_t1_release_param(struct gt_t1_param *param)
{
    for (size_t i = 0; i < param->count; i++)
        free((char *)param->value[i].text);
    free(param->value);
    free(param->name);
}

static int add_value(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    return gt_t1_value(context, value, &(uint8_t){0}, err);
}

static int read_param(struct reader *reader, const cJSON *item, const char *where)
{
    struct gt_t1 *t1 = reader->t1;
    struct gt_t1_param *param = &t1->param[t1->params];
    const char *name = "", *values = "";
    struct gt_python *python;
    int rc = gt_json_string(&name, item, where, "Name", GT_REQUIRED, reader->err);

    GT_STEP(rc, gt_json_string(&values, item, where, "Values", GT_REQUIRED, reader->err));
    if (!rc && t1->params == GT_MAX_PARAMS)
        rc = gt_err_set(reader->err, GT_ERANGE, "%s: more than %d parameters", reader->path,
                        GT_MAX_PARAMS);
    if (!rc && gt_names_find(&reader->names, name, strlen(name)) >= 0)
        rc = gt_err_set(reader->err, GT_ECONFIG, "%s: \"%s\" is there twice", where, name);
    if (rc)
        return rc;
    param->name = strdup(name);
    if (!param->name)
        return gt_err_nomem(reader->err);
    t1->params++;
    rc = gt_python_parse(&python, values, &(struct gt_names){.count = 0}, reader->err);
    GT_STEP(rc, gt_python_list(python, add_value, param, reader->err));
    gt_python_free(python);
    if (!rc && !param->count)
        rc = gt_err_set(reader->err, GT_ECONFIG, "parameter %s has no value", name);
    reader->names.name[reader->names.count++] = param->name;
    return rc ? gt_err_prefix(reader->err, rc, "%s", where) : GT_OK;
}

/* ---- conditions ---- */

static int read_condition(struct reader *reader, const cJSON *item, const char *where)
{
    struct gt_t1_condition *condition = &reader->t1->condition[reader->t1->conditions];
    const char *text = "";
    uint64_t uses;
    int rc = gt_json_string(&text, item, where, "Expression", GT_REQUIRED, reader->err);

    GT_STEP(rc, gt_python_parse(&condition->python, text, &reader->names, reader->err));
    if (rc)
        return gt_err_prefix(reader->err, rc, "%s", where);
    reader->t1->conditions++;
    uses = gt_python_uses(condition->python);
    while (uses >>= 1)
        condition->last++;
    return GT_OK;
}

/* ---- the file ---- */

typedef int read_item(struct reader *reader, const cJSON *item, const char *where);

/* Calls `read` for each item of a list of the space. */
static int read_list(struct reader *reader, const cJSON *list, const char *key, read_item *read)
{
    const cJSON *item;
    char where[512];
    int i = 0, rc = GT_OK;

    cJSON_ArrayForEach(item, list)
    {
        snprintf(where, sizeof(where), "%.400s: %s[%d]", reader->path, key, i++);
        GT_STEP(rc, read(reader, item, where));
    }
    return rc;
}

static int read_space(struct reader *reader, const cJSON *space)
{
    const cJSON *params, *conditions = NULL;
    struct gt_t1 *t1 = reader->t1;
    int rc = gt_json_get(&params, space, reader->path, "TuningParameters", cJSON_Array, GT_REQUIRED,
                         reader->err);

    GT_STEP(rc, read_list(reader, params, "TuningParameters", read_param));
    if (!rc && !t1->params)
        rc = gt_err_set(reader->err, GT_ECONFIG, "%s: TuningParameters is empty", reader->path);
    GT_STEP(rc, gt_json_get(&conditions, space, reader->path, "Conditions", cJSON_Array,
                            GT_OPTIONAL, reader->err));
    if (rc || !conditions)
        return rc;
    t1->condition = calloc((size_t)cJSON_GetArraySize(conditions) + 1, sizeof(*t1->condition));
    return t1->condition ? read_list(reader, conditions, "Conditions", read_condition)
                         : gt_err_nomem(reader->err);
}

static int read_specification(struct reader *reader, const cJSON *root)
{
    const char *kernel = "", *recording = "";
    const cJSON *object;
    int rc = gt_json_get(&object, root, reader->path, "KernelSpecification", cJSON_Object,
                         GT_REQUIRED, reader->err);

    GT_STEP(rc,
            gt_json_string(&kernel, object, reader->path, "KernelName", GT_REQUIRED, reader->err));
    GT_STEP(rc, gt_json_string(&recording, object, reader->path, "SimulationInput", GT_OPTIONAL,
                               reader->err));
    if (rc)
        return rc;
    reader->t1->kernel = strdup(kernel);
    reader->t1->recording = strdup(recording);
    return reader->t1->kernel && reader->t1->recording ? GT_OK : gt_err_nomem(reader->err);
}

int gt_t1_parse(struct gt_t1 *t1, const char *path, const char *text, size_t length,
                struct gt_err *err)
{
    struct reader reader = {.t1 = t1, .path = path, .err = err};
    const cJSON *space;
    cJSON *root;
    int rc;

    *t1 = (struct gt_t1){0};
    rc = gt_json_parse(&root, path, text, length, err);
    GT_STEP(rc,
            gt_json_get(&space, root, path, "ConfigurationSpace", cJSON_Object, GT_REQUIRED, err));
    GT_STEP(rc, read_specification(&reader, root));
    GT_STEP(rc, read_space(&reader, space));
    cJSON_Delete(root);
    return rc;
}

void gt_t1_release(struct gt_t1 *t1)
{
    for (size_t p = 0; p < t1->params; p++)
        gt_t1_release_param(&t1->param[p]);
    for (size_t i = 0; i < t1->conditions; i++)
        gt_python_free(t1->condition[i].python);
    free(t1->condition);
    free(t1->kernel);
    free(t1->recording);
    *t1 = (struct gt_t1){0};
}

/* ---- points ---- */

struct walk {
    const struct gt_t1 *t1;
    struct gt_python_value value[GT_MAX_PARAMS];
    uint8_t at[GT_MAX_PARAMS];
    uint8_t *index;
    size_t count, capacity, most;
    struct gt_err *err;
};

static int add_point(struct walk *walk)
{
    size_t params = walk->t1->params;

    if (walk->count == walk->most)
        return gt_err_set(walk->err, GT_ERANGE, "kernel %s has more than %zu valid points",
                          walk->t1->kernel, walk->most);
    if (gt_array_reserve(&walk->index, walk->count + 1, &walk->capacity, params ? params : 1,
                         walk->err))
        return GT_ENOMEM;
    memcpy(walk->index + walk->count++ * params, walk->at, params);
    return GT_OK;
}

/* Sets *all to whether the conditions that parameter p decides hold. */
static int holds(const struct walk *walk, size_t p, bool *all)
{
    *all = true;
    for (size_t i = 0; i < walk->t1->conditions && *all; i++) {
        const struct gt_t1_condition *condition = &walk->t1->condition[i];
        struct gt_python_value value;
        int rc;

        if (condition->last != p)
            continue;
        rc = gt_python_eval(condition->python, walk->value, &value, walk->err);
        if (rc)
            return rc;
        *all = gt_python_true(&value);
    }
    return GT_OK;
}

/* Tries all values of parameter p and of the parameters after it. */
static int walk_from(struct walk *walk, size_t p)
{
    const struct gt_t1_param *param = &walk->t1->param[p];
    int rc = GT_OK;

    for (size_t i = 0; i < param->count && !rc; i++) {
        bool all;

        walk->at[p] = (uint8_t)i;
        walk->value[p] = param->value[i];
        rc = holds(walk, p, &all);
        if (!rc && all)
            rc = p + 1 < walk->t1->params ? walk_from(walk, p + 1) : add_point(walk);
    }
    return rc;
}

int gt_t1_points(const struct gt_t1 *t1, size_t most, uint8_t **index, size_t *count,
                 struct gt_err *err)
{
    struct walk walk = {.t1 = t1, .most = most, .err = err};
    int rc = walk_from(&walk, 0);

    if (!rc && !walk.count)
        rc =
            gt_err_set(err, GT_ERANGE, "kernel %s: no point satisfies every condition", t1->kernel);
    if (rc) {
        free(walk.index);
        return rc;
    }
    *index = walk.index;
    *count = walk.count;
    return GT_OK;
}

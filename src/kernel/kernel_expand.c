/* kernel_expand.c - vocabulary: expands items of a description's lists that stand for several
 * items.
 *
 *   {"repeat": {"I": [1, 7]}, ...}                 one item for each number, "$I" replaced by it
 *   {"use": "pack", "OPERAND": "A", "ROWS": "M"}   the items of configs/formulas/pack.json, with
 *                                                  "$OPERAND" and "$ROWS" replaced */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "kernel/kernel_impl.h"

#define MAX_REPEATS 64  /* most repeats of one item */
#define MAX_ITEMS   512 /* most items of an expanded list */

struct expansion {
    const char *data_dir;
    char where[GT_WHERE_MAX]; /* "path: tensor_maps[6]": the item's place before expanding */
    cJSON *to;                /* the expanded list */
    struct gt_err *err;
};

/* Appends the text with each "$name" replaced. */
static void add_replaced(struct gt_strbuf *to, const char *text, const char *name,
                         const char *value)
{
    size_t length = strlen(name);

    for (; *text; text++) {
        if (*text == '$' && !strncmp(text + 1, name, length) &&
            !isalnum((unsigned char)text[1 + length])) {
            gt_strbuf_add(to, value);
            text += length;
        } else {
            gt_strbuf_add_char(to, *text);
        }
    }
}

/* Replaces the name in every string of the item. */
static int replace(cJSON *item, const char *name, const char *value, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    cJSON *child;
    char *copy;
    int rc = GT_OK;

    if (cJSON_IsString(item) && strchr(item->valuestring, '$')) {
        add_replaced(&text, item->valuestring, name, value);
        rc = gt_strbuf_check(&text, err);
        copy = rc ? NULL : cJSON_malloc(text.length + 1);
        if (!rc && !copy)
            rc = gt_err_nomem(err);
        if (copy) {
            memcpy(copy, text.text, text.length + 1);
            cJSON_free(item->valuestring);
            item->valuestring = copy;
        }
        gt_strbuf_release(&text);
    }
    cJSON_ArrayForEach(child, item)
    {
        GT_STEP(rc, replace(child, name, value, err));
    }
    return rc;
}

/* Appends the item to the list, which owns it then; deletes it after a failure. */
static int append(struct expansion *e, cJSON *item)
{
    if (cJSON_GetArraySize(e->to) >= MAX_ITEMS) {
        cJSON_Delete(item);
        return gt_err_set(e->err, GT_ECONFIG, "%s: with it the list has more than %d items",
                          e->where, MAX_ITEMS);
    }
    if (item && cJSON_AddItemToArray(e->to, item))
        return GT_OK;
    cJSON_Delete(item);
    return gt_err_nomem(e->err);
}

/* Reads the name and the range of "repeat". */
static int read_range(const struct expansion *e, const cJSON *repeat, int64_t *first, int64_t *last)
{
    const cJSON *range = cJSON_IsObject(repeat) ? repeat->child : NULL;

    if (range && !range->next && cJSON_GetArraySize(range) == 2 &&
        gt_json_whole(cJSON_GetArrayItem(range, 0), INT32_MIN, INT32_MAX, first) &&
        gt_json_whole(cJSON_GetArrayItem(range, 1), *first, *first + MAX_REPEATS - 1, last))
        return GT_OK;
    return gt_err_set(
        e->err, GT_ECONFIG,
        "%s: \"repeat\" must be an object like {\"I\": [1, 7]}, of at most %d numbers", e->where,
        MAX_REPEATS);
}

static int add_repeated(struct expansion *e, cJSON *item)
{
    cJSON *repeat = cJSON_DetachItemFromObjectCaseSensitive(item, "repeat");
    int64_t first = 0, last = 0;
    int rc = read_range(e, repeat, &first, &last);

    for (int64_t i = first; i <= last && !rc; i++) {
        cJSON *copy = cJSON_Duplicate(item, true);
        char number[32];

        snprintf(number, sizeof(number), "%lld", (long long)i);
        if (copy)
            rc = replace(copy, repeat->child->string, number, e->err);
        if (rc)
            cJSON_Delete(copy);
        else
            rc = append(e, copy);
    }
    cJSON_Delete(repeat);
    cJSON_Delete(item);
    return rc;
}

/* Loads the file of formulas and finds its lists: the names that a use must give, and the items. */
static int load_formulas(const struct expansion *e, const cJSON *use, cJSON **root, cJSON **names,
                         cJSON **items)
{
    static const char allowed[] = "doc names items";
    const char *name = cJSON_IsString(use) ? use->valuestring : "";
    struct gt_strbuf path = GT_STRBUF_INIT;
    int rc;

    *root = *names = *items = NULL;
    if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") < strlen(name))
        return gt_err_set(e->err, GT_ECONFIG,
                          "%s: \"use\" must be the name of a file of configs/formulas", e->where);
    gt_strbuf_addf(&path, "%s/configs/formulas/%s.json", e->data_dir, name);
    rc = gt_strbuf_check(&path, e->err);
    GT_STEP(rc, gt_json_load(root, path.text, e->err));
    GT_STEP(rc, gt_json_keys(*root, path.text, allowed, e->err));
    *names = cJSON_GetObjectItemCaseSensitive(*root, "names");
    *items = cJSON_GetObjectItemCaseSensitive(*root, "items");
    if (!rc && (!cJSON_IsArray(*names) || !cJSON_IsArray(*items)))
        rc = gt_err_set(e->err, GT_ECONFIG, "%s: \"names\" and \"items\" must be lists", path.text);
    gt_strbuf_release(&path);
    if (!rc || rc == GT_ENOMEM)
        return rc;
    gt_err_prefix(e->err, rc, "%s: \"use\"", e->where);
    if (e->err)
        e->err->code = GT_ECONFIG;
    return GT_ECONFIG;
}

/* Checks that the item gives each of the names as a string, and nothing else but "use". */
static int check_names(const struct expansion *e, const cJSON *item, const cJSON *names)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, names)
    {
        const char *key = cJSON_IsString(name) ? name->valuestring : "";

        if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(item, key)))
            return gt_err_set(e->err, GT_ECONFIG, "%s: \"use\" needs \"%.32s\", a string", e->where,
                              key);
    }
    if (cJSON_GetArraySize(item) == cJSON_GetArraySize(names) + 1)
        return GT_OK;
    return gt_err_set(e->err, GT_ECONFIG,
                      "%s: beside \"use\" only the names of the formulas may be given, each once",
                      e->where);
}

static int add_used(struct expansion *e, cJSON *item)
{
    cJSON *root, *names, *items, *name, *copy;
    int rc = load_formulas(e, cJSON_GetObjectItemCaseSensitive(item, "use"), &root, &names, &items);

    GT_STEP(rc, check_names(e, item, names));
    cJSON_ArrayForEach(name, names)
    {
        GT_STEP(rc, replace(items, name->valuestring,
                            cJSON_GetObjectItemCaseSensitive(item, name->valuestring)->valuestring,
                            e->err));
    }
    while (!rc && (copy = cJSON_DetachItemFromArray(items, 0)))
        rc = append(e, copy);
    cJSON_Delete(root);
    cJSON_Delete(item);
    return rc;
}

static int expand_list(struct expansion *e, cJSON *root, const char *path, const char *key)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key), *item;
    int rc = GT_OK;

    if (!cJSON_IsArray(list))
        return GT_OK; /* the reader reports the mistake */
    e->to = cJSON_CreateArray();
    if (!e->to)
        return gt_err_nomem(e->err);
    for (int i = 0; !rc && (item = cJSON_DetachItemFromArray(list, 0)); i++) {
        snprintf(e->where, sizeof(e->where), "%s: %s[%d]", path, key, i);
        if (cJSON_GetObjectItemCaseSensitive(item, "repeat"))
            rc = add_repeated(e, item);
        else if (cJSON_GetObjectItemCaseSensitive(item, "use"))
            rc = add_used(e, item);
        else
            rc = append(e, item);
    }
    if (!rc) { /* by hand, because cJSON's replacing silently loses the key if memory runs out */
        list->child = e->to->child;
        e->to->child = NULL;
    }
    cJSON_Delete(e->to);
    return rc;
}

int gt_description_expand(cJSON *root, const char *path, const char *data_dir, struct gt_err *err)
{
    static const char *const keys[] = {"params", "derive", "constraints", "launches",
                                       "tensor_maps"};
    struct expansion e = {.data_dir = data_dir, .err = err};
    int rc = GT_OK;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !rc; i++)
        rc = expand_list(&e, root, path, keys[i]);
    return rc;
}

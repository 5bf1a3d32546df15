/* cmd_problems.c - reads lists of problem texts; a reader of configs (configs/problems). */
#include "cmd_problems.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../src/err.h"
#include "../src/json.h"
#include "../src/strbuf.h"

int gt_problem_texts_add(struct gt_problem_texts *texts, const char *text, struct gt_err *err)
{
    char **grown = realloc(texts->text, (texts->count + 1) * sizeof(*grown));

    if (!grown)
        return gt_err_nomem(err);
    texts->text = grown;
    grown[texts->count] = strdup(text);
    if (!grown[texts->count])
        return gt_err_nomem(err);
    texts->count++;
    return GT_OK;
}

void gt_problem_texts_release(struct gt_problem_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->text[i]);
    free(texts->text);
    memset(texts, 0, sizeof(*texts));
}

static int load_json(struct gt_problem_texts *texts, const char *path, const char *text,
                     size_t length, struct gt_err *err)
{
    static const char *const keys[] = {"doc", "problems", NULL};
    const cJSON *list, *item;
    cJSON *root = NULL;
    int i = 0;
    int rc = gt_json_parse(&root, path, text, length, err);

    if (!rc)
        rc = gt_json_keys(root, path, keys, err);
    if (!rc)
        rc = gt_json_get(&list, root, path, "problems", cJSON_Array, GT_REQUIRED, err);
    if (rc)
        goto out;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            rc = gt_err_set(err, GT_ECONFIG,
                            "%s: problems[%d] is not a problem text such as \"512x512x512:f32:nn\"",
                            path, i);
        else
            rc = gt_problem_texts_add(texts, item->valuestring, err);
        if (rc)
            goto out;
        i++;
    }
out:
    cJSON_Delete(root);
    return rc;
}

static int load_lines(struct gt_problem_texts *texts, char *text, struct gt_err *err)
{
    char *line = text;

    while (*line) {
        char *next = line + strcspn(line, "\n");
        char *end = line + strcspn(line, "#\n");
        bool last = !*next;
        int rc;

        while (end > line && isspace((unsigned char)end[-1]))
            end--;
        *end = '\0';
        while (isspace((unsigned char)*line))
            line++;
        rc = *line ? gt_problem_texts_add(texts, line, err) : GT_OK;
        if (rc)
            return rc;
        line = last ? next : next + 1;
    }
    return GT_OK;
}

int gt_problem_texts_load(struct gt_problem_texts *texts, const char *path, struct gt_err *err)
{
    struct gt_strbuf buf = GT_STRBUF_INIT;
    size_t before = texts->count;
    const char *first;
    int rc = gt_strbuf_add_file(&buf, path, err);

    if (rc)
        goto out;
    first = buf.text + strspn(buf.text, " \t\r\n");
    if (*first == '{')
        rc = load_json(texts, path, buf.text, buf.length, err);
    else
        rc = load_lines(texts, buf.text, err);
    if (!rc && texts->count == before)
        rc = gt_err_set(err, GT_ECONFIG, "%s: no problem in it", path);
out:
    gt_strbuf_release(&buf);
    return rc;
}

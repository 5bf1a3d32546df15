/* cmd_problems.c - lists of problem texts from options and files. */
#include "cmd_problems.h"

#include <stdlib.h>
#include <string.h>

#include "../src/err.h"
#include "../src/problemset.h"

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

int gt_problem_texts_load(struct gt_problem_texts *texts, const char *path, struct gt_err *err)
{
    struct gt_problemset set;
    int rc = gt_problemset_load(&set, path, err);

    for (size_t i = 0; !rc && i < set.count; i++)
        rc = gt_problem_texts_add(texts, set.entry[i].text, err);
    gt_problemset_release(&set);
    return rc;
}

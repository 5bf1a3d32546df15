/* cmd_problems.h - lists of problem texts: from --shape, from files of --shapes and `tune bench`.
 */
#ifndef GT_CMD_PROBLEMS_H
#define GT_CMD_PROBLEMS_H

#include <stddef.h>

struct gt_err;

struct gt_problem_texts {
    char **text;
    size_t count;
};

int gt_problem_texts_add(struct gt_problem_texts *texts, const char *text, struct gt_err *err);

/* Appends the texts of a problem set (problemset.h: JSON or one text a line). */
int gt_problem_texts_load(struct gt_problem_texts *texts, const char *path, struct gt_err *err);

void gt_problem_texts_release(struct gt_problem_texts *texts); /* a zeroed one is accepted */

#endif

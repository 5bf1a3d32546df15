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

/* A JSON file as in configs/problems ({"problems": ["512x512x512:f32:nt", ...]}), or plain text:
 * one problem a line, # begins a remark; the log of untuned problems that gt_open writes is such a
 * file.  Errors name file, line and key. */
int gt_problem_texts_load(struct gt_problem_texts *texts, const char *path, struct gt_err *err);

void gt_problem_texts_release(struct gt_problem_texts *texts); /* a zeroed one is accepted */

#endif

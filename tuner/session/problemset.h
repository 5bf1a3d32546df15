/* problemset.h - vocabulary: lists of problems to tune or to compare, from a file.
 *
 * A file is JSON as in configs/problems (see configs/README.md), or only the list of problems of
 * such JSON, or plain text.  Plain text has one problem a line, and # begins a remark; the log of
 * untuned problems that gt_open writes is such a file.  Behind a problem may stand, as `tune
 * capture` writes them, `weight=X` and `count=N`, the number of times that a program asked for the
 * problem; a count alone is the weight.  A text with lists or ranges of sizes stands for many
 * problems, each with the same name, count and weight.
 *
 * A file may also be the record of another program (exchange/foreign.h), plain or gzipped.  Each
 * product of such a file becomes one problem.  Its weight is the number of times that the file has
 * the product; so is its count, if the file has a line for each call. */
#ifndef GT_PROBLEMSET_H
#define GT_PROBLEMSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gemmtune.h"

struct gt_problem_entry {
    char *name; /* for people; NULL if the file gives none */
    char *text; /* as written */
    struct gt_problem problem;
    double weight; /* share in averages over the set; 1 if the file gives none */
    double count;  /* calls by a program; 0: the file does not say */
};

struct gt_problemset {
    char *name, *doc; /* NULL if the file gives none */
    char *remark;     /* for a file of another program: its name, and the products that are left
                         out; else NULL */
    struct gt_problem_entry *entry;
    size_t count; /* at least 1 after a load */
};

/* path: a file, or "-" for standard input.  Errors name the file and line or key.  Free with
 * gt_problemset_release. */
int gt_problemset_load(struct gt_problemset *set, const char *path, struct gt_err *err);

/* The file that `name` means, malloc'ed: "-", a file of this name, or a set of the data folder,
 * such as "bench.json" or "bench" of configs/problems.  Any other name is an error that lists the
 * sets. */
int gt_problemset_find(char **path, const char *name, const char *data_dir, struct gt_err *err);

/* Appends the problems of a text, with weight 1; the sentence of an error begins with `where`. */
int gt_problemset_add(struct gt_problemset *set, const char *text, const char *where,
                      struct gt_err *err);
void gt_problemset_release(struct gt_problemset *set); /* a zeroed one is accepted */

/* Vocabulary: lists and ranges of sizes in a problem's text.
 *
 * Where a text names several problems, each size may be a list, and each member of a list a range:
 * `1,2,4,8x4096x4096`, `1024:8192:1024x4096x4096:bf16` (both ends belong to the range),
 * `1:4096:x2x512x512` (each size is twice the size before).  The problems are all combinations of
 * sizes; the last size changes fastest. */

#define GT_RANGES_MOST 10000 /* problems that one text may stand for */

/* Whether the text has a list or a range of sizes. */
bool gt_ranges_any(const char *text);

/* Calls visit with the text of each problem; a text without lists and ranges is handed on
 * unchanged.  If the text is malformed, visit is not called. */
typedef int gt_ranges_visit(void *context, const char *text, struct gt_err *err);
int gt_ranges_expand(const char *text, gt_ranges_visit *visit, void *context, struct gt_err *err);

/* Problems drawn at random among sizes that programs have, for tune --random.  The same seed gives
 * the same problems on every machine, because only whole numbers take part.
 * configs/problems/models.json has the sizes.  tuner/README.md states the shares. */

#define GT_RANDOM_MOST 10000 /* problems of one draw */

/* Appends `count` different problems to the set.  A smaller count with the same seed gives the
 * first of these problems.  Errors name models.json below data_dir and the key; the set is to be
 * released also after an error. */
int gt_random_problems(struct gt_problemset *set, const char *data_dir, const char *family,
                       size_t count, uint64_t seed, struct gt_err *err);

/* Appends the layers of a model of models.json in bf16, layout nt as checkpoints store weights:
 * queries, keys and values together; attention's output; the feed-forward layer, where it has a
 * gate also with gate and values together; and the way down.  Letters and digits of the name count.
 * rows: of A, a list or a range as in a problem's text.  Errors as above. */
int gt_model_problems(struct gt_problemset *set, const char *data_dir, const char *name,
                      const char *rows, struct gt_err *err);

#endif

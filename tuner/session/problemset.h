/* problemset.h - vocabulary: lists of problems to tune or to compare, from a file.
 *
 * Either JSON as in configs/problems (see configs/README.md), or the list of its problems alone, or
 * plain text: one problem a line, #
 * begins a remark; the log of untuned problems that gt_open writes is such a file.  Behind a
 * problem may stand `count=N`, how often a program asked for it, and `weight=X`, as `tune capture`
 * writes them; a count alone is the weight.  A text with lists or ranges of sizes (problemset.h)
 * stands for many problems, each with that name, count and weight.
 *
 * Or what another program wrote down (exchange/foreign.h), plain or gzipped: each product once,
 * with how often it is there as its weight and, where the file has a line for each call, as its
 * count. */
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
    double count;  /* calls of a program; 0: the file does not say */
};

struct gt_problemset {
    char *name, *doc; /* NULL if the file gives none */
    char *remark;     /* of what others wrote: the file, and which products are left out; NULL */
    struct gt_problem_entry *entry;
    size_t count; /* at least 1 after a load */
};

/* path: a file, or "-" for standard input.  Errors name the file and line or key.  Free with
 * gt_problemset_release. */
int gt_problemset_load(struct gt_problemset *set, const char *path, struct gt_err *err);

/* The file that `name` means, malloc'ed: "-", a file of that name, or one of the sets of the data
 * folder, such as "bench.json" or "bench" of configs/problems.  A name that is none of these is an
 * error that lists the sets. */
int gt_problemset_find(char **path, const char *name, const char *data_dir, struct gt_err *err);

/* Appends the problems of a text, with weight 1; the sentence of an error begins with `where`. */
int gt_problemset_add(struct gt_problemset *set, const char *text, const char *where,
                      struct gt_err *err);
void gt_problemset_release(struct gt_problemset *set); /* a zeroed one is accepted */

/* Vocabulary: lists and ranges of sizes in a problem's text.
 *
 * Where a text names several problems, each size may be a list, and each of its members a range:
 * `1,2,4,8x4096x4096`, `1024:8192:1024x4096x4096:bf16` (both ends belong to it),
 * `1:4096:x2x512x512` (each the double of the one before).  The problems are all combinations, the
 * last size changing fastest. */

#define GT_RANGES_MOST 10000 /* problems that one text may stand for */

/* Whether the text has a list or a range of sizes. */
bool gt_ranges_any(const char *text);

/* Calls visit with the text of each problem; a text without lists and ranges is handed on as it is.
 * Nothing is visited if the text is malformed. */
typedef int gt_ranges_visit(void *context, const char *text, struct gt_err *err);
int gt_ranges_expand(const char *text, gt_ranges_visit *visit, void *context, struct gt_err *err);

/* Drawn problems, as programs have them, for tune --random.  Everybody draws the same problems from
 * the same seed: only whole numbers take part, and configs/problems/models.json has the sizes.
 * tuner/README.md states the shares. */

#define GT_RANDOM_MOST 10000 /* problems of one draw */

/* Appends `count` different problems to the set.  The first ones are those of any smaller count
 * with the same seed.  Errors name models.json below data_dir and the key; the set is to be
 * released then, too. */
int gt_random_problems(struct gt_problemset *set, const char *data_dir, size_t count, uint64_t seed,
                       struct gt_err *err);

#endif

/* shard.h - a part of a list of problems (--shard), so that machines that do not talk to each other
 * divide a list.  Only cmd_session_problems.c uses it. */
#ifndef GT_SHARD_H
#define GT_SHARD_H

#include <stddef.h>
#include <stdint.h>

struct gt_cli;
struct gt_err;
struct gt_problem;

struct gt_shard {
    uint64_t part, parts; /* from 0 */
};

/* Reads "i/parts"; text NULL: the whole list is part 1 of 1. */
int gt_shard_read(struct gt_shard *shard, const char *text, struct gt_err *err);

/* The part for this task of a Slurm array (sbatch --array=1-8 has tasks 1 to 8 of 8; 0-14:2 has 8,
 * too).  An array of a single task is not split. */
void gt_shard_slurm(struct gt_shard *shard, const struct gt_cli *cli);

/* Keeps the first of equal problems, with the sum of their weights, and of those only the ones
 * whose texts belong to the part.  A text belongs to the same part in every list.  weight may be
 * NULL. */
int gt_shard_keep(const struct gt_shard *shard, struct gt_problem *problem, double *weight,
                  size_t *count, struct gt_err *err);

#endif

/* cmd_learn_report.h - what choosing loses on problems left out, for tune doctor --predictor. */
#ifndef GT_CMD_LEARN_REPORT_H
#define GT_CMD_LEARN_REPORT_H

#include "doctor/cmd_learn.h"
#include "learn/learn.h"

struct cJSON;

/* Leaves problems out, in parts by size and, unless a ranking is written, by family, too; prints
 * the losses of each kind and of all, or adds them to rows (NULL: they are printed), and writes
 * what was chosen for each problem to options->csv.  Afterwards the learning's parts are those by
 * size. */
int gt_cmd_learn_report(struct gt_cli *cli, const struct gt_learn_options *options,
                        struct gt_learning *learning, struct cJSON *rows, struct gt_err *err);

#endif

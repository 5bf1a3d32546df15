/* cmd_learn.h - learns how to choose for problems that nobody tuned, for tune doctor --predictor.
 */
#ifndef GT_CMD_LEARN_H
#define GT_CMD_LEARN_H

#include "console/options.h"

struct gt_learn_options {
    const char *db;              /* its measured trials; NULL: of none */
    const struct gt_texts *from; /* further databases, and text tables of winners */
    const char *onto;            /* a ranking that is improved; NULL: none */
    bool narrow;                 /* see struct gt_learning */
    const char *output;          /* the ranking; NULL: only the losses are printed */
    const char *csv;             /* a row for each problem and way of choosing; NULL: none */
};

/* Prints what choosing loses on problems left out, for each kind of problem, and writes a ranking
 * (src/lookup/ranking.h).  GT_EXIT_NOTHING if nothing was measured. */
int gt_cmd_learn(struct gt_cli *cli, const struct gt_learn_options *options, struct gt_err *err);

#endif

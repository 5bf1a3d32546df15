/* cmd_predictor.h - how well the model predicts what was measured, for tune doctor --predictor. */
#ifndef GT_CMD_PREDICTOR_H
#define GT_CMD_PREDICTOR_H

#include "console/options.h"

struct gt_predictor_options {
    const char *db; /* its measured trials; NULL: of none */
    struct gt_texts recording;
    const char *csv; /* NULL: none */
};

/* Prints a row of figures (quality.h) for each problem and kernel of the database and the
 * recordings, and one for all kernels of a problem together.  What is predicted is what a search
 * sees before it compiles.  GT_EXIT_NOTHING if nothing was measured. */
int gt_cmd_predictor(struct gt_cli *cli, const struct gt_predictor_options *options,
                     struct gt_err *err);

#endif

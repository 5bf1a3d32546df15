/* cmd_predictor.h - tune doctor --predictor: how well the model predicts measured times; what
 * choosing by the model loses; and learning a ranking from measured trials. */
#ifndef GT_CMD_PREDICTOR_H
#define GT_CMD_PREDICTOR_H

#include "console/options.h"

struct gt_predictor_options {
    const char *db;            /* a database with measured trials; NULL: none */
    struct gt_texts recording; /* files with trials, see gt_learn_visit */
    const char *csv;           /* NULL: none */
    /* gt_cmd_learn alone */
    struct gt_texts from; /* likewise */
    const char *onto;     /* a ranking that is improved; NULL: none */
    bool narrow;          /* see struct gt_learning */
    const char *output;   /* the new ranking's file; NULL: only the losses are printed */
};

/* Prints a row of figures (quality.h) for each problem and kernel of the database and the
 * recordings, and a row for all kernels of a problem together.  The predictions are those that a
 * search has before it compiles anything.  GT_EXIT_NOTHING if nothing was measured. */
int gt_cmd_predictor(struct gt_cli *cli, const struct gt_predictor_options *options,
                     struct gt_err *err);

/* Prints, for each kind of problem, what choosing loses on problems left out; writes a row for each
 * problem and way of choosing to `csv`; and writes a ranking (src/lookup/ranking.h).
 * GT_EXIT_NOTHING if nothing was measured. */
int gt_cmd_learn(struct gt_cli *cli, const struct gt_predictor_options *options,
                 struct gt_err *err);

#endif

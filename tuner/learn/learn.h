/* learn.h - stage: learns a ranking (src/lookup/ranking.h) from measured trials, and measures what
 * it loses on problems left out. */
#ifndef GT_LEARN_H
#define GT_LEARN_H

#include "base/strbuf.h"
#include "lookup/ranking.h"

#define GT_LEARN_FOLDS 10

/* A measured trial.  Its columns begin at column[at] of the learning. */
struct gt_learn_row {
    size_t problem, kernel, point; /* indices into the lists below */
    size_t at;
    double model_us, us;
    bool avoided;       /* us is a guess: the candidate spills, and was not timed */
    double base_us;     /* what is corrected: the model's, or what the base makes of it */
    double expected_us; /* with its fold left out */
};

struct gt_learn_problem {
    struct gt_problem problem;
    char text[GT_PROBLEM_TEXT_MAX];
    size_t kind, rows;
    int fold;       /* of all problems with the same n and k */
    double best_us; /* of its rows */
    bool estimated; /* its rows are estimates of an earlier ranking */
};

/* A kernel's point, wherever it was measured. */
struct gt_learn_point {
    size_t kernel;
    struct gt_point point;
    unsigned kinds; /* bit i: it is a prototype of kind i of the base */
};

/* How much slower than the best measured one a choice is, over problems of a kind. */
struct gt_learn_loss {
    size_t problems;
    double mean, p90, most; /* 0.03: 3 %; mean: geometric */
};

struct gt_learning {
    const struct gt_kernels *kernels;
    const struct gt_ranking *base; /* see gt_learn_onto */
    struct gt_device device;       /* the profile of the arch that is learned for */
    struct gt_learn_problem *problem;
    size_t problems, problem_capacity;
    struct gt_learn_point *point;
    size_t points, point_capacity;
    struct gt_learn_row *row;
    size_t rows, row_capacity;
    float *column;
    size_t columns, column_capacity;
};

/* Learns what an earlier ranking of the arch, whose trials may be gone, leaves over: its trees stay
 * in front of those that are learned, and its prototypes stay.  Before the first trial; the ranking
 * must outlive the learning. */
int gt_learn_onto(struct gt_learning *learning, const struct gt_ranking *base, struct gt_err *err);

/* Takes a trial of the candidate, whose device is the learning's; one that the model has no answer
 * for is left out.  clock: the share of its clock that the device had, 1 if that is not known.
 * Trials of a race run on a cool GPU, finals at what a power cap leaves, a quarter slower: what is
 * learned is the time at the full clock.  us 0: the candidate was compiled and not timed, since its
 * registers spill; it counts as clearly slower than it seems, and never as a problem's best. */
int gt_learn_add(struct gt_learning *learning, const struct gt_candidate *candidate, double us,
                 double clock, struct gt_err *err);

/* Takes what an earlier ranking expects of the candidate, whose trials are gone: it counts little,
 * and nothing where trials of the problem came before. */
int gt_learn_add_estimate(struct gt_learning *learning, const struct gt_candidate *candidate,
                          double us, struct gt_err *err);

/* Fills expected_us of every row by trees that saw no problem of its fold. */
int gt_learn_leave_out(struct gt_learning *learning, struct gt_err *err);

/* What choosing among measured points loses: by the model alone, by the model with the trees
 * (gt_learn_leave_out), by these among prototypes that were chosen without the fold. */
enum gt_learn_means { GT_LEARN_MODEL, GT_LEARN_TREES, GT_LEARN_PROTOTYPES, GT_LEARN_MEANS };
int gt_learn_loss(const struct gt_learning *learning, enum gt_learn_means means, size_t kind,
                  struct gt_learn_loss *loss, struct gt_err *err);

/* Appends the ranking that all rows give, as a file. */
int gt_learn_write(const struct gt_learning *learning, struct gt_strbuf *text, struct gt_err *err);

void gt_learn_release(struct gt_learning *learning); /* a zeroed one is accepted */

#endif

/* learn.h - stage: learns a ranking (src/lookup/ranking.h) from measured trials, and measures the
 * ranking's losses on problems left out. */
#ifndef GT_LEARN_H
#define GT_LEARN_H

#include "base/strbuf.h"
#include "db/store.h"
#include "learn/boost.h"
#include "lookup/ranking.h"

/* Which problems are left out together.  By size: problems with the same n and k, neighbours that
 * differ in m, type or layout; there are ten parts.  By family: all problems with the same type,
 * accuracy and layout. */
enum gt_learn_split { GT_LEARN_BY_SIZE, GT_LEARN_BY_FAMILY };

/* A measured trial.  Its columns begin at column[at] of struct gt_learning. */
struct gt_learn_row {
    size_t problem, kernel, point; /* indices into the lists below */
    size_t at;
    double model_us, us;
    bool avoided;       /* us is a guess: the candidate spills, and was not timed */
    double base_us;     /* the time that the trees correct: the model's, or the base's */
    double expected_us; /* expected by trees that did not see its fold */
};

struct gt_learn_problem {
    struct gt_problem problem;
    char text[GT_PROBLEM_TEXT_MAX];
    char device[96]; /* a problem on another device is another problem */
    size_t kind, rows;
    int fold;       /* part that the problem is left out with; see gt_learn_leave_out */
    double best_us; /* shortest time of its rows */
    bool estimated; /* its rows are estimates of an earlier ranking */
};

/* A kernel's point, wherever it was measured. */
struct gt_learn_point {
    size_t kernel;
    struct gt_point point;
    struct gt_kinds kinds; /* kinds of which the point is a prototype in the base */
};

/* The choices for a problem.  row: the first choice; NULL: the problem has too few trials.
 * loss[i]: the loss of the best of the first i + 1 choices, which divide the problem in different
 * ways: the logarithm of that choice's time over the time of `best`. */
#define GT_LEARN_PICKS 8
struct gt_learn_choice {
    const struct gt_learn_row *row, *best; /* best: the problem's fastest row */
    double loss[GT_LEARN_PICKS];
};

/* How much slower than the best measured candidate a choice is, over problems of a kind; 0.03 means
 * 3 %. */
struct gt_learn_loss {
    size_t problems;
    double mean, p90, most; /* losses of the first choice; mean: geometric */
    double of4, of8;        /* geometric mean for the best of the first four, and eight, choices */
};

/* How much less the first choices of one way of choosing lose than those of another, paired by
 * problem. */
struct gt_learn_gain {
    double mean, error;   /* of logarithms; error: one standard error of the mean */
    size_t better, worse; /* problems */
};

struct gt_learning {
    const struct gt_kernels *kernels;
    const struct gt_ranking *base; /* see gt_learn_onto */
    struct gt_device device;       /* the device to learn for, as its or its arch's profile says */
    struct gt_learn_problem *problem;
    size_t problems, problem_capacity;
    struct gt_learn_point *point;
    size_t points, point_capacity;
    size_t *place; /* hash table of the points: an index plus 1, 0 is free */
    size_t places; /* a power of two */
    struct gt_learn_row *row;
    size_t rows, row_capacity;
    float *column;
    size_t columns, column_capacity;
    int folds;
    bool narrow; /* the trials are of some kernels or values only, so that choosing among them does
                    not show the losses of whole answers, and the base's losses stand */
};

/* Makes the learning improve an earlier ranking of the arch, whose trials may be gone: the base's
 * trees stay in front of the new trees, which are fitted to the base's residuals, and the base's
 * prototypes stay.  Called before the first trial; the base must outlive the learning. */
int gt_learn_onto(struct gt_learning *learning, const struct gt_ranking *base, struct gt_err *err);

/* Takes a trial of the candidate, on the learning's device or on another device of the arch.
 * Trials on another device teach, too, but no loss counts them.  A candidate that the model has no
 * answer for is left out.  clock: the share of its full clock that the device had, 1 if not known.
 * Trials of a race run on a cool GPU; finals run at the clock that a power cap leaves, a quarter
 * slower.  The ranking learns times at the full clock.  us 0: the candidate was compiled but not
 * timed, because its registers spill; it counts as clearly slower than expected, and never as a
 * problem's best. */
int gt_learn_add(struct gt_learning *learning, const struct gt_candidate *candidate, double us,
                 double clock, struct gt_err *err);

/* Takes the time that an earlier ranking, whose trials are gone, expects of the candidate.  Such an
 * estimate counts little, and nothing if trials of the problem came before. */
int gt_learn_add_estimate(struct gt_learning *learning, const struct gt_candidate *candidate,
                          double us, struct gt_err *err);

/* The state of gt_learn_take; before the first trial all but the learning and the folder is
 * zero. */
struct gt_learn_source {
    struct gt_learning *learning;
    const char *data_dir; /* folder with the profiles of devices */
    struct gt_device on;  /* device of the last trial */
    size_t other, gone;   /* trials left out: of another arch; of points that no kernel here has */
};

/* Takes a trial with names; context: a struct gt_learn_source.  A predicted trial is an earlier
 * ranking's estimate (gt_learn_add_estimate).  The first trial sets the learning's device if there
 * is none yet.  Left out are trials of another arch than that device's or the base's, and trials of
 * candidates that no kernel in use here has; not even counted are trials that no file of trials
 * holds (exchange/trials.h). */
int gt_learn_take(void *context, const struct gt_named_trial *named, struct gt_err *err);

/* Visits the measured trials of a file: a database, a file of trials (exchange/trials.h), a table
 * of winners (.csv), or a recording (.json, .json.gz) of one of the kernels. */
int gt_learn_visit(const char *path, const struct gt_kernels *kernels, gt_named_trial_visit *visit,
                   void *context, struct gt_err *err);

/* Sets kernel and point of a trial's candidate.  The point may be of an earlier text of the kernel:
 * parameters that the kernel does not have any more are left out.  false: no kernel here has such a
 * point. */
bool gt_learn_candidate(struct gt_candidate *candidate, const struct gt_kernels *kernels,
                        const struct gt_named_trial *named);

/* The device that a trial names, with the figures of its profile in the folder data_dir. */
int gt_learn_device(struct gt_device *device, const char *data_dir,
                    const struct gt_named_trial *named, struct gt_err *err);

/* Fills expected_us of every row by trees that saw no problem of its fold. */
int gt_learn_leave_out(struct gt_learning *learning, enum gt_learn_split split, struct gt_err *err);

/* Ways of choosing among measured points: by the model alone; by the base (without a base: by the
 * model); by base or model with the trees (gt_learn_leave_out); and so among only the prototypes
 * that were chosen without the fold. */
enum gt_learn_means {
    GT_LEARN_MODEL,
    GT_LEARN_RANKING,
    GT_LEARN_TREES,
    GT_LEARN_PROTOTYPES,
    GT_LEARN_MEANS
};

/* Fills choice[problems]; the rows are the learning's. */
int gt_learn_choose(const struct gt_learning *learning, enum gt_learn_means means,
                    struct gt_learn_choice *choice, struct gt_err *err);

#define GT_LEARN_ALL ((size_t)-1) /* kinds */
/* device: only the problems that were measured on it count; NULL: all. */
int gt_learn_loss_of(const struct gt_learning *learning, const struct gt_learn_choice *choice,
                     size_t kind, const char *device, struct gt_learn_loss *loss,
                     struct gt_err *err);

/* How much less y loses than x; *gain: zeroed before. */
void gt_learn_compare(const struct gt_learning *learning, const struct gt_learn_choice *x,
                      const struct gt_learn_choice *y, struct gt_learn_gain *gain);

/* Divides the problems into the parts that are left out together, as gt_learn_leave_out does. */
void gt_learn_split(struct gt_learning *learning, enum gt_learn_split split);

/* Appends the text of the ranking that all rows give but those of a fold, without losses.
 * GT_LEARN_WHOLE: of all rows, with losses. */
#define GT_LEARN_WHOLE (-1) /* no fold */
int gt_learn_write(const struct gt_learning *learning, int fold, struct gt_strbuf *text,
                   struct gt_err *err);

void gt_learn_release(struct gt_learning *learning); /* a zeroed one is accepted */

/* ---- what learn.c and learn_write.c share ---- */

#define GT_LEARN_PROTOTYPES_MOST 200 /* prototypes of a kind */
/* A candidate that spills registers takes so many times its expected time; measured: 1.2 to 3. */
#define GT_LEARN_AVOIDED 1.5

/* Chooses the prototypes of a kind of problems, without the problems of a fold
 * (GT_LEARN_WHOLE: with all).
 * They are chosen greedily: each is the point that reduces the summed loss of the problems most.
 * taken[points]: set to whether the point is a prototype; no point is if there is no problem of the
 * kind. */
int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err);

/* Fits the trees of a kernel, without the rows of a fold's problems (GT_LEARN_WHOLE: with
 * all rows).  Without
 * rows there are no trees. */
int gt_learn_trees(const struct gt_learning *learning, size_t kernel, int fold,
                   struct gt_boosted *boosted, struct gt_err *err);

#endif

/* learn.h - stage: learns a ranking (src/lookup/ranking.h) from measured trials, and measures what
 * it loses on problems left out. */
#ifndef GT_LEARN_H
#define GT_LEARN_H

#include "base/strbuf.h"
#include "db/store.h"
#include "learn/boost.h"
#include "lookup/ranking.h"

/* Problems that are left out together: those with the same n and k, which are neighbours that
 * differ in m, type or layout, in ten parts; or all that have the same type, accuracy and layout.
 */
enum gt_learn_split { GT_LEARN_BY_SIZE, GT_LEARN_BY_FAMILY };

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
    char device[96]; /* the same problem on another device is another one */
    size_t kind, rows;
    int fold;       /* part that it is left out with; see gt_learn_leave_out */
    double best_us; /* of its rows */
    bool estimated; /* its rows are estimates of an earlier ranking */
};

/* A kernel's point, wherever it was measured. */
struct gt_learn_point {
    size_t kernel;
    struct gt_point point;
    struct gt_kinds kinds; /* of which it is a prototype of the base */
};

/* What was chosen for a problem.  row: the first choice; NULL: the problem has too few trials.
 * loss[i]: of the best of the first i + 1 choices, which divide the problem in different ways;
 * logarithm of its time over the best one's. */
#define GT_LEARN_PICKS 8
struct gt_learn_choice {
    const struct gt_learn_row *row, *best; /* best: the fastest of the problem's */
    double loss[GT_LEARN_PICKS];
};

/* How much slower than the best measured one a choice is, over problems of a kind; 0.03: 3 %. */
struct gt_learn_loss {
    size_t problems;
    double mean, p90, most; /* of the first choice; mean: geometric */
    double of4, of8;        /* geometric mean of the best of the first four and eight */
};

/* How much less the first choices of one way lose than those of another, paired by problem. */
struct gt_learn_gain {
    double mean, error;   /* of the logarithms; error: one standard error of the mean */
    size_t better, worse; /* problems */
};

struct gt_learning {
    const struct gt_kernels *kernels;
    const struct gt_ranking *base; /* see gt_learn_onto */
    struct gt_device device;       /* that is learned for: what its profile, or its arch's, says */
    struct gt_learn_problem *problem;
    size_t problems, problem_capacity;
    struct gt_learn_point *point;
    size_t points, point_capacity;
    size_t *place; /* of the points by their hash: an index plus 1, 0 is free */
    size_t places; /* a power of two */
    struct gt_learn_row *row;
    size_t rows, row_capacity;
    float *column;
    size_t columns, column_capacity;
    int folds;
    bool narrow; /* the trials are of some kernels or values only, so that choosing among them says
                  * nothing of what whole answers lose: that is as the base says */
};

/* Learns what an earlier ranking of the arch, whose trials may be gone, leaves over: its trees stay
 * in front of those that are learned, and its prototypes stay.  Before the first trial; the ranking
 * must outlive the learning. */
int gt_learn_onto(struct gt_learning *learning, const struct gt_ranking *base, struct gt_err *err);

/* Takes a trial of the candidate, whose device is the learning's or another one of the arch: its
 * trials teach, too, but no loss is of them.  One that the model has no answer for is left out.
 * clock: the share of its clock that the device had, 1 if that is not known. Trials of a race run
 * on a cool GPU, finals at what a power cap leaves, a quarter slower: what is learned is about the
 * time at the full clock.  us 0: the candidate was compiled and not timed, since its registers
 * spill; it counts as clearly slower than it seems, and never as a problem's best. */
int gt_learn_add(struct gt_learning *learning, const struct gt_candidate *candidate, double us,
                 double clock, struct gt_err *err);

/* Takes what an earlier ranking expects of the candidate, whose trials are gone: it counts little,
 * and nothing where trials of the problem came before. */
int gt_learn_add_estimate(struct gt_learning *learning, const struct gt_candidate *candidate,
                          double us, struct gt_err *err);

/* Where trials come from; zeroed but for the learning and the folder, before the first trial. */
struct gt_learn_source {
    struct gt_learning *learning;
    const char *data_dir; /* with the profiles of devices */
    struct gt_device on;  /* that the last trial ran on */
    size_t other, gone;   /* trials left out: of another arch; of points that no kernel here has */
};

/* Takes a trial that is told by name: of a database, of a file of trials (exchange/trials.h), or of
 * a table of winners; context: a struct gt_learn_source.  A predicted one is what an earlier
 * ranking expected (gt_learn_add_estimate).  The first one sets the learning's device if it has
 * none; trials of another arch than that, or than the base's, are left out, and so are trials of
 * candidates that no kernel in use here has. */
int gt_learn_take(void *context, const struct gt_named_trial *named, struct gt_err *err);

/* A point of this or an earlier text of the kernel: parameters that it has not any more are left
 * out. */
int gt_learn_known_point(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                         struct gt_err *err);

/* Fills expected_us of every row by trees that saw no problem of its fold. */
int gt_learn_leave_out(struct gt_learning *learning, enum gt_learn_split split, struct gt_err *err);

/* Choosing among measured points: by the model alone; by the base (without one: by the model); by
 * either with the trees (gt_learn_leave_out); by these among prototypes that were chosen without
 * the fold. */
enum gt_learn_means {
    GT_LEARN_MODEL,
    GT_LEARN_RANKING,
    GT_LEARN_TREES,
    GT_LEARN_PROTOTYPES,
    GT_LEARN_MEANS
};

/* choice[problems]: filled; the rows are the learning's. */
int gt_learn_choose(const struct gt_learning *learning, enum gt_learn_means means,
                    struct gt_learn_choice *choice, struct gt_err *err);

#define GT_LEARN_ALL ((size_t)-1) /* kinds */
/* device: only of the problems that were measured on it; NULL: of all. */
int gt_learn_loss_of(const struct gt_learning *learning, const struct gt_learn_choice *choice,
                     size_t kind, const char *device, struct gt_learn_loss *loss,
                     struct gt_err *err);

/* What y gains over x; *gain: zeroed before. */
void gt_learn_compare(const struct gt_learning *learning, const struct gt_learn_choice *x,
                      const struct gt_learn_choice *y, struct gt_learn_gain *gain);

/* Appends the ranking that all rows give, as a file. */
int gt_learn_write(const struct gt_learning *learning, struct gt_strbuf *text, struct gt_err *err);

/* Puts problems into the parts that are left out together, as gt_learn_leave_out does. */
void gt_learn_split(struct gt_learning *learning, enum gt_learn_split split);

/* Appends the ranking of all rows but those of a part, of which it knows nothing: without losses.
 */
int gt_learn_write_without(const struct gt_learning *learning, int fold, struct gt_strbuf *text,
                           struct gt_err *err);

void gt_learn_release(struct gt_learning *learning); /* a zeroed one is accepted */

/* ---- what learn.c and learn_write.c share ---- */

#define GT_LEARN_PROTOTYPES_MOST 200 /* of a kind */
/* A candidate that spills registers takes so many times what is expected; measured: 1.2 to 3. */
#define GT_LEARN_AVOIDED 1.5

/* Chooses the prototypes of a kind of problems, without the problems of a fold (-1: with all). They
 * are chosen greedily: each is the point that reduces the summed loss of the problems most.
 * taken[points]: set to whether the point is a prototype; none is where there is no problem of the
 * kind. */
int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err);

/* Fits the trees of a kernel, without the rows of a fold's problems (-1: with all).  Without rows
 * there are no trees. */
int gt_learn_trees(const struct gt_learning *learning, size_t kernel, int fold,
                   struct gt_boosted *boosted, struct gt_err *err);

#endif

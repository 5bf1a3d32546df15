/* lookup_impl.h - declarations that the files of src/lookup share: opening (lookup_open.c), keys
 * (lookup_key.c), asking and remembering (lookup.c), finding (lookup_tiers.c), choosing by a
 * ranking (lookup_choose.c) and adapting (lookup_repair.c).  The tuner also calls
 * lookup_repair.c. */
#ifndef GT_LOOKUP_IMPL_H
#define GT_LOOKUP_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lookup/lookup.h"
#include "lookup/ranking.h"
#include "lookup/table.h"

/* The sources of answers. */
struct gt_sources {
    struct gt_kernels kernels;
    struct gt_table table; /* the user's rows, then the system's */
    size_t user_rows;
    struct gt_rankings rankings;
};

/* The part of a problem for which a winner is an exact answer: everything but alpha, and of beta
 * only whether it is zero.  Bytes that mean nothing are zero. */
struct gt_problem_key {
    int64_t size[10]; /* m n k lda ldb ldc batch stride_a stride_b stride_c */
    int32_t kind[8];  /* type out acc accuracy trans_a trans_b epilogue align */
    int64_t has_beta;
    uint64_t words; /* digest of what a plain problem does not have; 0: the problem is plain */
};
void gt_problem_key(struct gt_problem_key *key, const struct gt_problem *problem);

struct gt_lookup_key {
    struct gt_problem_key problem;
    uint64_t device; /* hash of the name asked for and of the facts of a real GPU */
    int64_t arch;
};

/* An answer and its key.  Once an entry is remembered, only its generation changes. */
struct gt_lookup_entry {
    struct gt_answer answer; /* the entry owns its point and passed_over */
    const struct gt_kernel *kernel;
    struct gt_lookup_key key;
    uint64_t generation; /* the last generation that holds the entry */
};

uint64_t gt_lookup_hash(const struct gt_lookup_key *key);

/* The key of a problem on a GPU that is present. */
void gt_lookup_device_key(struct gt_lookup_key *key, const struct gt_device *device,
                          const struct gt_problem *problem);

#define GT_ANSWERS_KEPT    8192 /* most of a generation; a power of two.  gemmtune.h names it */
#define GT_READER_COUNTERS 16   /* a power of two */

/* Remembered answers (lookup.c). */
struct gt_answers {
    _Atomic(struct gt_lookup_map *) present, before; /* generations; before: NULL at first */
    atomic_uint phase;                               /* 0 or 1: which counters are used */
    struct {
        _Alignas(64) atomic_uint count; /* readers that are looking */
    } readers[2][GT_READER_COUNTERS];
    pthread_mutex_t lock; /* keeps writers apart; held for less than a microsecond */
};

/* True if there was memory for the answers.  gt_answers_end is also called after a begin that
 * failed. */
bool gt_answers_begin(struct gt_answers *answers);
void gt_answers_end(struct gt_answers *answers);

/* For a child of fork(), which has none of the reading threads that were counted. */
void gt_answers_forget_readers(struct gt_answers *answers);

/* Results of GT_PLAN_MEASURE (plan.c) for the last GT_TIMED_KEPT problems. */
#define GT_TIMED_KEPT 1024
struct gt_timed {
    pthread_mutex_t lock; /* held while candidates of a problem are timed */
    struct gt_timed_problem *item;
    size_t count, capacity, next; /* next: the item to overwrite when the array is full */
};

struct gt_deployed;

struct gt {
    struct gt_sources sources;
    struct gt_deployed *deployed; /* a deployed file answers alone, and sources are empty; NULL:
                                     there is none */
    struct gt_options options;
    char *data_dir, *cubin_dir;
    int log; /* descriptor, or -1 */
    struct gt_answers answers;
    struct gt_timed timed;
    struct gt *next; /* links all open struct gt (lookup_open.c) */
};

/* Replaces the answer's point and passed_over, which belong to another answer, by copies; without
 * memory both become NULL. */
int gt_resolved_own_texts(struct gt_resolved *resolved, struct gt_err *err);

/* Fills the answer's grid, block, shared_bytes, workspace_bytes and varies from the geometry. */
void gt_answer_take_geometry(struct gt_answer *answer, const struct gt_geometry *geometry);

/* Whether the answer is that point of that kernel. */
bool gt_resolved_same(const struct gt_resolved *resolved, const struct gt_kernel *kernel,
                      const struct gt_point *point);

/* Computes resolved->geometry from its kernel and point. */
int gt_resolved_geometry(struct gt_resolved *resolved, struct gt_err *err);

/* Fills resolved, whose problem and device are set; device_name may be NULL.  Tier NONE is an
 * answer.  answer.point and answer.passed_over are malloc'ed. */
int gt_lookup_resolve(const struct gt_sources *sources, const char *device_name,
                      struct gt_resolved *resolved, struct gt_err *err);

/* As gt_lookup_resolve, for programs: where the problem allows TF32's accuracy or less and FP32
 * costs at most 1 % more, the answer is a kernel in FP32, and resolved->problem is the problem in
 * FP32. */
int gt_lookup_resolve_exactly(const struct gt_sources *sources, const char *device_name,
                              struct gt_resolved *resolved, struct gt_err *err);

static inline void gt_lookup_in_f32(struct gt_problem *problem)
{
    problem->type = GT_F32;
    problem->accuracy = GT_ACCURACY_STRICT;
}

/* Whether the row was tuned for the problem (see gt_problem_key). */
bool gt_lookup_same_problem(const struct gt_problem *asked, const struct gt_table_row *row);

/* The same but for what is done with the sums: whether C is added, and an epilogue. */
bool gt_lookup_same_product(const struct gt_problem *asked, const struct gt_table_row *row);

#define GT_NEAR_MOST 16 /* winners of near problems that are examined */

/* Winners of near problems, the nearest first. */
struct gt_near_rows {
    const struct gt_table_row *row[GT_NEAR_MOST];
    size_t count;
    const char *device; /* the GPU asked about by name; NULL: any GPU of the arch */
};

/* A candidate that a ranking considered. */
struct gt_choice {
    const struct gt_kernel *kernel;
    struct gt_point point;
    const struct gt_table_row *row; /* the row whose winner the candidate is or was made from; NULL:
                                       a prototype */
    double us;                      /* expected time */
    double score; /* figure that choices are compared by: us, raised for a point that was never
                     measured, lowered for a winner */
    struct gt_prediction shape; /* the model's prediction, which says how the problem is divided */
    bool adapted;               /* the point was changed for this problem */
    int varied; /* 1: the point's neighbours were considered; 2: also neighbours that need a
                   repair */
};

/* A copy of `resolved` with the choice's kernel and point, and their geometry. */
int gt_resolved_with(struct gt_resolved *with, const struct gt_resolved *resolved,
                     const struct gt_choice *choice, struct gt_err *err);

#define GT_CHOICES 12 /* choices kept */

/* The choices of a ranking: candidates that divide the problem in different ways, the best
 * candidate of each way, sorted with the best first. */
struct gt_choices {
    struct gt_choice choice[GT_CHOICES];
    size_t count;
    int effort; /* units spent */
};

/* The most work of choosing, in checks of constraints; an estimate counts as GT_EFFORT_ESTIMATE
 * checks.  The last step of each part may exceed the limit by GT_EFFORT_ESTIMATE. */
#define GT_EFFORT_MOST     5300
#define GT_EFFORT_ESTIMATE 6

/* Chooses by a ranking of the device's arch; false: nothing is valid. */
bool gt_lookup_choose(const struct gt_kernels *kernels, const struct gt_ranking *ranking,
                      const struct gt_problem *problem, const struct gt_device *device,
                      const struct gt_near_rows *near, struct gt_choices *choices);

/* The candidates that the ranking considers for a problem on a GPU that is present; none if no
 * ranking answers for the GPU. */
int gt_lookup_alternatives(const struct gt_sources *sources, const struct gt_resolved *resolved,
                           struct gt_choices *choices, struct gt_err *err);

/* Makes the choice the answer; on failure the answer is as it was. */
int gt_lookup_take_choice(const struct gt_choice *choice, struct gt_resolved *resolved,
                          struct gt_err *err);

/* How many constraints the point breaks, counted up to `most`; a constraint that cannot be computed
 * counts as broken. */
int gt_lookup_broken(const struct gt_candidate *candidate, int most);

/* As gt_lookup_broken, for a candidate whose slots are filled. */
int gt_lookup_broken_slots(const struct gt_candidate *candidate, int most,
                           int64_t slots[GT_MAX_SLOTS]);

/* The constraints that a candidate breaks, from which its neighbours are checked. */
struct gt_breaks {
    bool known; /* false: a derived value cannot be computed */
    bool broken[GT_MAX_CONSTRAINTS];
    int64_t slots[GT_MAX_SLOTS];
    uint64_t params; /* the parameters that the first broken constraint depends on; all parameters,
                        where a derived value cannot be computed */
};

void gt_lookup_find_breaks(const struct gt_candidate *candidate, struct gt_breaks *breaks);

/* The result of gt_lookup_broken after the parameter `changed` got another value, for a tenth of
 * the work. */
int gt_lookup_broken_after(const struct gt_candidate *candidate, const struct gt_breaks *before,
                           size_t changed, int most);

/* Whether the candidate can run; fills the candidate's geometry. */
bool gt_lookup_fits(const struct gt_candidate *candidate, struct gt_geometry *geometry);

/* Changes a few parameters so that the candidate can run; false: a few changes are not enough.  A
 * winner for aligned operands, for example, needs narrower loads to serve others. */
bool gt_lookup_repair(struct gt_candidate *candidate, struct gt_geometry *geometry);

/* Changes as many parameters as it takes, in a random walk from a fixed seed, and then refines a
 * few; false: no valid point was found.  It is meant for a default point, which is a start as good
 * as any other. */
bool gt_lookup_walk(struct gt_candidate *candidate, struct gt_geometry *geometry);

/* Changes a few parameters of a candidate that can run, where the model expects a gain far above
 * its error: a winner for one row, for example, reads B eight times for eight rows.  `won` is the
 * point that was best for the problem `tuned`, and the candidate was made from it.  Returns whether
 * anything changed. */
bool gt_lookup_refine(struct gt_candidate *candidate, const struct gt_point *won,
                      const struct gt_problem *tuned, struct gt_geometry *geometry);

/* The model's estimate in microseconds; 0: the model has none. */
double gt_lookup_predict(const struct gt_candidate *candidate, const struct gt_geometry *geometry);

/* Slowdown to expect on another device of the arch. */
#define GT_LOSS_DEVICE 0.05

#endif

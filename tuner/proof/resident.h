/* resident.h - stage: a problem in the memory of a GPU: operands, guards, references, workspace.
 *
 * A "case" is a product whose operands are small integers, so that every correct kernel gives the
 * same result.  The last case is the problem itself.  The other cases are small ragged shapes with
 * the problem's layout, epilogue, alignment classes and batching.  The problem with normal reals
 * and its float64 reference are there, too.  Its operands are stored in as many copies ("sets") as
 * timing rotates through.  resident.c uses proof.c, and verify.c uses resident.c. */
#ifndef GT_RESIDENT_H
#define GT_RESIDENT_H

#include "problem/problem.h"
#include "proof/proof.h"

#define GT_CASES    15 /* small cases; the whole problem comes after them */
#define GT_RESULTS  3  /* copies of D, which launches write in turn */
#define GT_MAX_SETS 33 /* one set is the proof's alone */

/* The numbers in A, B and C while kernels are timed; the GPU's power, and so its clock, depends on
 * these numbers.  The proof always has integers and normal numbers. */
#define GT_DIST_MAP(X)                                        \
    X(NORMAL, "normal")     /* the numbers of the proof */    \
    X(UNIFORM, "uniform")   /* reals of [-1, 1) */            \
    X(INTEGERS, "integers") /* small enough for exact sums */ \
    X(ZEROS, "zeros")
enum gt_dist {
#define GT_DIST_ENUM(number, name) GT_DIST_##number,
    GT_DIST_MAP(GT_DIST_ENUM)
#undef GT_DIST_ENUM
        GT_DIST_COUNT
};
enum gt_dist gt_dist_parse(const char *name); /* GT_DIST_COUNT if unknown */

/* Factors of A and B, and those of whole operands beside factors of blocks; without words: the
 * problem has no such. */
struct gt_factors {
    struct gt_matrix scale[2], tensor[2];
};

struct gt_case {
    struct gt_problem problem;
    bool in_place; /* C is D: D starts as C */
    bool unread;   /* alpha is 0: A and B are poisoned and must not be read */
    struct gt_matrix a, b, c, bias;
    struct gt_factors factors;
    struct gt_matrix sizes; /* ends of groups; without words: there are none */
    struct gt_matrix d;     /* its rows: those of the groups where they are along m */
    gt_devptr exact;        /* the expected result: m x n x batch of the type out */
};

struct gt_set {
    struct gt_matrix a, b, c;
};

struct gt_resident {
    struct gt_gpu *gpu;
    struct gt_proof *proof;
    struct gt_problem problem;
    uint64_t seed;
    struct gt_case exact[GT_CASES + 1]; /* exact[GT_CASES] is the problem, whose D is result[0] */
    struct gt_set set[GT_MAX_SETS];
    int sets;
    int timed; /* index of the first set that is timed; 1 if timing has numbers of its own */
    enum gt_dist dist; /* the numbers of the timed sets */
    bool flush; /* the sets together have at most 3 x L2, so L2 is emptied before each round */
    struct gt_matrix bias;
    struct gt_factors factors; /* of all sets */
    struct gt_matrix sizes;    /* likewise */
    struct gt_matrix result[GT_RESULTS];
    gt_devptr ref;                 /* double m x n x batch */
    gt_devptr bound;               /* float m x n x batch */
    struct gt_matrix workspace;    /* the part of the workspace that the last candidate asked for */
    int64_t workspace_bytes;       /* the most that a candidate may ask for */
    struct gt_matrix scratch;      /* written to empty the L2 */
    gt_devptr arena_in, arena_out; /* memory of the small cases: inputs; results */
    int64_t arena_in_words, arena_out_words;
    uint64_t hash_in, hash_reference; /* sum over all inputs; sum over the references */
};

struct gt_resident_request {
    const struct gt_problem *problem;
    uint64_t seed;
    size_t workspace; /* bytes */
    int most_sets;    /* copies of the operands to time with, up to GT_MAX_SETS - 1; 1: L2 is not
                         emptied */
    enum gt_dist dist;
};

/* Fills the problems and flags of the GT_CASES small cases and of the whole problem after them. */
void gt_cases_fill(struct gt_case item[GT_CASES + 1], const struct gt_problem *problem);

/* Allocates and fills everything.  GT_ETOOBIG: the sentence has the bytes needed and present. */
int gt_resident_open(struct gt_resident *resident, struct gt_gpu *gpu, struct gt_proof *proof,
                     const struct gt_resident_request *request, struct gt_err *err);
void gt_resident_release(struct gt_resident *resident); /* a zeroed one is accepted */

/* Fills the inputs and computes the references again, after a candidate wrote to them. */
int gt_resident_restore(struct gt_resident *resident, struct gt_err *err);

/* Fill the arguments of a launch: with the case's operands, or with a set and a result. */
void gt_resident_case(const struct gt_resident *resident, const struct gt_case *item,
                      struct gt_args *args, struct gt_more *more);
void gt_resident_args(const struct gt_resident *resident, int set, int result, struct gt_args *args,
                      struct gt_more *more);

/* Enqueue a sum over every input, or over every reference, into a slot. */
int gt_resident_hash_inputs(struct gt_resident *resident, int slot, struct gt_err *err);
int gt_resident_hash_reference(const struct gt_resident *resident, int slot, struct gt_err *err);

/* Poison results and guards, as they were before the first candidate. */
int gt_resident_poison_cases(const struct gt_resident *resident, struct gt_err *err);
int gt_resident_poison(const struct gt_resident *resident, int result, struct gt_err *err);
int gt_resident_poison_workspace(struct gt_resident *resident, size_t bytes, struct gt_err *err);

/* Enqueues a write that removes the operands from the L2 cache. */
int gt_resident_flush(const struct gt_resident *resident, struct gt_err *err);

#endif

/* resident.h - stage: a problem resident on a GPU: operands, guards, references, workspace.
 *
 * A "case" is a product whose operands are small integers, so that any correct kernel gives exactly
 * one answer: the problem itself (the last case), and small ragged shapes that keep its layout,
 * epilogue, alignment classes and whether it is batched.  Beside them lies the problem with normal
 * reals, in as many copies ("sets") as timing wants to rotate through, with its float64 reference.
 * Between proof.c and verify.c. */
#ifndef GT_RESIDENT_H
#define GT_RESIDENT_H

#include "problem/problem.h"
#include "proof/proof.h"

#define GT_CASES    15 /* small ones; the whole problem comes after them */
#define GT_RESULTS  3  /* copies of D that launches write in turn */
#define GT_MAX_SETS 16

struct gt_case {
    struct gt_problem problem;
    bool in_place; /* C is D: D starts as C */
    bool unread;   /* alpha is 0: A and B are poison and must not be looked at */
    struct gt_matrix a, b, c, bias;
    struct gt_matrix d;
    gt_devptr exact; /* m x n x batch of the type out */
};

struct gt_set {
    struct gt_matrix a, b, c;
};

struct gt_resident {
    struct gt_gpu *gpu;
    struct gt_proof *proof;
    struct gt_problem problem;
    uint64_t seed;
    struct gt_case exact[GT_CASES + 1]; /* exact[GT_CASES] is the problem, its D is result[0] */
    struct gt_set set[GT_MAX_SETS];
    int sets;
    bool flush; /* the sets together are no larger than 3 x L2: empty it between rounds of them */
    struct gt_matrix bias;
    struct gt_matrix result[GT_RESULTS];
    gt_devptr ref;                 /* double m x n x batch */
    gt_devptr bound;               /* float, the same */
    struct gt_matrix workspace;    /* as much of it as the last candidate asked for */
    int64_t workspace_bytes;       /* that candidates may ask for */
    struct gt_matrix scratch;      /* what emptying the L2 writes over */
    gt_devptr arena_in, arena_out; /* of the small cases: inputs, results */
    int64_t arena_in_words, arena_out_words;
    uint64_t hash_in, hash_reference; /* of all inputs; of the references */
};

struct gt_resident_request {
    const struct gt_problem *problem;
    uint64_t seed;
    size_t workspace; /* bytes */
    bool one_set;     /* timing does not rotate */
};

/* Allocates and fills everything.  GT_ETOOBIG with the bytes needed and present. */
int gt_resident_open(struct gt_resident *resident, struct gt_gpu *gpu, struct gt_proof *proof,
                     const struct gt_resident_request *request, struct gt_err *err);
void gt_resident_release(struct gt_resident *resident); /* a zeroed one is accepted */

/* Fills inputs and computes references again, after someone wrote to them. */
int gt_resident_restore(struct gt_resident *resident, struct gt_err *err);

/* The argument for a launch with the case's operands, or with a set and a result. */
void gt_resident_case(const struct gt_resident *resident, const struct gt_case *item,
                      struct gt_args *args);
void gt_resident_args(const struct gt_resident *resident, int set, int result,
                      struct gt_args *args);

/* Enqueue a sum over every input, or over every reference, into a slot. */
int gt_resident_hash_inputs(const struct gt_resident *resident, int slot, struct gt_err *err);
int gt_resident_hash_reference(const struct gt_resident *resident, int slot, struct gt_err *err);

/* Poison results and guards, once more as before any candidate. */
int gt_resident_poison_cases(const struct gt_resident *resident, struct gt_err *err);
int gt_resident_poison(const struct gt_resident *resident, int result, struct gt_err *err);
int gt_resident_poison_workspace(struct gt_resident *resident, size_t bytes, struct gt_err *err);

/* Enqueue what empties the L2 cache of operands. */
int gt_resident_flush(const struct gt_resident *resident, struct gt_err *err);

/* What resident.c and resident_fill.c share: words behind the workspace that are guarded; the shape
 * of a line of elements; words of a case's exact result; giving a laid-out matrix its memory; the
 * inputs of a case (4 of them). */
#define GT_WORKSPACE_GUARD 16384
struct gt_span gt_matrix_line(int64_t elements, enum gt_dtype type);
int64_t gt_case_exact_words(const struct gt_case *item);
void gt_matrix_place(struct gt_matrix *matrix, gt_devptr base);
size_t gt_case_inputs(struct gt_case *item, struct gt_matrix **list);

#endif

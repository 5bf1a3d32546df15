/* problem.h - vocabulary: facts about a struct gt_problem (gemmtune.h), the thing to be computed.
 */
#ifndef GT_PROBLEM_H
#define GT_PROBLEM_H

#include "gemmtune.h"

#include <stdbool.h>

/* Largest size of one dimension, leading dimension or batch a problem may have. */
#define GT_MAX_EXTENT ((int64_t)1 << 31)

const char *gt_dtype_name(enum gt_dtype type);
size_t gt_dtype_size(enum gt_dtype type);
int gt_dtype_parse(const char *text, enum gt_dtype *type, struct gt_err *err);

const char *gt_accuracy_name(enum gt_accuracy accuracy); /* "strict", "f32", "tf32", "low" */
int gt_accuracy_parse(const char *text, enum gt_accuracy *accuracy, struct gt_err *err);

/* "nn", "nt", "tn" or "tt": op of A, then op of B. */
const char *gt_problem_layout(const struct gt_problem *problem);

/* "none", "bias", "relu", "gelu", "bias+relu", "bias+gelu". */
const char *gt_epilogue_name(unsigned epilogue);

/* GT_OK, or GT_ERANGE with a sentence: sizes, leading dimensions >= row lengths, batch strides that
 * do not overlap for C, an epilogue and types that exist, no 64-bit overflow of any byte count. */
int gt_problem_check(const struct gt_problem *problem, struct gt_err *err);

/* Rows and row length of an operand as stored. */
int64_t gt_problem_rows_a(const struct gt_problem *problem);
int64_t gt_problem_cols_a(const struct gt_problem *problem);
int64_t gt_problem_rows_b(const struct gt_problem *problem);
int64_t gt_problem_cols_b(const struct gt_problem *problem);

/* Elements from the first to one past the last of an operand over the whole batch. */
int64_t gt_problem_elements_a(const struct gt_problem *problem);
int64_t gt_problem_elements_b(const struct gt_problem *problem);
int64_t gt_problem_elements_c(const struct gt_problem *problem);

/* Alignment class of an operand: the largest of 16, 8, 4, 2, 1 bytes that divides its base pointer,
 * the bytes of a row and the bytes of a batch stride. */
int gt_problem_align_a(const struct gt_problem *problem);
int gt_problem_align_b(const struct gt_problem *problem);
int gt_problem_align_c(const struct gt_problem *problem);

/* 2*m*n*k*batch, and the fewest bytes moved: each operand once, C read only when beta != 0. */
double gt_problem_flops(const struct gt_problem *problem);
double gt_problem_bytes(const struct gt_problem *problem);

/* Whether a winner of one problem is an exact answer for the other: equal but for alpha, and beta
 * compared only by whether it is zero. */
bool gt_problem_same(const struct gt_problem *x, const struct gt_problem *y);

#endif

/* problem.h - vocabulary: further functions on struct gt_problem (gemmtune.h): names of its parts,
 * its check, sizes in elements and bytes. */
#ifndef GT_PROBLEM_H
#define GT_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gemmtune.h"

#define GT_PROBLEM_VERSION 1 /* version of the fields of struct gt_problem */

/* The activation of an epilogue, a number: GT_EPILOGUE_NONE, GT_EPILOGUE_RELU ... */
#define GT_ACTIVATION(epilogue) ((epilogue) & ~GT_EPILOGUE_BIAS)

/* Largest size, leading dimension and batch. */
#define GT_MAX_EXTENT ((int64_t)0x7fffffff)

/* GT_OK if every field is in its range: sizes 0..GT_MAX_EXTENT, leading dimensions at least a row,
 * matrices of D in a batch apart, all operands together addressable, alpha and beta finite, and 0
 * as float32 only if they are 0.  Where D is s32, they must be whole numbers that both float32 and
 * int32 hold.  Otherwise GT_ERANGE. */
int gt_problem_check(const struct gt_problem *problem, struct gt_err *err);

/* Whether alpha or beta may have that value where D is s32: a whole number that an int32 holds. */
static inline bool gt_factor_is_s32(double factor)
{
    return factor >= INT32_MIN && factor <= INT32_MAX && factor == (int32_t)factor;
}

/* Whether alpha or beta may have that value: kernels get the factor as float32, which must hold it
 * as a finite number that is 0 only if the factor is 0, and exactly where D is s32. */
bool gt_factor_valid(double factor, enum gt_dtype out);

/* Sets leading dimensions and strides to those of packed matrices. */
void gt_problem_pack(struct gt_problem *problem);

/* Changes the type of the operands and keeps the shape: out, acc and accuracy become the type's
 * defaults, leading dimensions and strides those of packed matrices. */
void gt_problem_retype(struct gt_problem *problem, enum gt_dtype type);

const char *gt_dtype_name(enum gt_dtype type); /* "f32" */
int64_t gt_dtype_size(enum gt_dtype type);     /* bytes of an element */
/* Takes the names of other programs, too ("half", "bfloat16", "int8"), as all parsers of names here
 * take capitals. */
bool gt_dtype_parse(enum gt_dtype *type, const char *text, size_t length);

/* Defaults of out, acc and accuracy for the type. */
enum gt_dtype gt_dtype_default_out(enum gt_dtype type);
enum gt_dtype gt_dtype_default_acc(enum gt_dtype type);
enum gt_accuracy gt_dtype_default_accuracy(enum gt_dtype type);

const char *gt_accuracy_name(enum gt_accuracy accuracy); /* "strict" */
bool gt_accuracy_parse(enum gt_accuracy *accuracy, const char *text, size_t length);

const char *gt_epilogue_name(unsigned epilogue); /* "bias+relu"; NULL if not allowed */
bool gt_epilogue_parse(unsigned *epilogue, const char *text, size_t length);

/* "nn", "nt", "tn", "tt" of trans_a * 2 + trans_b. */
const char *gt_layout_name(unsigned layout);
bool gt_layout_parse(unsigned *layout, const char *text, size_t length);
unsigned gt_problem_layout(const struct gt_problem *problem);

/* The operands, by which the functions below are asked. */
enum gt_operand { GT_OPERAND_A, GT_OPERAND_B, GT_OPERAND_C /* and D */ };

int64_t gt_problem_rows(const struct gt_problem *problem, enum gt_operand operand); /* as stored */
int64_t gt_problem_cols(const struct gt_problem *problem, enum gt_operand operand);
int64_t gt_problem_ld(const struct gt_problem *problem, enum gt_operand operand);
int64_t gt_problem_stride(const struct gt_problem *problem, enum gt_operand operand);
enum gt_dtype gt_problem_dtype(const struct gt_problem *problem, enum gt_operand operand);

/* Elements from the first to the last one of all matrices of the batch; 0 if there is none. */
int64_t gt_problem_elements(const struct gt_problem *problem, enum gt_operand operand);
int64_t gt_problem_bytes(const struct gt_problem *problem, enum gt_operand operand);

/* Largest of 16, 8, 4, 2, 1 that divides base, row stride and batch stride in bytes. */
int gt_problem_alignment(const struct gt_problem *problem, enum gt_operand operand);

/* Bytes of an operand's elements, each counted once.  With a stride of 0, all matrices are the same
 * one. */
double gt_problem_touched(const struct gt_problem *problem, enum gt_operand operand);

/* Least bytes that computing the problem moves: A, B and, if beta != 0, C once, D once. */
double gt_problem_traffic(const struct gt_problem *problem);

/* Floating-point operations: 2 M N K, for all matrices of the batch. */
double gt_problem_flops(const struct gt_problem *problem);

/* Elements of D that the product defines. */
static inline int64_t gt_problem_results(const struct gt_problem *problem)
{
    return problem->m * problem->n * problem->batch;
}

#endif

/* problem.h - vocabulary: further functions on struct gt_problem (gemmtune.h): names of its parts,
 * its check, sizes in elements and bytes. */
#ifndef GT_PROBLEM_H
#define GT_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gemmtune.h"
#include "problem/types.h"

#define GT_PROBLEM_VERSION 2 /* version of the fields of struct gt_problem */

/* The activation of an epilogue, a number: GT_EPILOGUE_NONE, GT_EPILOGUE_RELU ... */
#define GT_ACTIVATION(epilogue) ((epilogue) & ~GT_EPILOGUE_BIAS)
#define GT_EPILOGUE_COUNT       14 /* values of an epilogue: 0 to GT_EPILOGUE_GEGLU with a bias */

/* The words of a problem's text whose values are numbers from 0 on, in that order; and names of
 * epilogues and of types of A and B, for sentences. */
#define GT_SUMS_WORDS     "fast promoted"
#define GT_GATE_WORDS     "first second interleaved"
#define GT_BY_WORDS       "m k"
#define GT_SIZES_WORDS    "offsets masked padded"
#define GT_EPILOGUE_WORDS "none bias relu gelu gelu_tanh silu swiglu geglu, and bias+ before each"
#define GT_OPERAND_TYPES  "f32 tf32 f16 bf16 e4m3 e5m2 s8 f64 c64 c128 s4 u4 e2m1"

/* Whether two columns of the product make one of D. */
static inline bool gt_epilogue_gated(unsigned epilogue)
{
    return epilogue >= GT_EPILOGUE_SWIGLU;
}

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

/* Whether alpha or beta may have that value: kernels get the factor as float32, or as a double
 * where sums are doubles, which must hold it as a finite number that is 0 only if the factor is 0,
 * and exactly where D is s32. */
bool gt_factor_valid(double factor, enum gt_dtype out, enum gt_dtype acc);

/* Sets leading dimensions and strides to those of packed matrices. */
void gt_problem_pack(struct gt_problem *problem);

/* Changes the type of the operands and keeps the shape: out, acc and accuracy become the type's
 * defaults, leading dimensions and strides those of packed matrices. */
void gt_problem_retype(struct gt_problem *problem, enum gt_dtype type);

const char *gt_dtype_name(enum gt_dtype type); /* "f32" */
int gt_dtype_bits(enum gt_dtype type);
int64_t gt_dtype_size(enum gt_dtype type); /* bytes of an element; 1 for those of 4 bits */
/* Takes the names of other programs, too ("half", "bfloat16", "int8"), as all parsers of names here
 * take capitals. */
bool gt_dtype_parse(enum gt_dtype *type, const char *text, size_t length);

/* Defaults of out, acc and accuracy for the type. */
static inline enum gt_dtype gt_dtype_default_out(enum gt_dtype type)
{
    return (enum gt_dtype)gt_type_of(type)->out;
}
static inline enum gt_dtype gt_dtype_default_acc(enum gt_dtype type)
{
    return (enum gt_dtype)gt_type_of(type)->acc;
}
static inline enum gt_accuracy gt_dtype_default_accuracy(enum gt_dtype type)
{
    return (enum gt_accuracy)gt_type_of(type)->accuracy;
}

const char *gt_accuracy_name(enum gt_accuracy accuracy); /* "strict" */
/* Takes "f64", too, which is GT_ACCURACY_F32 of a problem of doubles. */
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

static inline enum gt_dtype gt_problem_type_b(const struct gt_problem *problem)
{
    return problem->type_b == GT_DTYPE_SAME || !problem->version ? problem->type : problem->type_b;
}
static inline enum gt_dtype gt_problem_bias(const struct gt_problem *problem)
{
    return problem->bias == GT_DTYPE_SAME || !problem->version ? problem->out : problem->bias;
}
/* Columns of D: half of n where the epilogue is gated. */
static inline int64_t gt_problem_columns(const struct gt_problem *problem)
{
    return gt_epilogue_gated(problem->epilogue) ? problem->n / 2 : problem->n;
}
static inline bool gt_problem_reads_c(const struct gt_problem *problem)
{
    return problem->beta != 0 || problem->beta_im != 0;
}
/* Whether both operands' blocks are no deeper than 32 of k: tensor cores multiply by such factors.
 */
static inline bool gt_problem_thin_blocks(const struct gt_problem *problem)
{
    return problem->scale_a.depth && problem->scale_a.depth <= 32 && problem->scale_b.depth &&
           problem->scale_b.depth <= 32;
}
/* The default of sums: promoted for 8-bit floats with scales that tensor cores do not multiply by,
 * else fast. */
static inline enum gt_sums gt_problem_default_sums(const struct gt_problem *problem)
{
    return gt_type_f8(problem->type) && (problem->scale_a.kind || problem->scale_b.kind) &&
                   !gt_problem_thin_blocks(problem)
               ? GT_SUMS_PROMOTED
               : GT_SUMS_FAST;
}

/* Matrices of an operand, stride elements apart: the batch, or the groups where each group has one.
 */
int64_t gt_problem_matrices(const struct gt_problem *problem, enum gt_operand operand);

/* Whether the problem uses none of the words of version 0.2 but its types: kernels whose
 * descriptions do not name such words serve plain problems only. */
bool gt_problem_plain(const struct gt_problem *problem);

/* ---- scales ---- */

static inline const struct gt_scale *gt_problem_scale(const struct gt_problem *problem,
                                                      enum gt_operand operand)
{
    return operand == GT_OPERAND_A   ? &problem->scale_a
           : operand == GT_OPERAND_B ? &problem->scale_b
                                     : &problem->scale_d;
}
/* Factors from the first to the last one of an operand (of D: those that are made or given); 0: it
 * has no scale. */
int64_t gt_problem_factors(const struct gt_problem *problem, enum gt_operand operand);
/* Factors in a line of blocks, the least lsa or lsb; 0: there are no lines. */
int64_t gt_problem_line(const struct gt_problem *problem, enum gt_operand operand);
int gt_scale_bits(enum gt_scale_type type);
/* Reads and writes "1x128/ue8m0/k+tensor"; an operand's default order is mn where a block has one
 * row, else k, and is left out. */
#define GT_SCALE_TEXT_MAX 32
bool gt_scale_parse(struct gt_scale *scale, const char *text, size_t length);
void gt_scale_format(const struct gt_scale *scale, char text[GT_SCALE_TEXT_MAX]);

/* Finds text[0..length) among words that blanks separate, in capitals or not; *index counts from 0.
 */
bool gt_word_parse(unsigned *index, const char *words, const char *text, size_t length);

/* A key of the problem's text, with its value, that a kernel of plain products does not serve, by
 * number, in the order of the text: "scale_a=vector".  false: there is no further one. */
#define GT_WORD_TEXT_MAX 96
bool gt_problem_word(const struct gt_problem *problem, unsigned number,
                     char text[GT_WORD_TEXT_MAX]);

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
    return problem->m * problem->n * gt_problem_matrices(problem, GT_OPERAND_C);
}

#endif

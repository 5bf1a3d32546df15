/* kernel_impl.h - declarations that the files kernel*.c share; besides these files only a fuzz
 * target includes it. */
#ifndef GT_KERNEL_IMPL_H
#define GT_KERNEL_IMPL_H

#include "base/json.h"
#include "kernel/kernel.h"
#include "problem/problem.h"

/* X(name, value): the facts of problem and device that expressions see, in slot order.  The codes
 * of the types, by name, follow in the slots after these. */
#define GT_FACT_MAP(X)                                      \
    X(M, problem->m)                                        \
    X(N, problem->n)                                        \
    X(K, problem->k)                                        \
    X(LDA, problem->lda)                                    \
    X(LDB, problem->ldb)                                    \
    X(LDC, problem->ldc)                                    \
    X(BATCH, problem->batch)                                \
    X(STRIDE_A, problem->stride_a)                          \
    X(STRIDE_B, problem->stride_b)                          \
    X(STRIDE_C, problem->stride_c)                          \
    X(ALIGN, problem->align)                                \
    X(ALIGN_A, gt_problem_alignment(problem, GT_OPERAND_A)) \
    X(ALIGN_B, gt_problem_alignment(problem, GT_OPERAND_B)) \
    X(ALIGN_C, gt_problem_alignment(problem, GT_OPERAND_C)) \
    X(TRANS_A, problem->trans_a)                            \
    X(TRANS_B, problem->trans_b)                            \
    X(BETA, gt_problem_reads_c(problem))                    \
    X(EPILOGUE, problem->epilogue)                          \
    X(SIZE_IN, gt_dtype_size(problem->type))                \
    X(SIZE_OUT, gt_dtype_size(problem->out))                \
    X(TYPE, problem->type)                                  \
    X(OUT, problem->out)                                    \
    X(ACC, problem->acc)                                    \
    X(ACCURACY, problem->accuracy)                          \
    X(CC, device->cc)                                       \
    X(SMS, device->sms)                                     \
    X(SMEM_BLOCK, device->smem_block)                       \
    X(SMEM_SM, device->smem_sm)                             \
    X(REGS_SM, device->regs_sm)                             \
    X(THREADS_SM, device->max_threads_sm)                   \
    X(L2_BYTES, device->l2_bytes)                           \
    X(CHAINED, device->chained)                             \
    X(TYPE_B, gt_problem_type_b(problem))                   \
    X(BIAS_TYPE, gt_problem_bias(problem))                  \
    X(BITS_A, gt_dtype_bits(problem->type))                 \
    X(BITS_B, gt_dtype_bits(gt_problem_type_b(problem)))    \
    X(COMPLEX, gt_type_complex(problem->type))              \
    X(CONJ_A, problem->conj_a)                              \
    X(CONJ_B, problem->conj_b)                              \
    X(PROMOTED, problem->sums)                              \
    X(SCALE_A, problem->scale_a.kind)                       \
    X(SCALE_A_M, problem->scale_a.rows)                     \
    X(SCALE_A_K, problem->scale_a.depth)                    \
    X(SCALE_A_ORDER, problem->scale_a.order)                \
    X(SCALE_A_TYPE, problem->scale_a.type)                  \
    X(SCALE_B, problem->scale_b.kind)                       \
    X(SCALE_B_N, problem->scale_b.rows)                     \
    X(SCALE_B_K, problem->scale_b.depth)                    \
    X(SCALE_B_ORDER, problem->scale_b.order)                \
    X(SCALE_B_TYPE, problem->scale_b.type)                  \
    X(SCALE_D, problem->scale_d.kind)                       \
    X(LSA, problem->lsa)                                    \
    X(LSB, problem->lsb)                                    \
    X(ZERO_A, problem->zero_a)                              \
    X(ZERO_B, problem->zero_b)                              \
    X(GATED, gt_epilogue_gated(problem->epilogue))          \
    X(GATE, problem->gate)                                  \
    X(GROUP_COUNT, problem->groups)                         \
    X(GROUPS_BY, problem->by)                               \
    X(GROUP_SIZES, problem->sizes)                          \
    X(SYMMETRIC, problem->symmetric)                        \
    X(SAME_BITS, problem->same_bits)

enum gt_fact {
#define GT_FACT_ENUM(name, value) GT_FACT_##name,
    GT_FACT_MAP(GT_FACT_ENUM)
#undef GT_FACT_ENUM
        GT_FACT_DTYPE, /* the first of the type codes */
    GT_FACT_COUNT = GT_FACT_DTYPE + GT_DTYPE_COUNT
};

/* Whether version 0.1 did not have the fact. */
static inline bool gt_fact_is_new(int fact)
{
    return (fact >= GT_FACT_TYPE_B && fact < GT_FACT_DTYPE) ||
           (fact >= GT_FACT_DTYPE + GT_F64 && fact < GT_FACT_COUNT);
}

extern const char *const gt_fact_names[GT_FACT_COUNT];

_Static_assert(GT_FACT_COUNT + GT_MAX_PARAMS + GT_MAX_DERIVED <= GT_MAX_SLOTS,
               "every name needs a slot");

/* X(member, default where the description has none): the single expressions of a launch, of a
 * tensor map, of "compile" and of the top object that decide a candidate. */
#define GT_LAUNCH_EXPRS(X) X(when, "1") X(shared, "0") X(carveout, "-1") X(pdl, "0")
#define GT_MAP_EXPRS(X)    X(when, "1") X(offset, "0") X(swizzle, "0") X(promotion, "0")
#define GT_COMPILE_EXPRS(X) \
    X(max_registers, "0")   \
    X(code_arch, "CC")      \
    X(arch_features, "0")   \
    X(code_ptx, "0")
#define GT_CANDIDATE_EXPRS(X) X(workspace, "0") X(deterministic, "1")

/* Calls `each` for every expression of launches and tensor maps.  Expressions of lists may be
 * NULL. */
void gt_kernel_each_expr(const struct gt_kernel *kernel,
                         void (*each)(void *context, struct gt_expr *expr), void *context);

/* "a", "b", "c", "d", "workspace" by enum gt_map_operand. */
extern const char *const gt_map_operand_names[GT_MAP_WORKSPACE + 1];

#define GT_WHERE_MAX 512 /* longest name of a place in a description, for sentences */

/* kernel_expand.c: replaces each item of a description's lists that stands for several items
 * ("use", "repeat") by these items.  data_dir: the folder that holds configs/formulas. */
int gt_description_expand(cJSON *root, const char *path, const char *data_dir, struct gt_err *err);

/* kernel_reader.c: fills a zeroed kernel from its description's text; kernel->path is set. */
int gt_kernel_read_description(struct gt_kernel *kernel, const char *data_dir, const char *text,
                               size_t length, struct gt_err *err);

/* kernel_template.c: reads the template of a kernel whose description is read, checks that the
 * parameters are used, and signs the kernel.  include_dirs: the user's, as in gt_kernels_load. */
int gt_kernel_read_template(struct gt_kernel *kernel, const char *data_dir,
                            const char *include_dirs, struct gt_err *err);

#endif

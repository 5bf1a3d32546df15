/* kernel_impl.h - what the files kernel*.c share; nobody else includes it. */
#ifndef GT_KERNEL_IMPL_H
#define GT_KERNEL_IMPL_H

#include "kernel/kernel.h"

/* Names of the problem and device facts, then the codes of the types by name, in slot order
 * (gt_facts_fill). */
enum gt_fact {
    GT_FACT_M,
    GT_FACT_N,
    GT_FACT_K,
    GT_FACT_LDA,
    GT_FACT_LDB,
    GT_FACT_LDC,
    GT_FACT_BATCH,
    GT_FACT_STRIDE_A,
    GT_FACT_STRIDE_B,
    GT_FACT_STRIDE_C,
    GT_FACT_ALIGN,
    GT_FACT_ALIGN_A,
    GT_FACT_ALIGN_B,
    GT_FACT_ALIGN_C,
    GT_FACT_TRANS_A,
    GT_FACT_TRANS_B,
    GT_FACT_BETA,
    GT_FACT_EPILOGUE,
    GT_FACT_SIZE_IN,
    GT_FACT_SIZE_OUT,
    GT_FACT_TYPE,
    GT_FACT_OUT,
    GT_FACT_ACC,
    GT_FACT_ACCURACY,
    GT_FACT_CC,
    GT_FACT_SMS,
    GT_FACT_SMEM_BLOCK,
    GT_FACT_SMEM_SM,
    GT_FACT_REGS_SM,
    GT_FACT_THREADS_SM,
    GT_FACT_L2_BYTES,
    GT_FACT_DTYPE, /* the first of them */
    GT_FACT_COUNT = GT_FACT_DTYPE + GT_DTYPE_COUNT
};
extern const char *const gt_fact_names[GT_FACT_COUNT];

_Static_assert(GT_FACT_COUNT + GT_MAX_PARAMS + GT_MAX_DERIVED <= GT_MAX_SLOTS,
               "every name needs a slot");

/* Whether the expression uses one of the derived values of the bit set directly. */
bool gt_kernel_uses_derived(const struct gt_kernel *kernel, const struct gt_expr *expr,
                            uint64_t derived);

/* X(member, what it is where the description does not say): the single expressions of a launch, of
 * a tensor map, of "compile" and of the top object that decide a candidate. */
#define GT_LAUNCH_EXPRS(X) X(when, "1") X(shared, "0") X(carveout, "-1") X(pdl, "0")
#define GT_MAP_EXPRS(X)    X(when, "1") X(offset, "0") X(swizzle, "0") X(promotion, "0")
#define GT_COMPILE_EXPRS(X) \
    X(max_registers, "0")   \
    X(code_arch, "CC")      \
    X(arch_features, "0")   \
    X(code_ptx, "0")
#define GT_CANDIDATE_EXPRS(X) X(workspace, "0") X(deterministic, "1")

/* "a", "b", "c", "d", "workspace" by enum gt_map_operand. */
extern const char *const gt_map_operand_names[GT_MAP_WORKSPACE + 1];

/* kernel_json.c: fills a zeroed kernel from its description's text; kernel->path is set. */
int gt_kernel_read_description(struct gt_kernel *kernel, const char *text, size_t length,
                               struct gt_err *err);

/* An expression's place in a description, for sentences: "launches[2].grid", or only the key where
 * list is NULL. */
struct gt_place {
    const char *list;
    int index;
    const char *key;
};

/* A candidate on its way to a geometry. */
struct gt_evaluation {
    const struct gt_candidate *candidate;
    struct gt_err *err;
    int64_t slots[GT_MAX_SLOTS];
};

/* kernel_geometry.c: the expression's value; GT_ERANGE unless it lies within least..most. */
int gt_geometry_eval(struct gt_evaluation *e, const struct gt_expr *expr, struct gt_place place,
                     int64_t least, int64_t most, int64_t *value);

/* kernel_maps.c: all maps of the candidate; workspace: its bytes. */
int gt_geometry_maps(struct gt_evaluation *e, int64_t workspace, struct gt_geometry *geometry);

/* kernel_template.c: reads the template of a kernel whose description is read, checks that the
 * parameters are used, and signs the kernel. */
int gt_kernel_read_template(struct gt_kernel *kernel, const char *data_dir, struct gt_err *err);

/* kernel_tokens.c: appends the preprocessing tokens of a text, a blank in front of each. */
void gt_tokens_add(struct gt_strbuf *to, const char *text);

/* Appends the canonical text of kernel->text, which was read from `path`, and of what it includes;
 * a missing include is GT_ECONFIG with file and line. */
int gt_tokens_add_template(struct gt_strbuf *to, const struct gt_kernel *kernel, const char *path,
                           struct gt_err *err);

/* kernel_signature.c: fills kernel->signature; code: the template's canonical text. */
int gt_kernel_sign(struct gt_kernel *kernel, const char *code, struct gt_err *err);

#endif

/* kernel.h - vocabulary: a kernel, which is a template plus its description
 * (configs/kernels/NAME.json); its points; and the geometry of a point for a problem on a device.
 * kernel_reader.c reads the JSON. */
#ifndef GT_KERNEL_H
#define GT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "problem/device.h"
#include "kernel/expr.h"
#include "gemmtune.h"
#include "base/strbuf.h"
#include "templates/common/maps.h"

#define GT_MAX_PARAMS      64
#define GT_MAX_CONSTRAINTS 256
#define GT_MAX_DERIVED     64
#define GT_MAX_LAUNCHES    6
#define GT_MAX_SERVES      8

struct gt_param {
    char *name, *doc;
    bool launch;    /* false: a #define, part of the cubin; true: travels in gt_args.launch[] */
    int64_t *value; /* the values that the parameter may take, in the order of the description */
    char **word;    /* a recording's words for the values 0, 1, 2..., then NULL; NULL: the values
                       are numbers */
    size_t count;
    size_t standard;  /* index of the default value */
    uint64_t derived; /* bit i: derived[i] is computed from this parameter */
};

struct gt_constraint {
    struct gt_expr *expr; /* the point is valid where this is not 0 */
    bool bet;             /* kind "bet": rules out points that are thought slow, not points that are
                             wrong */
    uint64_t depends;     /* parameters that expr asks about, see gt_kernel_depends */
    uint64_t derived;     /* derived values that expr asks about, see gt_kernel_deriveds */
    char *why;
    struct gt_pattern *instead; /* of a bet: values that a point which breaks the bet gets instead;
                                   may be NULL */
    struct gt_expr *follows;    /* of a must `PARAM == VALUE` that asks whether C is read: VALUE, of
                                   facts and other parameters alone; else NULL */
    size_t follower;            /* index of that parameter */
};

struct gt_derived {
    char *name, *doc; /* doc: NULL if not given */
    struct gt_expr *expr;
    uint64_t depends; /* parameters that the value is computed from, see gt_kernel_depends */
    uint64_t derived; /* derived values that the value is computed from, see gt_kernel_deriveds */
};

/* One kernel launch of the list that makes up a candidate.  All launches of a candidate are timed
 * as one. */
struct gt_launch {
    char *entry;
    struct gt_expr *when; /* the launch is skipped where this is 0 */
    struct gt_expr *grid[3], *block[3], *cluster[3];
    struct gt_expr *shared;   /* dynamic shared bytes */
    struct gt_expr *carveout; /* percent of the shared-memory carve-out, -1: the driver's choice */
    struct gt_expr *pdl;      /* not 0: the launch may begin before the launch in front of it has
                                 ended */
    bool maps;                /* the launch takes struct gt_maps as a second argument */
    bool more;                /* and struct gt_more (templates/common/more.h) as its last one */
};

/* The operand whose memory a tensor map describes. */
enum gt_map_operand { GT_MAP_A, GT_MAP_B, GT_MAP_C, GT_MAP_D, GT_MAP_WORKSPACE };

/* One of "tensor_maps": how TMA is to see an operand.  Dimensions are listed innermost first. */
struct gt_tensor_map {
    char *name;
    enum gt_map_operand operand;
    int element; /* enum gt_dtype, or GT_MAP_IN (A's and B's stored type), or GT_MAP_OUT (C's and
                    D's) */
#define GT_MAP_IN  (-1)
#define GT_MAP_OUT (-2)
    int rank;
    struct gt_expr *when;   /* the map is undefined where this is 0 */
    struct gt_expr *offset; /* bytes from the operand's first element */
    struct gt_expr *dims[GT_MAX_MAP_RANK], *box[GT_MAX_MAP_RANK]; /* elements */
    struct gt_expr *strides[GT_MAX_MAP_RANK]; /* bytes between neighbours in dims[i + 1] */
    struct gt_expr *swizzle, *promotion;      /* bytes */
};

/* A figure that others reported for this kernel ("reported" of the description). */
struct gt_reported {
    char *source;  /* e.g. "RTX 3090, 4096^3" */
    double tflops; /* 0: not given */
    double share;  /* share of cuBLAS's speed; 0: not given */
};

/* One value for each parameter of a kernel, in the kernel's order. */
struct gt_point {
    int64_t value[GT_MAX_PARAMS];
};

/* A part of a point: values of some parameters, with all other parameters open. */
struct gt_pattern {
    struct gt_point point; /* defaults where not named */
    uint64_t named;        /* bit i: param[i] has the value of the point */
};

/* X(member, unit, least): the inputs of the performance model (configs/README.md has units and
 * defaults).  Each member is an expression, which is optional in the description and NULL where it
 * is absent.  The model takes the value in `unit`, and takes `least` if the value is less. */
#define GT_MODEL_EXPRS(X)                                                           \
    X(block_m, 1, 1)         /* rows of D's tile per block */                       \
    X(block_n, 1, 1)         /* columns of D's tile per block */                    \
    X(block_k, 1, 1)         /* depth of a stage */                                 \
    X(load_m, 1, 1)          /* rows of A that are loaded for a tile */             \
    X(load_n, 1, 1)          /* columns of B loaded for a tile */                   \
    X(splits, 1, 1)          /* blocks that share one tile of D along k */          \
    X(stages, 1, 1)          /* tiles in flight; 1: no overlap */                   \
    X(registers, 1, 1)       /* estimate per thread, before compiling */            \
    X(lacking, 1, -HUGE_VAL) /* registers beyond the compiler's limit; < 0: room */ \
    X(fma, 1, 0)             /* FMA per thread and k step */                        \
    X(issue, 256, 0)         /* other instructions per thread and k step */         \
    X(group, 1, 1)           /* blocks of a swizzle group along m */                \
    X(shared_words, 256, 0)  /* shared wavefronts per warp and k step */            \
    X(mma, 256, 0)           /* tensor-core products per element and k step */      \
    X(mma_type, 1, 0)        /* type of these products */                           \
    X(cluster_m, 1, 1)       /* blocks along m that share loaded operands */        \
    X(cluster_n, 1, 1)       /* the same along n */                                 \
    X(prepare_read, 1, 0)    /* bytes read by launches before the product */        \
    X(prepare_write, 1, 0)   /* bytes written by these launches */                  \
    X(even, 1, 0)            /* per cent of tiles divided evenly over blocks along k */

struct gt_model {
#define GT_MODEL_MEMBER(name, unit, least) struct gt_expr *name;
    GT_MODEL_EXPRS(GT_MODEL_MEMBER)
#undef GT_MODEL_MEMBER
};

/* Scales that an entry of "serves" lists; 0 of them: only operands without a scale. */
#define GT_MAX_SERVED_SCALES 8
struct gt_served_scales {
    struct gt_scale scale[GT_MAX_SERVED_SCALES];
    size_t count;
};

/* Problems and devices that a kernel serves, whatever its parameters are. */
struct gt_serves {
    unsigned types, outs; /* bit (1u << enum gt_dtype) */
    unsigned types_b;     /* types of B where it is not A's; 0: none */
    unsigned biases;      /* types of the bias where it is not D's; 0: none */
    unsigned sums;        /* bit (1u << enum gt_sums) */
    unsigned sizes, by;   /* of groups: bits of enum gt_group_sizes and gt_groups_by; sizes 0: no
                             groups */
    unsigned gates;       /* bit (1u << enum gt_gate) */
    struct gt_served_scales scale_a, scale_b, scale_d;
    bool conj, zero, symmetric, same_bits;
    unsigned layouts;   /* bit (1u << (trans_a * 2 + trans_b)) */
    unsigned epilogues; /* bit (1u << epilogue flags) */
    int min_cc, max_cc;
    int64_t max_m;             /* rows of D */
    enum gt_accuracy accuracy; /* the best accuracy that the kernel can reach */
    bool batched;
};

struct gt_kernel {
    char *name, *doc;
    char *path;          /* path of the description */
    char *template_path; /* relative to the data folder: "templates/simt/gemm.cu" */
    char *text;          /* text of the template */
    char *include_dirs;  /* <data folder>/templates, the user's, that of a template of his own: a
                            line each */
    char signature[33];  /* hex digest of all that decides a candidate, made in kernel_template.c */
    bool production;     /* false: a rung of the ladder, for `tune ladder` and by name */
    int rung;            /* place in the ladder; 0: none */
    struct gt_reported *reported;
    size_t reported_count;
    struct gt_pattern *seed; /* seeds: tried first, where they fit ("seeds" of the description) */
    size_t seeds;
    struct gt_serves entry[GT_MAX_SERVES]; /* "serves": a problem must suit one of these entries */
    size_t entries;
    /* space */
    struct gt_param param[GT_MAX_PARAMS];
    size_t params;
    struct gt_derived derived[GT_MAX_DERIVED];
    size_t deriveds;
    struct gt_constraint *constraint;
    size_t constraints;
    struct gt_launch launch[GT_MAX_LAUNCHES];
    size_t launches;
    struct gt_tensor_map map[GT_MAX_MAPS];
    size_t maps;
    struct gt_expr *workspace;     /* bytes */
    struct gt_expr *deterministic; /* 0: launches may differ in the last bits (atomics) */
    struct gt_expr *max_registers; /* 0: no limit */
    struct gt_expr *code_arch;     /* arch to compile for, e.g. 86; usually CC */
    struct gt_expr *arch_features; /* 1: compile with the features that only that arch has
                                      (sm_100a); always so for sm_90 */
    struct gt_expr *code_ptx;      /* 1: compile by way of PTX, see compile.h */
    struct gt_model model;
    struct gt_names names; /* slots: problem and device facts, parameters, derived */
    size_t first_param;    /* slot of param[0]; derived follow the parameters */
};

/* What the stages work on: one point of a kernel for a problem on a device. */
struct gt_candidate {
    const struct gt_kernel *kernel;
    const struct gt_problem *problem;
    const struct gt_device *device;
    struct gt_point point;
};

/* Reads and checks a description and its template.  Errors name file, line (for malformed JSON) and
 * key.  Free with gt_kernel_free. */
int gt_kernel_load(struct gt_kernel **kernel, const char *data_dir, const char *path,
                   struct gt_err *err);
void gt_kernel_free(struct gt_kernel *kernel); /* NULL accepted */

/* Forgets the constraints of kind "bet": the space becomes larger, the signature stays. */
void gt_kernel_drop_bets(struct gt_kernel *kernel);

/* All descriptions of <data_dir>/configs/kernels, sorted by (rung, name), and of `extra_dir` if not
 * NULL (a user's own kernels).  include_dirs: further folders in which the templates of extra_dir
 * find headers, "DIR[:DIR...]", at most GT_MAX_INCLUDE_DIRS; NULL: none. */
#define GT_MAX_INCLUDE_DIRS 16
struct gt_kernels {
    struct gt_kernel **kernel;
    size_t count;
};
int gt_kernels_load(struct gt_kernels *kernels, const char *data_dir, const char *extra_dir,
                    const char *include_dirs, struct gt_err *err);

/* Adds the descriptions of a further folder.  On failure some descriptions may have been added. */
int gt_kernels_add(struct gt_kernels *kernels, const char *data_dir, const char *dir,
                   const char *include_dirs, struct gt_err *err);

void gt_kernels_release(struct gt_kernels *kernels);

/* The parameters that an expression of the kernel depends on, directly or through derived names:
 * bit i for param[i]. */
uint64_t gt_kernel_depends(const struct gt_kernel *kernel, const struct gt_expr *expr);

/* The derived values that an expression of the kernel depends on, directly or through other derived
 * values: bit i for derived[i]. */
uint64_t gt_kernel_deriveds(const struct gt_kernel *kernel, const struct gt_expr *expr);

/* The kernel of that name; NULL, with a sentence that suggests a near name, if there is none. */
struct gt_kernel *gt_kernels_find(const struct gt_kernels *kernels, const char *name,
                                  struct gt_err *err);

/* The data folder, which holds templates/ and configs/: $GEMMTUNE_DATA, else the folder beside the
 * program, else the installed one.  The string is malloc'ed. */
int gt_data_dir(char **path, struct gt_err *err);

/* The database that the tuner and gt_open use where none is named: $GEMMTUNE_DB, else
 * gemmtune/gemmtune.db in $XDG_DATA_HOME or in ~/.local/share.  *path is malloc'ed; the file need
 * not exist.  create: missing folders above the file are created (mode 0700), but never those above
 * $GEMMTUNE_DB.  GT_ENOTFOUND: none of the variables is set; GT_EDB: the file is another user's, or
 * others may write it; GT_EIO: a folder cannot be created.  The variables are ignored in a program
 * that runs with more rights than its user (secure_getenv). */
int gt_default_database(char **path, bool create, struct gt_err *err);

/* Whether the kernel serves the problem on the device, whatever its parameters are. */
bool gt_kernel_serves(const struct gt_kernel *kernel, const struct gt_problem *problem,
                      const struct gt_device *device);

/* Why none of the kernels serves the problem, as part of a sentence: "FP8 needs sm_89 or later, and
 * this is sm_86" (kernel_serves.c).  who: what to call the kernels, e.g. "kernel simt"; NULL: the
 * list holds all kernels, and only those in production are asked.  False: a kernel serves the
 * problem. */
#define GT_UNSERVED_MAX 200
bool gt_unserved(char text[GT_UNSERVED_MAX], const char *who, const struct gt_kernel *const *kernel,
                 size_t count, const struct gt_problem *problem, const struct gt_device *device);

/* Number of points of the cross product, before any constraint. */
double gt_kernel_cross_product(const struct gt_kernel *kernel);

/* "BM=128,BN=64,..." in the kernel's order; parse takes any order, missing parameters get their
 * default; unknown names and values are errors that list the allowed ones. */
int gt_point_parse(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                   struct gt_err *err);
/* As gt_point_parse, for a part of a point: only the named parameters have a value. */
int gt_pattern_parse(struct gt_pattern *pattern, const struct gt_kernel *kernel, const char *text,
                     struct gt_err *err);
/* Appends a value of the parameter: its word, or the number. */
void gt_param_format(struct gt_strbuf *buf, const struct gt_param *param, int64_t value);
/* Whether the kernel's parameters have the same values in both points. */
bool gt_point_same(const struct gt_kernel *kernel, const struct gt_point *x,
                   const struct gt_point *y);
void gt_point_format(struct gt_strbuf *buf, const struct gt_kernel *kernel,
                     const struct gt_point *point);
void gt_point_default(struct gt_point *point, const struct gt_kernel *kernel);

/* Fills slots[0 .. names.count) for a candidate: facts, parameters, derived values. */
int gt_candidate_slots(const struct gt_candidate *candidate, int64_t slots[GT_MAX_SLOTS],
                       struct gt_err *err);

/* Fills only the problem and device facts: slots[0 .. first_param). */
void gt_facts_fill(const struct gt_problem *problem, const struct gt_device *device,
                   int64_t slots[GT_MAX_SLOTS]);

/* Computes the derived values of a set into their slots; derived values that they depend on are in
 * the set, in `undefined`, or computed already.  Returns `undefined` and the values that cannot be
 * computed (a division by zero, say); *rc and err describe the first of these. */
uint64_t gt_kernel_derive(const struct gt_kernel *kernel, uint64_t set, uint64_t undefined,
                          int64_t *slots, int *rc, struct gt_err *err);

/* Whether a constraint holds: 1 or 0; < 0, an error, if its expression cannot be computed. */
int gt_constraint_holds(const struct gt_constraint *constraint, const int64_t *slots,
                        struct gt_err *err);

/* *failed: -1 if every constraint holds, else the index of the first constraint that does not hold;
 * either is GT_OK.  Constraints are checked in order: a value that cannot be computed (a division
 * by zero) is an error only if no earlier constraint rules the point out. */
int gt_candidate_valid(const struct gt_candidate *candidate, int *failed, struct gt_err *err);

/* As gt_candidate_valid, but bets do not count: the point may be thought slow. */
int gt_candidate_possible(const struct gt_candidate *candidate, int *failed, struct gt_err *err);

/* Gives a point the values that the bets it breaks name ("instead" in a description).  So a winner
 * of another problem, or a winner that is older than a bet, becomes a point that the bet takes for
 * as fast or faster.  A parameter that a must fixes by beta (`READ_C == (BETA && !SPLIT)`)
 * follows the problem, so that a winner without C serves with C, and back.  The new point is
 * expected to take the old point's time, and does not count as adapted.  Other constraints may be
 * broken before and after.  Returns whether the point changed. */
bool gt_candidate_renew(struct gt_candidate *candidate);

/* A candidate's slots while they are computed anew, after some parameters got other values.  Only
 * expressions that ask for a value that differs are computed: a tenth of the work of
 * gt_candidate_slots. */
struct gt_change {
    const struct gt_kernel *kernel;
    const int64_t *before;              /* slots before the change (gt_candidate_slots) */
    int64_t *now;                       /* slots after the change */
    uint64_t stale;                     /* bit i: derived[i] is not computed anew yet */
    uint64_t differ[GT_MAX_SLOTS / 64]; /* bit set of the slots whose value differs from `before` */
};
void gt_change_begin(struct gt_change *change, const struct gt_candidate *candidate,
                     uint64_t changed, const int64_t before[GT_MAX_SLOTS],
                     int64_t now[GT_MAX_SLOTS]);

/* Computes the derived values of the bit set, and all derived values that they depend on; false: a
 * value cannot be computed. */
bool gt_change_derive(struct gt_change *change, uint64_t derived);

/* Whether the expression uses a value that differs. */
bool gt_change_asked(const struct gt_change *change, const struct gt_expr *expr);

/* Whether a candidate that was valid still is, after the parameters `changed` got other values.
 * now: receives the candidate's slots if it is valid.  The constraint of the index *likely is
 * checked first, and *likely becomes the index of the constraint that does not hold; any number
 * will do at first. */
bool gt_candidate_still_valid(const struct gt_candidate *candidate, uint64_t changed,
                              const int64_t before[GT_MAX_SLOTS], int64_t now[GT_MAX_SLOTS],
                              size_t *likely);

/* Whether a candidate that was valid breaks a constraint after the parameters `changed` got other
 * values.  *broken: the parameters that the first broken constraint depends on; where a value
 * cannot be computed, the changed parameters; 0: the candidate is valid. */
bool gt_candidate_breaks(const struct gt_candidate *candidate, uint64_t changed,
                         const int64_t before[GT_MAX_SLOTS], int64_t now[GT_MAX_SLOTS],
                         uint64_t *broken);

struct gt_launch_geometry {
    const char *entry;
    unsigned grid[3], block[3], cluster[3], shared_bytes;
    int carveout;
    bool pdl, maps, more;
};

/* A tensor map in numbers that the driver accepts. */
struct gt_map_geometry {
    bool used; /* false: the map is undefined for this candidate, and the rest is 0 */
    enum gt_map_operand operand;
    enum gt_dtype element;
    int64_t offset; /* bytes from the operand's first element; a multiple of 16 */
    int rank;
    uint64_t dims[GT_MAX_MAP_RANK];    /* elements, 1..2^32 */
    uint64_t strides[GT_MAX_MAP_RANK]; /* bytes; [0] is an element's size */
    uint32_t box[GT_MAX_MAP_RANK];     /* elements, 1..256 */
    int swizzle;                       /* bytes: 0 (none), 32, 64, 128 */
    int promotion;                     /* bytes that L2 fetches at least: 0 (none), 64, 128, 256 */
};

/* Everything that launching and compiling need to know of a candidate.  A launch whose grid is
 * empty (a size of 0) is left out. */
struct gt_geometry {
    struct gt_launch_geometry launch[GT_MAX_LAUNCHES];
    size_t launches; /* number of launches whose grid is not empty */
    struct gt_map_geometry map[GT_MAX_MAPS];
    size_t maps;
    size_t workspace_bytes;
    int launch_param[16]; /* gt_args.launch[] */
    bool deterministic;
    int max_registers, code_arch;
    bool arch_features, code_ptx;
};

/* GT_ERANGE, with a sentence that names kernel, key and value, if the device cannot launch the
 * candidate: more than 1024 threads, shared memory beyond SMEM_BLOCK, a grid beyond CUDA's limits,
 * a tensor map that the driver would refuse or that reaches out of its operand... */
int gt_candidate_geometry(const struct gt_candidate *candidate, struct gt_geometry *geometry,
                          struct gt_err *err);

/* Computes the part of the geometry that a model needs, from the candidate's slots
 * (gt_candidate_slots): launches, workspace and max_registers.  The rest is 0, and
 * gt_candidate_geometry may still refuse it. */
int gt_candidate_launches(const struct gt_candidate *candidate, const int64_t slots[GT_MAX_SLOTS],
                          struct gt_geometry *geometry, struct gt_err *err);

#endif

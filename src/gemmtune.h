/* gemmtune.h - the one public header of libgemmtune: which kernel multiplies this shape fastest
 * here?
 *
 * Names that this header does not declare are not API.  Compiling with the header and looking a
 * winner up need neither CUDA headers nor a GPU; gt_plan and gt_run open the driver (libcuda.so.1)
 * at run time.
 *
 * Matrices are row-major: D[m,n] = epilogue(alpha * op(A)[m,k] op(B)[k,n] + beta * C[m,n]). Callers
 * with column-major data swap A with B and M with N.  Leading dimensions count elements.
 *
 * Errors: every function that can fail returns GT_OK (0) or a negative code of GT_ERROR_MAP and, if
 * `err` is not NULL, leaves one complete sentence in err->msg; err is untouched on success.  The
 * library never prints and never exits, and a file that may not grow or a pipe without a reader
 * does not end the program either: what the library writes raises no SIGXFSZ and no SIGPIPE.
 *
 * Threads: a struct gt may be used by any number of threads at once.  A struct gt_plan may be run
 * by several threads at once; free it only when none of them uses it.  A program may fork at any
 * time, and the child may look up in the same struct gt.  As with all of CUDA, plans are of no use
 * in the child.
 *
 * Structures that a program fills may get further members at their ends in later versions.  They
 * begin with their size: GT_OPTIONS_INIT and GT_OPERANDS_INIT set it, e.g.
 *     struct gt_options options = {GT_OPTIONS_INIT, .allow_nvrtc = 1};
 * A size of 0 stands for the members of version 0.1 (operands: up to beta_im), so that
 * `= {.allow_nvrtc = 1}` works too.  Programs of version 0.1 are compiled anew for this one. */
#ifndef GEMMTUNE_H
#define GEMMTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GT_VERSION_MAJOR 0
#define GT_VERSION_MINOR 2
#define GT_VERSION_PATCH 0

/* Version of the linked library: major << 16 | minor << 8 | patch. */
unsigned gt_version(void);

/* X(name, value, text): every error code.  Codes are never renumbered. */
#define GT_ERROR_MAP(X)                                            \
    X(NOMEM, -1, "out of memory")                                  \
    X(IO, -2, "cannot read or write a file")                       \
    X(SYNTAX, -3, "malformed text")                                \
    X(RANGE, -4, "value outside its allowed range")                \
    X(CONFIG, -5, "malformed configuration file")                  \
    X(DB, -6, "database error")                                    \
    X(STALE, -7, "database of another program or a newer version") \
    X(CUDA, -8, "CUDA driver error")                               \
    X(NVRTC, -9, "kernel source does not compile")                 \
    X(NOGPU, -10, "no usable GPU")                                 \
    X(NOLIB, -11, "a library of the CUDA toolkit is missing")      \
    X(NOTFOUND, -12, "unknown name")                               \
    X(LOST, -13, "the GPU stopped answering")                      \
    X(TOOBIG, -14, "the problem does not fit the device")          \
    X(BUSY, -15, "in use by another process")                      \
    X(INTERRUPTED, -16, "interrupted")

enum gt_error {
    GT_OK = 0,
#define GT_ERROR_ENUM(name, value, text) GT_E##name = value,
    GT_ERROR_MAP(GT_ERROR_ENUM)
#undef GT_ERROR_ENUM
};

/* The fixed text of a code, e.g. "out of memory"; never NULL. */
const char *gt_strerror(int code);

/* The function that fails fills it in with one sentence, which names the file, key, call or value
 * at fault and what was allowed. */
struct gt_err {
    int code;
    char msg[1020];
};

/* X(name in the enum, text, bits per element): every element type.  C64 and C128 are complex: two
 * F32, two F64.  Two elements of S4, U4 and E2M1 share a byte, the first one in the lower bits. */
#define GT_DTYPE_MAP(X)  \
    X(F32, "f32", 32)    \
    X(TF32, "tf32", 32)  \
    X(F16, "f16", 16)    \
    X(BF16, "bf16", 16)  \
    X(E4M3, "e4m3", 8)   \
    X(E5M2, "e5m2", 8)   \
    X(S8, "s8", 8)       \
    X(S32, "s32", 32)    \
    X(F64, "f64", 64)    \
    X(C64, "c64", 64)    \
    X(C128, "c128", 128) \
    X(S4, "s4", 4)       \
    X(U4, "u4", 4)       \
    X(E2M1, "e2m1", 4)

enum gt_dtype {
#define GT_DTYPE_ENUM(name, text, bits) GT_##name,
    GT_DTYPE_MAP(GT_DTYPE_ENUM)
#undef GT_DTYPE_ENUM
        GT_DTYPE_COUNT,
    GT_DTYPE_SAME = -1, /* of B: A's type; of the bias: D's */
};

/* How far the result may be from the exact product of the stored operands.
 * STRICT: FMA arithmetic of the accumulator's type (FP32, or FP64 where the operands are F64 or
 * C128).  F32: any method whose error stays within the bound of that arithmetic; the text of a
 * problem of F64 or C128 writes `f64` for it.  TF32: results of tensor cores for operands rounded
 * to TF32.  LOW: results of tensor cores for narrower types. */
enum gt_accuracy { GT_ACCURACY_STRICT, GT_ACCURACY_F32, GT_ACCURACY_TF32, GT_ACCURACY_LOW };

/* What happens to the accumulator after alpha and beta.  First the bias is added, which has n
 * elements, one per column.  Then at most one activation follows.  The activation is a number in
 * the bits above GT_EPILOGUE_BIAS, not a set of flags.  The gated activations make one column of D
 * of two columns of the product, the gate g and the value v: activation(g) * v. */
enum gt_epilogue {
    GT_EPILOGUE_NONE = 0,
    GT_EPILOGUE_BIAS = 1,
    GT_EPILOGUE_RELU = 2,
    GT_EPILOGUE_GELU = 4,      /* x/2 * (1 + erf(x/sqrt(2))) */
    GT_EPILOGUE_SILU = 6,      /* x / (1 + exp(-x)) */
    GT_EPILOGUE_GELU_TANH = 8, /* x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    GT_EPILOGUE_SWIGLU = 10,   /* gated by SILU */
    GT_EPILOGUE_GEGLU = 12,    /* gated by GELU */
};

/* Factors in device memory that multiply an operand's elements.  All zero: there are none. */
struct gt_scale {
    unsigned char kind;   /* enum gt_scale_kind */
    unsigned char rows;   /* BLOCK: a factor spans so many rows of op(A), or columns of op(B): 1 or
                             128 */
    unsigned char depth;  /* BLOCK: and so many of k: 16, 32, 64 or 128 */
    unsigned char type;   /* enum gt_scale_type: how a factor is stored */
    unsigned char order;  /* BLOCK: enum gt_scale_order */
    unsigned char tensor; /* 1: a second factor, one float, multiplies the whole operand */
};
enum gt_scale_kind {
    GT_SCALE_NONE,
    GT_SCALE_TENSOR, /* one factor */
    GT_SCALE_VECTOR, /* a factor for each row of op(A), or for each column of op(B) and of D */
    GT_SCALE_BLOCK,  /* a factor for each block of rows x depth */
};
enum gt_scale_type { GT_SCALE_F32, GT_SCALE_UE8M0, GT_SCALE_UE4M3, GT_SCALE_BF16, GT_SCALE_F16 };
/* How the factors of blocks lie: neighbours along rows of op(A) or columns of op(B) (MN), or along
 * k (K), lsa or lsb elements to the next line; or as tiles of 128 x 4 factors, the way that
 * cuBLASLt's block-scaled modes of sm_100 read them (TILED). */
enum gt_scale_order { GT_SCALE_MN, GT_SCALE_K, GT_SCALE_TILED };

/* Where products of 8-bit floats are summed: FAST: in the tensor cores' own accumulators to the
 * end; PROMOTED: added in FP32 at least every 128 of k. */
enum gt_sums { GT_SUMS_FAST, GT_SUMS_PROMOTED };

/* Which operand's rows the groups share out: M: A and D have the groups' rows one after the other,
 * B is one matrix a group; K: A and B have the groups' k, D is one matrix a group. */
enum gt_groups_by { GT_GROUPS_BY_M, GT_GROUPS_BY_K };
/* How a launch learns the groups' sizes, which lie in device memory as int32: OFFSETS: the end of
 * each group, groups numbers that grow; MASKED: a size for each group, which has room for m /
 * groups rows; PADDED: the group of each row, m numbers, a group's rows padded to a multiple of
 * 128. */
enum gt_group_sizes { GT_SIZES_OFFSETS, GT_SIZES_MASKED, GT_SIZES_PADDED };

/* Where a gated activation's columns lie: n/2 gates before n/2 values, after them, or in turns. */
enum gt_gate { GT_GATE_FIRST, GT_GATE_SECOND, GT_GATE_INTERLEAVED };

/* A GEMM problem.  Fill it with gt_problem_init or gt_problem_parse, then change fields. */
struct gt_problem {
    unsigned version; /* version of these fields, set by gt_problem_init; 0: filled by hand, and
                         type_b and bias are taken for GT_DTYPE_SAME */
    int64_t m, n, k;  /* sizes; zero is allowed */
    int64_t lda, ldb, ldc; /* elements between rows as stored; C and D share ldc */
    int64_t batch;         /* >= 1; matrices i of a batch are stride elements apart */
    int64_t stride_a, stride_b, stride_c;
    enum gt_dtype type;     /* type of A as stored, and of B unless type_b says another one */
    enum gt_dtype out;      /* type of C, D and, unless bias says another one, of the bias */
    enum gt_dtype acc;      /* type of the accumulator */
    unsigned char trans_a;  /* 0: A is stored m x k; 1: A is stored k x m */
    unsigned char trans_b;  /* 0: B is stored k x n; 1: B is stored n x k */
    unsigned char epilogue; /* an activation of GT_EPILOGUE_, with or without GT_EPILOGUE_BIAS */
    unsigned char align;    /* every base pointer is a multiple of so many bytes: 1..16 */
    enum gt_accuracy accuracy;
    double alpha, beta;       /* as timed; a look-up distinguishes only beta == 0.  Kernels get both
                                 factors in the accumulator's type, which has to hold them, and
                                 exactly so where out is s32 */
    double alpha_im, beta_im; /* imaginary parts, where the operands are complex */
    struct gt_scale scale_a, scale_b;
    int64_t lsa, lsb;        /* elements between lines of block factors (GT_SCALE_MN, GT_SCALE_K) */
    int64_t groups;          /* number of groups; 0: the product has none, 1 and more: batch is 1 */
    enum gt_dtype type_b;    /* type of B as stored; GT_DTYPE_SAME: that of A */
    enum gt_dtype bias;      /* type of the bias; GT_DTYPE_SAME: that of D */
    unsigned char by;        /* enum gt_groups_by */
    unsigned char sizes;     /* enum gt_group_sizes */
    unsigned char sums;      /* enum gt_sums; FAST where A is no 8-bit float */
    unsigned char gate;      /* enum gt_gate */
    unsigned char conj_a;    /* 1: op(A) is conjugated, too */
    unsigned char conj_b;    /* 1: op(B) is conjugated, too */
    unsigned char zero_a;    /* 1: integers of A have zero points, as many as scale factors */
    unsigned char zero_b;    /* 1: the same of B */
    struct gt_scale scale_d; /* how D is quantised to `out`: TENSOR: multiplied by a given factor;
                                VECTOR and BLOCK of 1 x 128 along n: by factors that the product
                                makes and writes */
    unsigned char symmetric; /* 1: only the lower triangle of D counts; 2: only the upper one; 3:
                                both, computed once */
    unsigned char same_bits; /* 1: a row of D has the same bits whatever m is */
    int64_t reserved[4];     /* 0: room for the fields of later versions */
};

/* A packed problem: f32, layout nn, alpha 1, beta 0, batch 1, strict, 16-byte aligned. */
void gt_problem_init(struct gt_problem *problem, int64_t m, int64_t n, int64_t k);

/* Reads "4096x4096x4096:f32:nn" with optional ":key=value" parts (acc out lda ldb ldc batch sa sb
 * sc alpha beta epi accuracy align b conj scale_a scale_b lsa lsb zero_a zero_b sums scale_d bias
 * gate groups by sizes symmetric same_bits).  The type and layout may be left out; X, *, a comma or
 * a multiplication sign may stand for both x.  A scale is written "tensor", "vector" or "1x128",
 * with optional /TYPE, /mn /k /tiled and +tensor. */
int gt_problem_parse(struct gt_problem *problem, const char *text, struct gt_err *err);

/* Longest canonical text of a problem, with the final NUL. */
#define GT_PROBLEM_TEXT_MAX 640

/* Writes the canonical text: parts that have their default value are left out. */
void gt_problem_format(const struct gt_problem *problem, char text[GT_PROBLEM_TEXT_MAX]);

/* How good an answer is, best first. */
enum gt_tier {
    GT_TIER_EXACT,  /* the problem was tuned on this device */
    GT_TIER_NEAR,   /* the nearest tuned problem's winner, adapted; the model chooses among a few */
    GT_TIER_FAMILY, /* a default point, or the winner of a less similar problem */
    GT_TIER_NONE,   /* no kernel serves the problem */
};

struct gt;      /* an open set of tables; see gt_open */
struct gt_plan; /* a kernel ready to run on one device */

/* What gt_plan does for a problem that nobody tuned on the device. */
enum gt_plan_mode {
    GT_PLAN_ANSWER = 0,  /* takes the answer of gt_lookup; if that kernel turns out to spill
                            registers, takes the next candidate, for one more compilation */
    GT_PLAN_MEASURE = 1, /* times the first eight candidates once and takes the fastest; remembers
                            the fastest until gt_close, and writes it nowhere.  See gt_plan */
};

struct gt_options {
    size_t size;           /* GT_OPTIONS_INIT; 0: the members of version 0.1 */
    const char *user_db;   /* the user's own table, searched first.  NULL: $GEMMTUNE_DB, else
                              gemmtune/gemmtune.db in $XDG_DATA_HOME or ~/.local/share, where `tune`
                              writes; that file may be missing, but must not be another user's or
                              writable by others.  "": none.  A file of `tune export --format
                              deploy` answers alone: then data_dir, cubin_dir and allow_nvrtc are
                              not needed, and system_db and kernels_dirs are not allowed */
    const char *system_db; /* the shipped table; NULL: db/shipped of the data folder */
    const char *data_dir;  /* holds templates/ and configs/; NULL: the installed folder, or
                              $GEMMTUNE_DATA */
    const char *cubin_dir; /* cubin cache; NULL: none, every plan compiles */
    const char *log_path;  /* untuned problems are appended here, one text a line; NULL: none */
    int allow_nvrtc;       /* gt_plan may compile templates of data_dir when no cubin is stored */
    const char *const *kernels_dirs; /* folders with descriptions of your own kernels, as `tune
                                        --kernels-dir` takes them; NULL ends the list; NULL: none */
    const char *include_dirs; /* folders of headers that the templates of kernels_dirs include,
                                 "DIR[:DIR...]", as `tune --include-dir` takes them; NULL: none */
    int allow_cublaslt; /* 1: gt_plan may run an algorithm of cuBLASLt that was faster than every
                           kernel (gt_answer.cublaslt), through the library opened at run time; see
                           gt_run for the operands that it takes */
    int plan_mode;      /* a value of enum gt_plan_mode; 0: GT_PLAN_ANSWER */
};
#define GT_OPTIONS_INIT .size = sizeof(struct gt_options)

/* Opens the tables named in options (NULL: all defaults).  Free with gt_close. */
int gt_open(struct gt **gt, const struct gt_options *options, struct gt_err *err);
void gt_close(struct gt *gt); /* NULL accepted */

/* An answer belongs to the struct gt it came from.  The answer stays valid until gt_close, or until
 * 8,192 other problems have been asked for after it.  At least 8,192 answers are kept, and at most
 * twice as many, in about 10 MB. */
struct gt_answer {
    enum gt_tier tier;
    const char *kernel;    /* "simt"; NULL in tier NONE */
    const char *point;     /* "BM=128,BN=128,..." */
    const char *device;    /* name of the device that the row was measured on, or of the profile */
    const char *tuned_for; /* problem text that the row was tuned for */
    int predicted;         /* 1: the row was never measured; an analytic model chose it */
    double us;             /* tier EXACT: median time of this very problem in microseconds; other
                              tiers: 0, because nobody timed the problem */
    double expected_loss;  /* slowdown to expect against a tuned kernel: 0.05 = 5 %; 0 for a row
                              that won a final on this problem.  Where a ranking chose (see
                              src/lookup/README.md), it is the loss of the ranking's choices on
                              problems left out; else it is a rule of thumb from the distance
                              between the problems.  It serves to decide what to tune next, and is
                              no bound */
    unsigned grid[3], block[3], shared_bytes;
    size_t workspace_bytes;
    double tuned_us;         /* median time of the row on the problem `tuned_for`; 0: no row */
    double expected_us;      /* expected time of this problem: us in tier EXACT, else the model's
                                estimate.  0: there is no estimate, for example because the row is
                                of another device than the one that gt_lookup was asked about by
                                name */
    const char *passed_over; /* one phrase, with the reason, on another row that was tuned for this
                                problem and was not taken, or on a damaged ranking; NULL: there is
                                neither */
    double baseline_us;      /* cuBLASLt's best median time of `tuned_for`, timed beside the row's;
                                0: no such time */
    int varies;              /* 1: the last bits may differ between launches (atomic sums) */
    int contested;           /* tier EXACT, 1: the row won a final of its sweep, timed in turns with
                                the answer that was handed out before, or the row is predicted.  0:
                                the row won no final, and is the answer because the model expects
                                every other one to be slower */
    int64_t trials;       /* tier EXACT: number of trials that the row is the best of; 0: the table
                             does not say */
    const char *cublaslt; /* cuBLASLt's algorithm that was faster (baseline_us) than the kernel on
                             this very problem, "VERSION WORKSPACE WORDS [GAIN]"; NULL: none is
                             known.  A plan runs the algorithm if gt_options.allow_cublaslt is set
                             and that version of the library is there; else the plan runs the
                             kernel, and the cublaslt of gt_plan_answer is NULL.  The
                             workspace_bytes of gt_plan_answer belongs to what the plan runs; in
                             other answers it belongs to the kernel */
    int measured; /* in gt_plan_answer with GT_PLAN_MEASURE: number of candidates that were timed.
                     The answer is the fastest of them, in expected_us microseconds.  0: none was
                     timed */
    const char *ranking; /* tier NEAR, where a ranking chose: the device that the ranking was
                            learned on, "" if its file does not say; NULL: no ranking chose */
    int in_f32; /* 1: the problem allows TF32's accuracy or less, and this kernel computes it in
                   FP32, which costs at most 1 % more.  Always 0 from a deployed file */
};

/* Best known kernel for the problem on an arch (86 for sm_86); device is NULL, or words of the
 * device's name, such as "h100".  A row of another device, or of fewer multiprocessors, is never
 * EXACT.  A measured row comes before a predicted one.  Among the measured rows of a problem on a
 * device, the fastest row that won a final is taken, whichever table holds it.  A row that won no
 * final, or is predicted, is taken only if it is faster than the time that the model expects of the
 * answer without this row.  Where the problem allows TF32, a kernel that computes in FP32 is taken
 * if that costs at most 1 % more.  Tier NONE is an answer, not an error.  A look-up needs no GPU,
 * and allocates nothing for a problem that was asked for before. */
int gt_lookup(struct gt *gt, int arch, const char *device, const struct gt_problem *problem,
              const struct gt_answer **answer, struct gt_err *err);

/* Makes the answer for the problem ready on the CUDA device `ordinal`: takes the stored cubin after
 * a digest check or, if allowed, compiles.  Among stored cubins it takes the newest that the driver
 * accepts, because machines with other drivers may share cubin_dir.  It uses the device's primary
 * context.  The plan refers to gt, which must stay open until gt_plan_free; its answer is a copy
 * that lives as long as the plan.  Code from a deployed file stays loaded until gt_close, so that
 * the next plan of the problem takes microseconds.
 *
 * With GT_PLAN_MEASURE, and a problem of tier NEAR for which a ranking chose, the first plan of the
 * problem takes longer: up to eight candidates are compiled (about half a second each; after ten
 * seconds no further one is begun) and timed for about 0.1 s, in a thread of the library, on its
 * own stream and in its own memory, which is at most a quarter of the free memory and is given back
 * afterwards.  No data and no stream of the program are touched.  Other work on the GPU meanwhile
 * makes the times less certain.  No stream may be capturing.  Threads that plan at the same time
 * wait for each other.  If the timing fails, or the answer is from a deployed file, the plan is
 * that of GT_PLAN_ANSWER; gt_answer.measured tells which plan it is. */
int gt_plan(struct gt_plan **plan, struct gt *gt, int ordinal, const struct gt_problem *problem,
            struct gt_err *err);
void gt_plan_free(struct gt_plan *plan); /* NULL accepted */
const struct gt_answer *gt_plan_answer(const struct gt_plan *plan);

/* Device pointers (CUdeviceptr values or runtime-API pointers). */
struct gt_operands {
    size_t size;           /* GT_OPERANDS_INIT; 0: the members up to beta_im */
    const void *a, *b, *c; /* c may be NULL when beta == 0.  An operand that has no element, because
                              a size is 0, may be NULL */
    void *d;               /* c == d is allowed.  Otherwise D's elements may not overlap A, B, C,
                              bias or workspace, and workspace may not overlap an operand, because
                              kernels read and write in any order.  gt_run does not check this.  D
                              may lie between the rows of another operand, as columns of one buffer
                              do */
    const void *bias;      /* n elements of the problem's bias type; NULL unless the epilogue has
                              BIAS */
    void *workspace; /* gt_answer.workspace_bytes; NULL if 0; at a multiple of 16 bytes, and of 128
                        for full speed; of 256 where cuBLASLt runs.  A run may be several launches
                        that hand data on in the workspace, so each thread needs its own workspace,
                        also on a shared stream */
    double alpha, beta;       /* the problem's accumulator type has to hold them: they are rounded
                                 to float32 unless the operands are F64 or C128 */
    double alpha_im, beta_im; /* imaginary parts, where the operands are complex */
    /* What the problem's scales, zero points and groups name; NULL what it does not name. */
    const void *scale_a, *scale_b; /* factors, as gt_problem.scale_a and scale_b say */
    const float *scale_a_tensor, *scale_b_tensor; /* the second factors (gt_scale.tensor) */
    const void *zero_a, *zero_b; /* zero points: int32, as many as factors of that operand */
    void *scale_d; /* TENSOR: the factor is read here; VECTOR, BLOCK: the factors are written */
    const int32_t *sizes; /* of the groups: enum gt_group_sizes */
};
#define GT_OPERANDS_INIT .size = sizeof(struct gt_operands)

/* Enqueues the product on a CUstream/cudaStream_t (NULL: default stream).  The call neither blocks
 * nor allocates.  The product begins when all earlier work of the stream has ended.  Points that
 * begin earlier (programmatic dependent launch between products, which the tuner tries only in
 * chains) are never an answer.  Pointers are checked against the alignment that the plan was made
 * for, which is at least an element's.  A plan that runs cuBLASLt's algorithm (gt_answer.cublaslt)
 * for an align of 16 takes only operands and a workspace at multiples of 256 bytes, as cudaMalloc
 * gives them.  Where D is s32, alpha and beta must be whole numbers that an int32 holds. */
int gt_run(const struct gt_plan *plan, void *stream, const struct gt_operands *operands,
           struct gt_err *err);

#ifdef __cplusplus
}
#endif
#endif

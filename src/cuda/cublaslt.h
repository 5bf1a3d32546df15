/* cublaslt.h - stage: a problem as cuBLASLt sees it: its descriptors, the algorithms that
 * cuBLASLt's heuristic answers, and running an algorithm.  The tuner times the algorithms
 * (tuner/timing/baseline.c); a plan runs a stored algorithm (src/lookup/plan.c).  The library is
 * opened at run time.
 *
 * cuBLASLt has column-major matrices.  A row-major D = op(A) op(B) is the column-major
 * D' = op(B)' op(A)', so B comes first, and stored rows become columns. */
#ifndef GT_CUBLASLT_H
#define GT_CUBLASLT_H

#include <stdbool.h>

#include "cuda/cuda_api.h"
#include "gemmtune.h"

struct gt_gpu;

struct gt_cublaslt {
    struct gt_cublaslt_api api;
    struct gt_gpu *gpu;
    void *handle, *desc;
    void *b, *a, *c;  /* layouts, in cuBLASLt's order; C and D share one */
    int scale;        /* type of the factors */
    char version[40]; /* "13.1.0" */
};

/* How a problem is put to cuBLASLt: device pointers that its description holds, NULL where the
 * problem has none. */
struct gt_cublaslt_recipe {
    const void *bias, *scale_a, *scale_b;
    bool fast;      /* sums of 8-bit floats stay in the tensor cores (FAST_ACCUM) */
    bool gelu_tanh; /* GELU may be computed by its tanh form, the only one that the library has */
};

/* GT_ENOLIB: the library is absent; GT_ENOTFOUND: it does not compute such a problem.  The gpu must
 * stay open. */
int gt_cublaslt_open(struct gt_cublaslt **opened, struct gt_gpu *gpu,
                     const struct gt_problem *problem, const struct gt_cublaslt_recipe *recipe,
                     struct gt_err *err);
void gt_cublaslt_close(struct gt_cublaslt *lt); /* NULL accepted */

/* The alignment of operands in bytes that the heuristic is told.  Where the problem asks for 16, it
 * is the alignment of the driver's memory.  An algorithm need not run with a smaller alignment. */
uint32_t gt_cublaslt_alignment(const struct gt_problem *problem);
#define GT_CUBLASLT_WORKSPACE 256 /* alignment of the workspace, likewise */

/* Asks for up to `most` algorithms that need no more workspace.  GT_ENOTFOUND: there is none. */
int gt_cublaslt_ask(const struct gt_cublaslt *lt, const struct gt_problem *problem,
                    size_t workspace_bytes, int most, struct gt_lt_answer *answer, int *answers,
                    struct gt_err *err);

/* A factor in the type in which cuBLASLt scales; `bits` are those of a float, or of an f16. */
union gt_lt_factor {
    uint32_t bits;
    float f32;
    int32_t s32;
    double f64;
};

/* GT_ENOTFOUND: the type is f16, and the factor is not exact or not normal in it. */
int gt_cublaslt_factor(const struct gt_cublaslt *lt, union gt_lt_factor *to, double factor,
                       struct gt_err *err);

/* Operands of a run: device pointers, and the factors. */
struct gt_cublaslt_operands {
    const void *a, *b, *c;
    void *d, *workspace;
    size_t workspace_bytes;
    union gt_lt_factor alpha, beta;
};

/* Enqueues the product.  Threads may run the same struct gt_cublaslt at once.  GT_ERANGE: cuBLASLt
 * refuses. */
int gt_cublaslt_run(const struct gt_cublaslt *lt, const struct gt_lt_algo *algo,
                    const struct gt_cublaslt_operands *operands, void *stream, struct gt_err *err);

/* An algorithm as text, "VERSION WORKSPACE WORDS [GAIN]": the library's version, the bytes of
 * workspace that it needs, and the words of cublasLtMatmulAlgo_t in hexadecimal digits, joined by
 * dots.  The words mean the same in every process that has that version of the library.  gain: the
 * time of the heuristic's first answer, which cuBLAS takes, divided by this algorithm's time; 0:
 * not known. */
#define GT_CUBLASLT_ALGO_MAX 192
void gt_cublaslt_format(char text[GT_CUBLASLT_ALGO_MAX], const char *version,
                        const struct gt_lt_answer *answer, double gain);
double gt_cublaslt_gain(const char *text); /* 0: the text does not say */
/* GT_ENOTFOUND: the text is of another version, or malformed. */
int gt_cublaslt_parse(struct gt_lt_answer *answer, const char *version, const char *text,
                      struct gt_err *err);

#endif

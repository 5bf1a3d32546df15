/* foreign.h - reads products that other programs have written down, as problems.
 *
 * These forms are read, also mixed with other lines of a log:
 *   - PyTorch TunableOp's files, of untuned products and of results;
 *   - cublasLt's trace (CUBLASLT_LOG_LEVEL=5, also hipBLASLt's) and cuBLAS's log
 *     (CUBLAS_LOGINFO_DBG=1), a call each;
 *   - command lines of rocblas-bench and hipblaslt-bench, and their lines of YAML;
 *   - traces of PyTorch's profiler (profile(record_shapes=True));
 *   - tables with columns m, n and k, from the file's beginning on.
 * All forms but the last two store matrices by columns, and so do tables that have BLAS's columns
 * (transA, lda).  gemmtune stores them by rows, so A and B
 * change places, and so do m and n: the product by columns D = A B is, by rows, D' = B' A'. */
#ifndef GT_FOREIGN_H
#define GT_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"

#define GT_FOREIGN_REASONS 8

/* The number of products read, and of those left out because no kernel of gemmtune computes
 * them. */
struct gt_foreign {
    size_t products, left_out;
    struct {
        char what[40]; /* "of double" */
        size_t count;
    } reason[GT_FOREIGN_REASONS]; /* the last reason stands for all others */
    size_t reasons;
};

/* counted: the file has a line for each call, and `times` is the number of calls; else the file
 * does not say how often the product is called.  Returns GT_OK to go on. */
typedef int gt_foreign_visit(void *context, const struct gt_problem *problem, double times,
                             bool counted, struct gt_err *err);

/* Whether text[0..length), where text[length] is NUL, has one of these forms. */
bool gt_foreign_is(const char *text, size_t length);

/* Calls visit for every product that gemmtune has a name for, in the order of the text. GT_ECONFIG:
 * a trace of a profiler is malformed, or was recorded without shapes. */
int gt_foreign_read(struct gt_foreign *foreign, const char *text, size_t length,
                    gt_foreign_visit *visit, void *context, struct gt_err *err);

/* Appends "left out: 2 of 5 products (1 of double, 1 with scales)", or nothing if no product is
 * left out. */
struct gt_strbuf;
void gt_foreign_say(struct gt_strbuf *text, const struct gt_foreign *foreign);

#endif

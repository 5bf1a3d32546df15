/* foreign.h - products that other programs have written down, as problems.
 *
 * Read are, also mixed with other lines of a log:
 *   - PyTorch TunableOp's files, of untuned products and of results;
 *   - cublasLt's trace (CUBLASLT_LOG_LEVEL=5, also hipBLASLt's) and cuBLAS's log
 *     (CUBLAS_LOGINFO_DBG=1), a call each;
 *   - command lines of rocblas-bench and hipblaslt-bench, and their lines of YAML;
 *   - traces of PyTorch's profiler (profile(record_shapes=True)).
 * All but the last store matrices by columns.  Here they are stored by rows, so A and B change
 * places, and m and n: the product by columns D = A B is, by rows, D' = B' A'. */
#ifndef GT_FOREIGN_H
#define GT_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"

#define GT_FOREIGN_REASONS 8

/* What is read, and what is left out because no kernel of gemmtune computes it. */
struct gt_foreign {
    size_t products, left_out;
    struct {
        char what[40]; /* "of double" */
        size_t count;
    } reason[GT_FOREIGN_REASONS]; /* the last one: all others */
    size_t reasons;
};

/* counted: the file has a line for each call, so `times` calls are meant; else the product itself
 * is all that the file says.  Returns GT_OK to go on. */
typedef int gt_foreign_visit(void *context, const struct gt_problem *problem, double times,
                             bool counted, struct gt_err *err);

/* Whether text[0..length), text[length] is NUL, is of one of these kinds. */
bool gt_foreign_is(const char *text, size_t length);

/* Calls visit for every product that gemmtune has a name for, in the order of the text. GT_ECONFIG:
 * a trace of a profiler is malformed, or was recorded without shapes. */
int gt_foreign_read(struct gt_foreign *foreign, const char *text, size_t length,
                    gt_foreign_visit *visit, void *context, struct gt_err *err);

/* "left out: 2 of 5 products (1 of double, 1 with scales)"; empty if none is. */
struct gt_strbuf;
void gt_foreign_say(struct gt_strbuf *text, const struct gt_foreign *foreign);

#endif

/* foreign_impl.h - what the files foreign*.c share; nobody else includes it. */
#ifndef GT_FOREIGN_IMPL_H
#define GT_FOREIGN_IMPL_H

#include "exchange/foreign.h"

/* A piece of the text. */
struct gt_piece {
    const char *at; /* NULL: not there */
    int length;
};

/* A product as BLAS has it: matrices by columns, D = op(A) op(B) of m x n. */
struct gt_product {
    int64_t m, n, k, batch;   /* batch 0: 1 */
    int64_t ld[3], stride[3]; /* of A, B, D; 0 of ld and -1 of stride: packed */
    bool trans[2];            /* op(A), op(B) */
    struct gt_piece type[3];  /* of A, B, D by whatever name; D's may be missing: A's */
    struct gt_piece compute;  /* the type of the sums; may be missing */
    bool tf32;                /* allowed for products of float */
    bool beta;                /* is not 0 */
    bool bias, scaled;
    struct gt_piece activation; /* may be missing */
    double times;               /* 0: 1 */
    bool counted;
};

struct gt_foreign_reader {
    struct gt_foreign *foreign;
    gt_foreign_visit *visit;
    void *context;
    struct gt_err *err;
};

/* Passes a product on, or counts it as left out. */
int gt_foreign_take(struct gt_foreign_reader *reader, const struct gt_product *product);

/* Counts a product that is left out: "of double". */
void gt_foreign_leave(struct gt_foreign_reader *reader, const char *what, struct gt_piece name);

/* foreign_torch.c: a trace of PyTorch's profiler. */
bool gt_foreign_is_torch(const char *text, size_t length);
int gt_foreign_read_torch(struct gt_foreign_reader *reader, const char *text);

/* Whether the piece is the word, whatever its capitals. */
bool gt_piece_is(struct gt_piece piece, const char *word);

#endif

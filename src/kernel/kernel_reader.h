/* kernel_reader.h - what the reader of kernel descriptions (kernel_json.c) is made of: members of a
 * JSON object as strings and expressions, with sentences that say where in the file. */
#ifndef GT_KERNEL_READER_H
#define GT_KERNEL_READER_H

#include "base/json.h"
#include "kernel/kernel.h"

#define GT_READER_WHERE_MAX 512

struct gt_reader {
    struct gt_kernel *kernel;
    const cJSON *root;
    char where[GT_READER_WHERE_MAX]; /* "path: params[3]": in front of every sentence */
    struct gt_err *err;
};

/* Says where in the file the reader is. */
__attribute__((format(printf, 2, 3))) void gt_reader_at(struct gt_reader *r, const char *format,
                                                        ...);

/* A copy of a string member; *to keeps what it holds if the member is absent. */
int gt_reader_string(struct gt_reader *r, char **to, const cJSON *object, const char *key,
                     enum gt_presence presence);

/* A member that is an expression (a string or a whole number); the expression `standard` if it is
 * absent, or NULL if standard is NULL. */
int gt_reader_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *object, const char *key,
                   const char *standard);

/* A list of one to `most` expressions; *count: how many, 0 if it is absent. */
int gt_reader_exprs(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                    const char *key, int most, enum gt_presence presence, int *count);

/* A list of one to three expressions; missing ones are 1. */
int gt_reader_triple(struct gt_reader *r, struct gt_expr *expr[3], const cJSON *object,
                     const char *key, enum gt_presence presence);

/* A list under a key of the top object; `read` is called for each item and checks its type. */
int gt_reader_list(struct gt_reader *r, const char *key, size_t max, enum gt_presence presence,
                   int (*read)(struct gt_reader *, const cJSON *, size_t));

/* kernel_serves.c: reads "serves" of the top object. */
int gt_reader_serves(struct gt_reader *r);

/* kernel_maps.c: reads "tensor_maps" of the top object, once the launches are known. */
int gt_reader_maps(struct gt_reader *r);

#endif

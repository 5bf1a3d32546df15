/* kernel_reader.h - what the reader of kernel descriptions (kernel_reader.c) is made of: members of
 * a JSON object as strings and expressions, with sentences that say where in the file.
 *
 * The first failure sticks: from then on every function does nothing and returns its standard, so
 * that a reader calls them one after the other and looks at r->rc once. */
#ifndef GT_KERNEL_READER_H
#define GT_KERNEL_READER_H

#include "base/json.h"
#include "kernel/kernel.h"

#define GT_READER_WHERE_MAX 512

/* For readers in a file whose other functions are compiled for speed: a description is read once,
 * and its reader is compiled for size. */
#define GT_READS_ONCE __attribute__((cold))

struct gt_reader {
    struct gt_kernel *kernel;
    const cJSON *root;
    char where[GT_READER_WHERE_MAX]; /* "path: params[3]": in front of every sentence */
    int rc;                          /* the first failure */
    struct gt_err *err;
};

/* Says where in the file the reader is. */
__attribute__((format(printf, 2, 3))) void gt_reader_at(struct gt_reader *r, const char *format,
                                                        ...);

/* Fails with GT_ECONFIG: where the reader is, a colon and the sentence. */
__attribute__((format(printf, 2, 3))) void gt_reader_fail(struct gt_reader *r, const char *format,
                                                          ...);

/* Whether the item is an object that has only keys that are words of `allowed`, each once. */
bool gt_reader_object(struct gt_reader *r, const cJSON *item, const char *allowed);

/* A member of that type, or NULL. */
const cJSON *gt_reader_get(struct gt_reader *r, const cJSON *object, const char *key, int type,
                           enum gt_presence presence);

/* A copy of a string member; *to keeps what it holds if the member is absent. */
void gt_reader_string(struct gt_reader *r, char **to, const cJSON *object, const char *key,
                      enum gt_presence presence);

/* Numbers and truth; `standard` if the member is absent. */
int64_t gt_reader_integer(struct gt_reader *r, const cJSON *object, const char *key, int64_t least,
                          int64_t most, int64_t standard);
int64_t gt_reader_needed(struct gt_reader *r, const cJSON *object, const char *key, int64_t least,
                         int64_t most); /* one that must be there */
bool gt_reader_bool(struct gt_reader *r, const cJSON *object, const char *key, bool standard);

/* Which of the names a string member is: an index; `standard` if it is absent, or -1: it must be
 * there. */
int gt_reader_choice(struct gt_reader *r, const cJSON *object, const char *key,
                     const char *const *names, int count, int standard);

/* A member that is an expression (a string or a whole number); the expression `standard` if it is
 * absent, or NULL if standard is NULL. */
void gt_reader_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                    const char *key, const char *standard);

/* A list of one to `most` expressions; returns how many, 0 if it is absent. */
int gt_reader_exprs(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                    const char *key, int most, enum gt_presence presence);

/* A list under a key of the top object; `read` is called for each item, with where set to it. */
void gt_reader_list(struct gt_reader *r, const char *key, size_t max, enum gt_presence presence,
                    void (*read)(struct gt_reader *, const cJSON *, size_t));

/* kernel_template.c: replaces items of the lists of a description that stand for several ("use",
 * "repeat") by these.  data_dir: where configs/formulas is. */
int gt_description_expand(cJSON *root, const char *path, const char *data_dir, struct gt_err *err);

/* kernel_serves.c: reads "serves" of the top object. */
void gt_reader_serves(struct gt_reader *r);

/* kernel_geometry.c: reads "tensor_maps" of the top object, once the launches are known. */
void gt_reader_maps(struct gt_reader *r);

#endif

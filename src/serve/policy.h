/* policy.h - vocabulary: the settings of serving, which a user gives in the environment or in a
 * file.
 *
 * X(key in the file, variable of the environment, allowed values): GT_POLICY_MAP lists all
 * settings. */
#ifndef GT_POLICY_H
#define GT_POLICY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "gemmtune.h"

#define GT_POLICY_TEXT 1024 /* longest path, with the NUL */

#define GT_POLICY_MAP(X)                                    \
    X(serve, "GEMMTUNE_SERVE", "0, 1 or any")               \
    X(db, "GEMMTUNE_DB", "a path")                          \
    X(accuracy, "GEMMTUNE_ACCURACY", "strict, f32 or tf32") \
    X(margin, "GEMMTUNE_MARGIN", "a number from 0 to 100")  \
    X(cublaslt, "GEMMTUNE_CUBLASLT", "0 or 1")              \
    X(compile, "GEMMTUNE_COMPILE", "0 or 1")                \
    X(wait, "GEMMTUNE_WAIT", "0 or 1")                      \
    X(check, "GEMMTUNE_CHECK", "a whole number from 0")     \
    X(report, "GEMMTUNE_REPORT", "a path")                  \
    X(capture, "GEMMTUNE_CAPTURE", "a path")

/* The variable that names the file. */
#define GT_POLICY_FILE "GEMMTUNE_POLICY"

/* The variable that names the folder of relative paths; tune sets it to the folder that tune runs
 * in. */
#define GT_POLICY_FOLDER "GEMMTUNE_FOLDER"

enum gt_policy_serve {
    GT_SERVE_OFF,    /* decide, but leave everything to cuBLAS */
    GT_SERVE_TUNED,  /* serve winners that were measured to be faster */
    GT_SERVE_ANY,    /* serve every answer of the look-up: for tests */
    GT_SERVE_RECORD, /* decide nothing, only record: capturing */
};

struct gt_policy {
    enum gt_policy_serve serve;
    char db[GT_POLICY_TEXT];      /* "": the user's database and the shipped table */
    enum gt_accuracy accuracy;    /* accuracy of products that the program asked for in strict
                                     FP32 */
    bool no_tf32;                 /* NVIDIA_TF32_OVERRIDE=0, which NVIDIA's libraries obey */
    double margin;                /* least ratio of cuBLASLt's time to the winner's */
    bool cublaslt;                /* serve cuBLASLt's own faster algorithms, too */
    bool compile;                 /* compile kernels that the cache lacks */
    bool wait;                    /* a first call waits for the decision */
    int64_t check;                /* every n-th served call is compared; 0: none */
    char report[GT_POLICY_TEXT];  /* "": none; %p: the process's number */
    char capture[GT_POLICY_TEXT]; /* likewise */
    char folder[PATH_MAX];        /* folder of relative paths; "": the current one */
};

/* The policy of this process: defaults, then the file, then the environment.  folder: the folder in
 * which the process began; NULL: the current one.  If a key or value is wrong, err has a sentence;
 * then the policy is complete, but nothing should be served. */
int gt_policy_read(struct gt_policy *policy, const char *folder, struct gt_err *err);

/* The path as seen from any folder; the caller frees it.  NULL: no memory. */
char *gt_policy_path(const struct gt_policy *policy, const char *path);

/* Sets one setting.  GT_ENOTFOUND: no such key; GT_ERANGE: no such value. */
int gt_policy_set(struct gt_policy *policy, const char *key, const char *value, struct gt_err *err);

/* Sets the settings of a file's whole text; path: for sentences. */
int gt_policy_parse(struct gt_policy *policy, const char *path, const char *text,
                    struct gt_err *err);

#endif

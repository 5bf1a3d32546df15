/* compare.h - compares the winners of two databases: of two machines, drivers, versions of the
 * program, or days. */
#ifndef GT_COMPARE_H
#define GT_COMPARE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct gt_csv;
struct gt_err;
struct gt_store;

/* X(verdict, name, doc) */
#define GT_VERDICT_MAP(X)                                                             \
    X(SAME, "same", "the times differ by less than the noise")                        \
    X(FASTER, "faster", "B is faster by more than the noise, whatever the intervals") \
    X(SLOWER, "slower", "B is slower by more than the noise, whatever the intervals") \
    X(AMBIGUOUS, "ambiguous", "the intervals are too wide for one of the others")     \
    X(ONLY_A, "only A", "B has no measured winner")                                   \
    X(ONLY_B, "only B", "A has no measured winner")
enum gt_verdict {
#define GT_VERDICT_ENUM(verdict, name, doc) GT_VERDICT_##verdict,
    GT_VERDICT_MAP(GT_VERDICT_ENUM)
#undef GT_VERDICT_ENUM
        GT_VERDICTS
};
const char *gt_verdict_name(enum gt_verdict verdict);

/* A winner; us 0: there is no winner. */
struct gt_side {
    double us, lo_us, hi_us; /* median and its 95 % interval */
    char *kernel, *signature, *point, *date;
    int driver, nvrtc;
};

struct gt_pair {
    char *problem, *device; /* device "" where devices of any name are compared */
    int timing;             /* enum gt_timing */
    struct gt_side side[2]; /* A and B */
    double ratio, lo, hi;   /* A's time over B's: above 1, B is faster; lo, hi: the interval of
                               the ratio, from the ends of both sides' intervals; 0: a side is
                               missing */
    enum gt_verdict verdict;
};

struct gt_pairs {
    struct gt_pair *pair; /* by problem, device and L2 mode */
    size_t count, capacity, of[GT_VERDICTS];
    double geometric_mean; /* of the ratios; 0: there is no ratio */
    double noise;          /* a ratio, at least 1 */
};

/* Compares measured winners.  any_device: devices of any name are compared, by the fastest winner
 * of each problem.  *pairs is to be released also after a failure. */
int gt_compare(struct gt_pairs *pairs, struct gt_store *a, struct gt_store *b, double noise,
               bool any_device, struct gt_err *err);
void gt_pairs_release(struct gt_pairs *pairs);

/* The comparison as a document, to be freed by cJSON_Delete.  names: the names of A and B.  Each
 * pair is also a record of the CSV file, if csv is not NULL. */
cJSON *gt_compare_json(const struct gt_pairs *pairs, const char *const names[2],
                       struct gt_csv *csv);

/* Writes the page of the comparison's document. */
int gt_compare_write(FILE *file, const cJSON *json, struct gt_err *err);

#endif

/* lookup_search.h - the search for one answer, which lookup_tiers.c and lookup_near.c share.  No
 * other file includes this. */
#ifndef GT_LOOKUP_SEARCH_H
#define GT_LOOKUP_SEARCH_H

#include "lookup/lookup_impl.h"

/* Estimated slowdown of an answer against a tuned kernel.  Rules of thumb: about 5 % for each
 * doubling of a size between the problem asked for and the one tuned, 5 % each for another device
 * of the arch, a template changed since and a point that had to be adapted, 15 % for a model's
 * choice that was never run, a third for what was never tuned on the arch. */
#define GT_LOSS_NEAR      0.02
#define GT_LOSS_OCTAVE    0.05
#define GT_LOSS_DEVICE    0.05
#define GT_LOSS_CHANGED   0.05
#define GT_LOSS_ADAPTED   0.05
#define GT_LOSS_PREDICTED 0.15
#define GT_LOSS_FAMILY    0.33
#define GT_LOSS_RACED     0.10 /* a row that won no final: the best of few may be far from the best */
#define GT_LOSS_MOST      1.0

/* What is being resolved, and the best answer so far. */
struct gt_search {
    const struct gt_sources *sources;
    const char *device_name;          /* NULL: any of the arch */
    const struct gt_ranking *ranking; /* that answers for the device; NULL: there is none */
    struct gt_resolved *resolved;
    const struct gt_table_row *row; /* of the best so far; NULL: a default point */
    double score;                   /* of the best so far, in expected microseconds; 0: none */
    double expected_us;             /* of the best so far; 0: the model cannot tell */
    double off;                     /* what the model is off by on the nearest row of the device */
    bool found;
    bool doubted; /* rows of this problem that won no final are left out */
};

/* The row's kernel and point for the problem asked for; false: there is no such kernel or point
 * any more, or it does not serve the problem. */
bool gt_lookup_take_row(const struct gt_search *search, const struct gt_table_row *row,
                        struct gt_candidate *candidate);

/* Whether the row was tuned on the device that is asked for. */
bool gt_lookup_same_device(const struct gt_search *search, const struct gt_table_row *row);

/* The candidates that the search's ranking thinks of, the best first; count 0: there is no ranking,
 * or nothing is valid. */
int gt_lookup_choices(const struct gt_search *search, struct gt_choices *choices,
                      struct gt_err *err);

/* What near winners lead to: by a ranking, where there is one and something is valid; else by the
 * model alone.  predicted: from predicted rows only; else from measured ones only. */
int gt_lookup_find_close(struct gt_search *search, bool predicted, struct gt_err *err);

/* What default points and the winners of distant relatives lead to, by the model. */
int gt_lookup_find_family(struct gt_search *search, struct gt_err *err);

/* Sets answer.passed_over: the best row of the arch that was tuned for the problem and is not the
 * search's (NULL: a default point), with the reason; else, where nothing is exact, the damage of
 * the ranking. */
int gt_lookup_explain(const struct gt_search *search, struct gt_err *err);

#endif

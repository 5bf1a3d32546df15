/* score.h - what the files of build/score-search share: score_search.c (the command), score_space.c
 * (a recorded space and what a search of it is worth). */
#ifndef GT_SCORE_H
#define GT_SCORE_H

#include <stdio.h>

#include "exchange/recording.h"
#include "search/strategy.h"

#define GT_SCORE_TIMES 500 /* points of time at which a curve is known */
#define GT_SCORE_EVALS 400 /* evaluations of which a run's shares are known */

/* A recorded space, and the methodology's view of it (Willemsen et al., "A methodology for
 * comparing auto-tuning optimization algorithms", 2024; report_experiments.py of its
 * implementation). */
struct gt_score_space {
    const char *name; /* file name without folder and endings */
    struct gt_recording recording;
    struct gt_space space;
    float *sorted; /* times of the points that have one, fastest first, microseconds */
    size_t count;
    double optimum, median;          /* of them */
    double cost_mean, cost_median;   /* of an evaluation, all points, ms */
    double begin, end;               /* range of time that counts, ms */
    double baseline[GT_SCORE_TIMES]; /* best time of random search over that range */
    /* Times of the same points in other spaces; NULL: not asked for. */
    struct gt_transfer *transfer;
    size_t transfers;
};

/* Percentiles of the way from the median to the optimum at which the range begins and ends. */
#define GT_SCORE_BEGIN 0.5
#define GT_SCORE_END   0.95

struct gt_score_options {
    int seeds;
    int flying; /* points in flight at once */
    bool exact; /* the strategy is told the recorded time; else one of the samples */
    bool transfer;
    int follow; /* evaluations that had a time for which a run is followed, at least */
    int regret; /* evaluations, failed ones too, after which the regret is taken */
    FILE *runs; /* a row for each run; NULL: not asked for */
};

/* The head of `runs`.  The strategy comes last, because its options are separated by commas. */
#define GT_SCORE_RUNS_HEAD "space,seed,score,regret,strategy\n"

/* What the runs of one strategy on one space came to; sums over runs, then means. */
struct gt_score {
    double best[GT_SCORE_TIMES];  /* time of the fastest point so far */
    double rank[GT_SCORE_TIMES];  /* its place among all points, 0: the fastest */
    double share[GT_SCORE_EVALS]; /* optimum / fastest after 1, 2... evaluations that had a time */
    double performance[GT_SCORE_TIMES]; /* 0: random search, 1: the optimum */
    double score, by_rank;              /* mean performance; the same from mean ranks */
    double error, squares; /* standard error of the score over runs; squares of their scores */
    double regret;         /* how far the best was above the optimum, as a share; a mean */
    double asked, seconds; /* suggestions; the strategy's own time */
};

int gt_score_open(struct gt_score_space *space, const char *path, struct gt_err *err);
void gt_score_close(struct gt_score_space *space); /* a zeroed one is accepted */

/* Gives a space the times of the others' points that it has too. */
int gt_score_learn(struct gt_score_space *space, const struct gt_score_space *other, size_t others,
                   struct gt_err *err);

int gt_score_run(struct gt_score *score, const char *strategy, const struct gt_score_space *space,
                 const struct gt_score_options *options, struct gt_err *err);

/* The curves of one strategy. */
struct gt_score_line {
    const char *name;
    double share[GT_SCORE_EVALS], performance[GT_SCORE_TIMES]; /* means over spaces */
};

#endif

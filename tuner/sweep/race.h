/* race.h - the work on one problem as data: its searches, points to try, and what it has found.
 * sweep_parts.h has what is done with it; no other folder includes this. */
#ifndef GT_RACE_H
#define GT_RACE_H

#include "search/strategy.h"
#include "sweep/sweep.h"

/* A point to try, with its history if it was tried before. */
struct gt_retry {
    size_t point;   /* of the arm's space */
    int attempts;   /* made so far, those of earlier runs included */
    int killed;     /* attempts of this run that another cause ended; they do not count */
    bool urgent;    /* it comes before the strategy's points; others come when they are due, or
                       while the strategy waits */
    bool remeasure; /* it has a time, which cannot be trusted */
    int64_t due;    /* the number of the race's trials from which on it is due */
};

struct gt_race;

/* A point as the predictor sees it. */
struct gt_ranked {
    uint32_t point;
    uint16_t unusual; /* how many parameters do not have their default value */
    float us;
};

/* A kernel's valid points for a problem, and their ranking by the predictor. */
struct gt_scouted {
    struct gt_space space;
    struct gt_ranked *list;
    size_t listed;
    bool learned;            /* the first ones are in the order of what was learned of trials */
    size_t *described;       /* a point for each seed of the description, or SIZE_MAX */
    struct gt_random random; /* what the ranking has left of the seed's random numbers */
};

/* A point that was timed for another problem, whose cubin may be in the cache. */
struct gt_reuse {
    size_t point, set; /* of the arm's space; number of the transfer data, nearest first */
    float slower;      /* its time there, in units of the best */
    float expected;    /* its time here, in units of the best */
};

/* One of a race's searches: a kernel with its strategy. */
struct gt_arm {
    const struct gt_race *race;
    const struct gt_kernel *kernel;
    struct gt_space space;
    struct gt_ranked *list; /* the ranking, until the arm has its strategy */
    size_t listed;
    bool learned;      /* as in struct gt_scouted */
    size_t *described; /* likewise */
    struct gt_random random;
    struct gt_strategy *strategy;
    struct gt_trial_key key; /* all but the point */
    int64_t tried, flying;   /* trials, those of earlier runs included; candidates in flight */
    int64_t backfilled;      /* how many of both are backfill, which does not use the arm's share */
    double predicted_us;     /* the least of its points; 0: the model has nothing to say */
    double best_us;          /* 0: none yet */
    double reached_us;       /* likewise, candidates given up as slow included */
    bool guest;              /* it has the incumbent's point only, and no share of the budget */
    bool done, waiting;      /* the strategy has no more points; has none until it is told more */
    struct gt_retry *retry;  /* a stack, the urgent ones on top */
    size_t retries, retry_capacity;
    struct gt_reuse *reuse; /* the one expected to be fastest last */
    size_t reuses;
    struct {
        size_t after; /* the point plus 1; 0: none is kept here */
        float us;     /* its logarithm */
    } expected[1024]; /* of points asked about of late (gt_sweep_expect) */
};

/* A candidate handed to the evaluator. */
struct gt_flight {
    uint64_t id;
    struct gt_arm *arm;
    struct gt_retry what;
    struct gt_candidate candidate;
    bool launched; /* its attempt is in the store */
    bool backfill; /* the sweep chose it, not the strategy */
};

/* A point to be handed to the evaluator. */
struct gt_proposal {
    struct gt_arm *arm;
    struct gt_retry what;
    float expected; /* of one that is ready: microseconds; INFINITY: nothing is known */
};

/* A point that was tried in this turn. */
struct gt_recent {
    struct gt_arm *arm;
    size_t point;
    bool spent; /* backfill: all points that differ from it in one launch parameter were tried */
};

/* What look-up hands out for a problem, which a winner has to beat: before the sweep, and after a
 * final of the sweep its winner. */
struct gt_incumbent {
    const struct gt_kernel *kernel; /* NULL: nothing serves the problem */
    struct gt_point point;
    bool asked; /* look-up was asked */
};

#define GT_SWEEP_LEADS 8
#define GT_SWEEP_SLOW  32

/* A point that is tried because of an earlier trial. */
struct gt_hint {
    double order; /* the least comes first */
    struct gt_arm *arm;
    size_t point;
};

struct gt_run;

/* The work on one problem. */
struct gt_race {
    struct gt_run *run;
    const struct gt_sweep_options *options;
    const struct gt_problem *problem;
    struct gt_sweep_result *result, own; /* the first points to the second until the turn ends */
    struct gt_evaluator *evaluator;
    bool prepared; /* its arms are open, or there are none */
    bool begun;    /* its turn has come */
    bool opened;   /* the problem is open in the evaluator */
    bool measures; /* the evaluator measures; otherwise it predicts */
    bool baseline_asked;
    bool closing;           /* a candidate that is new now would come too late */
    struct gt_strbuf early; /* notes from before its turn, each ended by a line feed */
    char phase[80];         /* that was shown last; "": none */
    int64_t problem_id;     /* of the store */
    struct gt_scouts *scouts;
    struct gt_arm *arm;
    size_t arms;
    struct gt_proposal *draw; /* taken from the arms before the race began, for the compilers; the
                                 first `drawn` of them were submitted */
    size_t draws, drawn, draw_capacity;
    struct gt_proposal *ready; /* their cubins are in the cache when the race closes; the one
                                  expected to be fastest last */
    size_t readies, ready_capacity;
    const struct gt_incumbent *incumbent;
    struct gt_arm *incumbent_arm; /* NULL: there is none, or it does not work here */
    size_t incumbent_point;       /* of its arm's space */
    bool incumbent_due;           /* it is still to be timed */
    /* Points of near winners, tried before the strategies choose, by the distance of their problem
     * from this one, which is 0 for its own. */
    struct gt_hint lead[GT_SWEEP_LEADS];
    size_t leads, next_lead;
    /* The fastest candidates that earlier runs gave up as slow, by the time of their first launch.
     */
    struct gt_hint slow[GT_SWEEP_SLOW];
    size_t slows;
    struct gt_flight *flight;
    size_t flights, flight_capacity;
    uint64_t *next_id;          /* of the whole sweep */
    double begin_s, deadline_s; /* on the evaluator's clock; deadline 0: none */
    double search_s;            /* time for the search, counted from the first trial on */
    double latest_s;            /* when the last trial is to end, finals apart; 0: no limit */
    double searched_s;          /* when the search ended; what was ready may be tried after it */
    double finals_s;            /* what the finals may take; 0: as long as they need */
    double finals_end_s;        /* when they are to end, once they have begun; 0: no limit */
    double first_s;             /* when the first trial of this turn ended, if it has one */
    double end_s;               /* when the race ended, before the finals; 0: there was no race */
    double busy_s;              /* how long the GPU worker was at work until end_s */
    uint64_t seed;              /* of this turn's random numbers */
    int64_t tried;              /* trials of all arms but a guest, of earlier runs included */
    int64_t improved_at;        /* `tried` when the best last improved by 0.5 % */
    double best_us, anchor_us;  /* best of those; the best that improved_at refers to */
    double resumed_us;          /* the best of earlier turns and runs; 0: none */
    struct gt_improvement *history; /* every improvement of this turn */
    size_t bests, history_capacity;
    struct gt_recent *recent; /* timed since the last drift check, which may invalidate them */
    size_t recents, recent_capacity;
    struct gt_recent *backfill; /* good points, whose cubins may serve for further points */
    size_t backfills, backfill_capacity;
    int64_t reuse_due; /* `tried` from which on the points of reuse are ranked again */
    size_t at_hand;    /* points so far that needed no compiler: backfill and reuse in turn */
    double reference_us, reference_s; /* the last drift check: its time and when; 0: none */
};

#endif

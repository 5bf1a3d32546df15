/* race.h - the work on one problem as data: its searches, the points to try and the results.  The
 * functions are in sweep_parts.h; no other folder includes this file. */
#ifndef GT_RACE_H
#define GT_RACE_H

#include "search/strategy.h"
#include "sweep/sweep.h"

/* A point to try, with its history if it was tried before. */
struct gt_retry {
    size_t point;   /* of the arm's space */
    int attempts;   /* attempts made so far, in earlier runs too */
    int killed;     /* attempts of this run that something outside the candidate ended; not in
                       `attempts` */
    bool urgent;    /* the point comes before the strategy's points; other points come when they are
                       due, or while the strategy waits */
    bool remeasure; /* the point has a time that cannot be trusted */
    int64_t due;    /* the point is due once the race has this many trials */
};

struct gt_race;

/* A point as the predictor sees it. */
struct gt_ranked {
    uint32_t point;
    uint16_t unusual; /* number of parameters without their default value */
    float us;
};

/* A kernel's valid points for a problem, and their ranking by the predictor. */
struct gt_scouted {
    struct gt_space space;
    struct gt_ranked *list;
    size_t listed;
    bool learned;            /* the first points are in the order of times that the learned ranking
                                corrected */
    size_t *described;       /* for each seed of the kernel's description its point, or SIZE_MAX */
    struct gt_random random; /* the random numbers of the seed, after those that the ranking took */
};

/* A point that was timed for another problem, whose cubin may be in the cache. */
struct gt_reuse {
    size_t point, set; /* point of the arm's space; number of the set of transfer data, the nearest
                          is 0 */
    float slower;      /* time for the other problem, over the best time there */
    float expected;    /* expected time for this problem, over the best time here */
};

/* One of a race's searches: a kernel with its strategy. */
struct gt_arm {
    const struct gt_race *race;
    const struct gt_kernel *kernel;
    struct gt_space space;
    struct gt_ranked *list; /* the points ranked by the predictor; NULL once the arm has its
                               strategy */
    size_t listed;
    bool learned;      /* as in struct gt_scouted */
    size_t *described; /* likewise */
    struct gt_random random;
    struct gt_strategy *strategy;
    struct gt_trial_key key; /* all but the point */
    int64_t tried, flying;   /* trials, earlier runs included; candidates in flight */
    int64_t backfilled;      /* how many of `tried` and `flying` are backfill, which does not use
                                the arm's share */
    double predicted_us;     /* the least predicted time of the arm's points; 0: there is no
                                prediction */
    double best_us;          /* the best time; 0: none yet */
    double reached_us;       /* the best time, candidates given up as slow included */
    bool guest;              /* the arm has only the incumbent's point, and no share of the
                                budget */
    bool done, waiting;      /* done: the strategy has no more points; waiting: it has none until it
                                is told more */
    struct gt_retry *retry;  /* a stack with the urgent points on top */
    size_t retries, retry_capacity;
    struct gt_reuse *reuse; /* sorted, the fastest expected time last */
    size_t reuses;
    struct {
        size_t after; /* the point plus 1; 0: none is kept here */
        float us;     /* the logarithm of the expected time */
    } expected[1024]; /* the points that gt_sweep_expect was asked about most recently */
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
    float expected; /* set if the point is ready (compiled): expected microseconds; INFINITY: not
                       known */
};

/* A point that was tried in this turn. */
struct gt_recent {
    struct gt_arm *arm;
    size_t point;
    bool spent; /* of backfill: all points that differ in one launch parameter were tried */
};

/* The incumbent of a problem, which a new winner has to beat: what look-up hands out before the
 * sweep, and after a final of the sweep the winner of that final. */
struct gt_incumbent {
    const struct gt_kernel *kernel; /* NULL: look-up has no answer */
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
    struct gt_sweep_result *result, own; /* `result` points to `own` until the turn ends */
    struct gt_evaluator *evaluator;
    bool prepared; /* the arms are open, or there are none */
    bool begun;    /* the problem's turn has come */
    bool opened;   /* the problem is open in the evaluator */
    bool measures; /* the evaluator measures; otherwise it predicts */
    bool baseline_asked;
    bool closing;           /* a new candidate would be compiled too late */
    struct gt_strbuf early; /* notes from before the turn, each ended by a line feed */
    char phase[80];         /* the phase that was shown last; "": none */
    int64_t problem_id;     /* of the store */
    struct gt_scouts *scouts;
    struct gt_arm *arm;
    size_t arms;
    struct gt_proposal *draw; /* points taken from the arms before the race began, for the
                                 compilers; the first `drawn` points were submitted */
    size_t draws, drawn, draw_capacity;
    struct gt_proposal *ready; /* points whose cubins are in the cache when the race closes; the
                                  fastest expected time last */
    size_t readies, ready_capacity;
    const struct gt_incumbent *incumbent;
    struct gt_arm *incumbent_arm; /* NULL: there is no incumbent, or it does not work here */
    size_t incumbent_point;       /* of the space of incumbent_arm */
    bool incumbent_due;           /* the incumbent is still to be timed */
    /* Points of near winners, tried before the strategies choose.  They are sorted by the distance
     * of their problem from this problem; a point of this problem has distance 0. */
    struct gt_hint lead[GT_SWEEP_LEADS];
    size_t leads, next_lead;
    /* The fastest candidates that earlier runs gave up as slow, sorted by the time of their first
     * launch. */
    struct gt_hint slow[GT_SWEEP_SLOW];
    size_t slows;
    struct gt_flight *flight;
    size_t flights, flight_capacity;
    uint64_t *next_id;          /* of the whole sweep */
    double begin_s, deadline_s; /* on the evaluator's clock; deadline 0: none */
    double search_s;            /* time for the search, counted from the first trial on */
    double latest_s;            /* when the last trial before the finals is to end; 0: no limit */
    double searched_s;          /* when the search ended; points that are ready may be tried
                                   later */
    double finals_s;            /* seconds that the finals may take; 0: as long as they need */
    double finals_end_s;        /* when the finals are to end, set once they have begun; 0: no
                                   limit */
    double first_s;             /* when the first trial of this turn ended, if it has one */
    double end_s;               /* when the race ended, before the finals; 0: there was no race */
    double busy_s;              /* how long the GPU worker was at work until end_s */
    uint64_t seed;              /* of this turn's random numbers */
    int64_t tried;              /* trials of all arms but a guest's, earlier runs included */
    int64_t improved_at;        /* `tried` when the best last improved by 0.5 % */
    double best_us, anchor_us;  /* best time of the trials in `tried`; the best time that
                                   improved_at refers to */
    double resumed_us;          /* the best time of earlier turns and runs; 0: none */
    struct gt_improvement *history; /* every improvement of this turn */
    size_t bests, history_capacity;
    struct gt_recent *recent; /* points timed since the last drift check; the next check may
                                 invalidate their times */
    size_t recents, recent_capacity;
    struct gt_recent *backfill; /* good points, whose cubins may serve further points */
    size_t backfills, backfill_capacity;
    int64_t reuse_due; /* the value of `tried` at which the points of reuse are ranked again */
    size_t at_hand;    /* how often a point that needs no compiler was asked for; backfill and reuse
                          alternate */
    double reference_us, reference_s; /* the last drift check: the reference kernel's time, and when
                                         it was; 0: none */
};

#endif

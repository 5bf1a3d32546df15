/* cmd_bench_contest.h - what tune bench times of a problem: its stored winner, the answer that a
 * program gets without it, and cuBLASLt's best one. */
#ifndef GT_CMD_BENCH_CONTEST_H
#define GT_CMD_BENCH_CONTEST_H

#include "lookup/snapshot.h"
#include "measure/cmd_bench_report.h"
#include "session/cmd_session.h"

/* A benchmark run: what it has opened, and what it has found so far. */
struct gt_bench_run {
    struct gt_session session;
    const struct gt_kernel **kernel; /* what is tuned */
    size_t kernels;
    bool named; /* --kernels names those: only their winners are timed, others as incumbents */
    struct gt_bench_report report;
    struct gt_snapshot untuned; /* answers look-ups as a program without this database gets them */
    int rounds;                 /* 0: as many as take about 2 s */
};

/* The stored winner of a problem on this device, and the answer that a program gets without it. */
struct gt_bench_winner {
    const struct gt_bench_run *bench;
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
    bool vendor; /* the sweep found cuBLASLt's answer faster, and it is a candidate */
    struct gt_resolved untuned;
    struct gt_bench_incumbent incumbent;
};

/* Finds the winner and, where times are measured, the untuned answer; winner->bench is set, the
 * rest zeroed.  winner->kernel stays NULL if there is none of today's text of a kernel. */
int gt_bench_find_winner(struct gt_bench_winner *winner, const struct gt_problem *problem,
                         struct gt_err *err);

/* Compares the winner with the other answers, after measuring what moving the data alone takes. */
int gt_bench_compare(const struct gt_bench_run *bench, struct gt_bench_winner *winner,
                     const struct gt_problem *problem, struct gt_comparison *with,
                     struct gt_err *err);

#endif

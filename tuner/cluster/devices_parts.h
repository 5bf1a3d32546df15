/* devices_parts.h - what the files of `tune --devices` share; no other file includes this. */
#ifndef GT_DEVICES_PARTS_H
#define GT_DEVICES_PARTS_H

#include "cluster/devices.h"
#include "session/older.h"
#include "workers/process.h"
#include "workers/wire.h"

/* What one process does for a problem. */
enum gt_task_kind {
    GT_TASK_WHOLE,  /* search and finals */
    GT_TASK_SEARCH, /* one of several GPUs that search it; no finals */
    GT_TASK_FINAL   /* after those: the best of all, and finals */
};

enum gt_task_state { GT_TASK_LATER, GT_TASK_READY, GT_TASK_RUNNING, GT_TASK_DONE, GT_TASK_FAILED };

struct gt_task {
    enum gt_task_kind kind;
    enum gt_task_state state;
    size_t problem;
    int class_of;                         /* of GPUs */
    size_t searches;                      /* of the problem, for SEARCH and FINAL */
    double until_s;                       /* when the searches are to end, by the plan's clock */
    double begun_s;                       /* RUNNING: since when */
    double takes_s, search_s;             /* how long the task should take, and its budget of time
                                             as a part of it; 0: not known */
    const struct gt_device_process *by;   /* who has it, or had it last; NULL: nobody yet */
    int attempts;                         /* that a lost GPU ended */
    const struct gt_device_process *home; /* an earlier run tuned it there; NULL: nowhere here */
    const struct gt_device_process *foreseen; /* who was told that it is next; NULL: nobody */
    size_t told;                              /* devices->begun then */
    const struct gt_device_process *not_on;   /* no candidate was valid there; NULL: none */
    uint64_t seed;
};

enum gt_process_state { GT_PROCESS_NONE, GT_PROCESS_STARTING, GT_PROCESS_IDLE, GT_PROCESS_BUSY };

/* A GPU and its process. */
struct gt_device_process {
    const struct gt_devices *devices; /* of which it is one */
    int ordinal;
    enum gt_process_state state;
    struct gt_process process;
    bool out;                /* it takes no further part */
    struct gt_err why;       /* why it is out */
    struct gt_device device; /* once it was ready */
    int class_of;            /* -1: it was never ready */
    int failures;            /* in a row */
    int64_t heard;           /* by gt_clock_ms: its last word, or its start */
    struct gt_task *task;    /* BUSY */
    int64_t done;            /* problems */
    double busy_s;           /* its GPU worker at work */
};

/* The end of a task, as a process reports it, before the sentence that says why it failed and the
 * text to print. */
struct gt_task_end {
    int code;
    bool valid, nothing; /* a candidate is valid; no kernel serves the problem */
    bool decided;        /* a final was held */
    int64_t fresh;       /* trials */
    double us, baseline_us, busy_s, wall_s;
};

/* Where an earlier run tuned a problem. */
struct gt_home {
    size_t problem;
    char uuid[48], name[96]; /* of the GPU */
    bool final;              /* its winner was in a final, timed as this run times */
};

struct gt_devices {
    struct gt_cli *cli;
    struct gt_devices_options options; /* its session has the database's path */
    struct gt_tokens tokens;
    struct gt_device_process gpu[GT_DEVICES_MAX];
    size_t gpus;
    int classes;
    struct gt_home *home;
    size_t homes, home_capacity;
    struct gt_older older; /* winners of the problems that are of no use to this run */
    struct gt_task *task;
    size_t tasks, begun; /* how many there are; how often one was handed out */
    int64_t began;       /* by gt_clock_ms */
    double now_s;        /* the plan's clock: seconds since then */
    size_t turns;        /* of whole problems that have ended ... */
    double turn_s;       /* ... their mean ... */
    double over;         /* ... and what the last ones took, in units of their budgets of time */
    int told;            /* signals passed on */
    int code;            /* GT_OK, or what ends the run */
    struct gt_err why;
    size_t valid, ended; /* problems, counted for each class */
    bool printed;        /* JSON: something stands in the list */
};

/* ---- device_process.c ---- */

/* What a process is told to do next. */
struct gt_device_turn {
    size_t problem, then; /* then: the problem that is probably next; SIZE_MAX: nobody knows */
    uint64_t seed;
    bool search_only; /* no finals */
    struct gt_budget budget;
};

/* Forks the process of the GPU. */
int gt_device_process_start(struct gt_device_process *gpu, struct gt_err *err);

/* ---- devices_plan.c ---- */

/* Makes the tasks, once every GPU is ready or out: one for each problem and class. */
int gt_devices_plan(struct gt_devices *devices, struct gt_err *err);
/* Gives the GPU its next task, which it has then, or NULL; *budget: the task's.  Where more GPUs of
 * the class will soon be free than there are problems left, the problem becomes several tasks. */
struct gt_task *gt_devices_next(struct gt_devices *devices, struct gt_device_process *gpu,
                                struct gt_budget *budget);
/* The problem that the GPU, which has a whole one, will probably have after it: it can be scouted
 * meanwhile.  SIZE_MAX: nobody knows. */
size_t gt_devices_foresee(struct gt_devices *devices, const struct gt_device_process *gpu);
/* Ends a task: DONE, or after a lost GPU READY again (FAILED after several). */
void gt_devices_end(struct gt_devices *devices, struct gt_task *task, bool lost);
/* Whether a result is rather the GPU's fault than the problem's: every candidate failed, or no
 * final could be held, and there is another GPU, which was not asked yet. */
bool gt_devices_doubted(const struct gt_devices *devices, const struct gt_device_process *gpu,
                        const struct gt_task_end *end);
/* Problems that may not begin any more, because the budget of time is over. */
size_t gt_devices_late(const struct gt_devices *devices);
/* Whether a task is left that some GPU may still take. */
bool gt_devices_left(const struct gt_devices *devices);

#endif

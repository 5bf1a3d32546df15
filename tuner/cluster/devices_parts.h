/* devices_parts.h - what the files of `tune --devices` share; no other file includes this. */
#ifndef GT_DEVICES_PARTS_H
#define GT_DEVICES_PARTS_H

#include "cluster/devices.h"
#include "session/older.h"
#include "workers/process.h"
#include "workers/wire.h"

/* The part of the work on a problem that one process does. */
enum gt_task_kind {
    GT_TASK_WHOLE,  /* search and finals */
    GT_TASK_SEARCH, /* one of several searches of the problem; no finals */
    GT_TASK_FINAL   /* after the searches: finals among the best candidates of all */
};

enum gt_task_state { GT_TASK_LATER, GT_TASK_READY, GT_TASK_RUNNING, GT_TASK_DONE, GT_TASK_FAILED };

struct gt_task {
    enum gt_task_kind kind;
    enum gt_task_state state;
    size_t problem;
    int class_of;             /* the class of GPUs that the task is for */
    size_t searches;          /* how many searches the problem has; SEARCH and FINAL */
    double until_s;           /* when the searches must end, by the plan's clock */
    double begun_s;           /* RUNNING: start time, by the plan's clock */
    double takes_s, search_s; /* expected time of the task, and the part of it that is its budget;
                                 0: not known */
    const struct gt_device_process *by;   /* who has the task, or had it last; NULL: nobody yet */
    int attempts;                         /* attempts that a lost GPU ended */
    const struct gt_device_process *home; /* the GPU of an earlier run; NULL: it is not here */
    const struct gt_device_process *foreseen; /* the GPU that expects this task; NULL: none */
    size_t told;                              /* devices->begun when `foreseen` was set */
    const struct gt_device_process *not_on;   /* where no candidate was valid; NULL: nowhere */
    uint64_t seed;
};

enum gt_process_state { GT_PROCESS_NONE, GT_PROCESS_STARTING, GT_PROCESS_IDLE, GT_PROCESS_BUSY };

/* A GPU and its process. */
struct gt_device_process {
    const struct gt_devices *devices; /* all GPUs, this one included */
    int ordinal;
    enum gt_process_state state;
    struct gt_process process;
    bool out;                /* takes no further part */
    struct gt_err why;       /* why it is out */
    struct gt_device device; /* known once the process was ready */
    int class_of;            /* -1: the process was never ready */
    int failures;            /* in a row */
    int64_t heard;           /* by gt_clock_ms: the process's last message, or its start */
    struct gt_task *task;    /* the task at work; BUSY */
    int64_t done;            /* problems done */
    double busy_s;           /* seconds that its GPU worker was at work */
};

/* The end of a task, as a process reports it.  In the message the reason of a failure and the text
 * to print follow. */
struct gt_task_end {
    int code;
    bool valid, nothing; /* valid: a candidate is valid; nothing: no kernel serves the problem */
    bool decided;        /* a final was held */
    int64_t fresh;       /* trials */
    double us, baseline_us, busy_s, wall_s;
};

/* Where an earlier run tuned a problem. */
struct gt_home {
    size_t problem;
    char uuid[48], name[96]; /* of the GPU */
    bool final;              /* the problem's winner was in a final, with this run's timing */
};

struct gt_devices {
    struct gt_cli *cli;
    struct gt_devices_options options; /* the session has the database's path */
    struct gt_tokens tokens;
    struct gt_device_process gpu[GT_DEVICES_MAX];
    size_t gpus;
    int classes;
    struct gt_home *home;
    size_t homes, home_capacity;
    struct gt_older older; /* winners that are of no use to this run */
    struct gt_task *task;
    size_t tasks, begun; /* number of tasks; how often a task was handed out */
    int64_t began;       /* by gt_clock_ms */
    double now_s;        /* the plan's clock: seconds since `began` */
    size_t turns;        /* turns of whole problems that have ended */
    double turn_s;       /* the mean time of these turns */
    double over;         /* a moving mean of a turn's time in units of its budget of time */
    int told;            /* signals passed on */
    int code;            /* GT_OK, or the error that ends the run */
    struct gt_err why;
    size_t valid, ended; /* problems, counted for each class */
    bool printed;        /* JSON: the list is not empty */
};

/* ---- device_process.c ---- */

/* The next turn of a process. */
struct gt_device_turn {
    size_t problem, then; /* then: the problem that is probably next; SIZE_MAX: not known */
    uint64_t seed;
    bool search_only; /* no finals */
    struct gt_budget budget;
};

/* Forks the process of the GPU. */
int gt_device_process_start(struct gt_device_process *gpu, struct gt_err *err);

/* ---- devices_plan.c ---- */

/* Makes a task for each problem and class, once every GPU is ready or out. */
int gt_devices_plan(struct gt_devices *devices, struct gt_err *err);
/* Assigns the GPU its next task and returns the task, or NULL; *budget: the task's.  If more GPUs
 * of the class will soon be free than problems are left, the problem becomes several tasks. */
struct gt_task *gt_devices_next(struct gt_devices *devices, struct gt_device_process *gpu,
                                struct gt_budget *budget);
/* The problem that a GPU with a whole problem will probably have next, which can be scouted
 * meanwhile.  SIZE_MAX: not known. */
size_t gt_devices_foresee(struct gt_devices *devices, const struct gt_device_process *gpu);
/* Ends a task: DONE, or after a lost GPU READY again (FAILED after several). */
void gt_devices_end(struct gt_devices *devices, struct gt_task *task, bool lost);
/* Whether the GPU, and not the problem, is probably at fault: every candidate failed, or no final
 * could be held, and another GPU has not tried the problem yet. */
bool gt_devices_doubted(const struct gt_devices *devices, const struct gt_device_process *gpu,
                        const struct gt_task_end *end);
/* Counts the problems that may not begin any more, because the budget of time is used up. */
size_t gt_devices_late(const struct gt_devices *devices);
/* Whether a GPU may still take one of the tasks. */
bool gt_devices_left(const struct gt_devices *devices);

#endif

/* cmd_session.h - what the commands that tune share: options, opening kernels, evaluator, database
 * and progress, problems from --shape and --shapes, one sweep. */
#ifndef GT_CMD_SESSION_H
#define GT_CMD_SESSION_H

#include "evaluate/evaluator.h"
#include "commands/options.h"
#include "sweep/sweep.h"

struct gt_session_options {
    const char *arch, *device, *db, *kernels, *kernels_dir, *strategy, *budget, *baseline, *l2,
        *space, *values;
    int64_t jobs, seed;
    int64_t deadline, compile_cpu, compile_memory; /* s, s, MiB; 0: the defaults */
    int64_t slow;                                  /* times the best; 0: the default */
};

/* Rows for an option table; `type` has a member `struct gt_session_options session`. */
#define GT_SESSION_OPTIONS(type)                                                                   \
    {"arch",                                                                                       \
     'a',                                                                                          \
     GT_OPTION_TEXT,                                                                               \
     offsetof(type, session.arch),                                                                 \
     "sm_86",                                                                                      \
     "GPU architecture to tune for; where no such GPU is present, times are predicted",            \
     NULL,                                                                                         \
     0,                                                                                            \
     0},                                                                                           \
        {"device",                                                                                 \
         'd',                                                                                      \
         GT_OPTION_TEXT,                                                                           \
         offsetof(type, session.device),                                                           \
         "DEVICE",                                                                                 \
         "cuda or cuda:N measures on that GPU; predict:sm_86 only estimates; replay:FILE answers " \
         "from a recorded space (default: cuda if there is a GPU of the --arch, else predict)",    \
         NULL,                                                                                     \
         0,                                                                                        \
         0},                                                                                       \
        {"db",                                                                                     \
         0,                                                                                        \
         GT_OPTION_TEXT,                                                                           \
         offsetof(type, session.db),                                                               \
         "FILE",                                                                                   \
         "database that remembers every trial (default: gemmtune.db)",                             \
         NULL,                                                                                     \
         0,                                                                                        \
         0},                                                                                       \
        {"kernels-dir",                                                                            \
         0,                                                                                        \
         GT_OPTION_TEXT,                                                                           \
         offsetof(type, session.kernels_dir),                                                      \
         "DIR",                                                                                    \
         "a folder with descriptions of your own kernels",                                         \
         NULL,                                                                                     \
         0,                                                                                        \
         0},                                                                                       \
        {"strategy",                                                                               \
         0,                                                                                        \
         GT_OPTION_TEXT,                                                                           \
         offsetof(type, session.strategy),                                                         \
         "NAME",                                                                                   \
         "how the next points are chosen, NAME[:OPTION=VALUE,...]; see tune list strategies",      \
         NULL,                                                                                     \
         0,                                                                                        \
         0},                                                                                       \
        {"jobs",                                                                                   \
         'j',                                                                                      \
         GT_OPTION_INTEGER,                                                                        \
         offsetof(type, session.jobs),                                                             \
         "N",                                                                                      \
         "compile workers (default: one per core)",                                                \
         NULL,                                                                                     \
         1,                                                                                        \
         256},                                                                                     \
        {"deadline",                                                                               \
         0,                                                                                        \
         GT_OPTION_INTEGER,                                                                        \
         offsetof(type, session.deadline),                                                         \
         "SECONDS",                                                                                \
         "a candidate is killed on the GPU after this time, more for large problems "              \
         "(default: 10)",                                                                          \
         NULL,                                                                                     \
         1,                                                                                        \
         3600},                                                                                    \
        {"compile-cpu",                                                                            \
         0,                                                                                        \
         GT_OPTION_INTEGER,                                                                        \
         offsetof(type, session.compile_cpu),                                                      \
         "SECONDS",                                                                                \
         "CPU time after which compiling a candidate is given up (default: 60)",                   \
         NULL,                                                                                     \
         1,                                                                                        \
         86400},                                                                                   \
        {"compile-memory",                                                                         \
         0,                                                                                        \
         GT_OPTION_INTEGER,                                                                        \
         offsetof(type, session.compile_memory),                                                   \
         "MIB",                                                                                    \
         "memory that a compile worker may use (default: 2048)",                                   \
         NULL,                                                                                     \
         256,                                                                                      \
         1048576},                                                                                 \
        {"seed",                                                                                   \
         0,                                                                                        \
         GT_OPTION_INTEGER,                                                                        \
         offsetof(type, session.seed),                                                             \
         "N",                                                                                      \
         "of the operands' values and of the search (default: 1)",                                 \
         NULL,                                                                                     \
         1,                                                                                        \
         INT64_MAX},                                                                               \
    {                                                                                              \
        "l2", 0, GT_OPTION_TEXT, offsetof(type, session.l2), "MODE",                               \
            "cold (default): operands rotate through more than 3 x L2 while timing; warm: they "   \
            "stay",                                                                                \
            "cold|warm", 0, 0                                                                      \
    }

/* The rows of a --shape and the options that shape it; a member `struct gt_problem_options
 * problem`.
 */
struct gt_problem_options {
    struct gt_texts shape;
    const char *shapes, *dtype, *layout, *accuracy, *beta, *epilogue, *batch;
};

#define GT_PROBLEM_OPTIONS(type)                                                           \
    {"shape",                                                                              \
     's',                                                                                  \
     GT_OPTION_TEXTS,                                                                      \
     offsetof(type, problem.shape),                                                        \
     "MxNxK",                                                                              \
     "problem: sizes, or a whole text such as 512x512x64:f32:nt:batch=8; may be repeated", \
     NULL,                                                                                 \
     0,                                                                                    \
     0},                                                                                   \
        {"shapes",                                                                         \
         0,                                                                                \
         GT_OPTION_TEXT,                                                                   \
         offsetof(type, problem.shapes),                                                   \
         "FILE",                                                                           \
         "problems from a file: JSON as in configs/problems, or one problem text a line",  \
         NULL,                                                                             \
         0,                                                                                \
         0},                                                                               \
        {"dtype",                                                                          \
         0,                                                                                \
         GT_OPTION_TEXT,                                                                   \
         offsetof(type, problem.dtype),                                                    \
         "TYPE",                                                                           \
         "type of A and B (default: f32)",                                                 \
         NULL,                                                                             \
         0,                                                                                \
         0},                                                                               \
        {"layout",                                                                         \
         0,                                                                                \
         GT_OPTION_TEXT,                                                                   \
         offsetof(type, problem.layout),                                                   \
         "AB",                                                                             \
         "nn (default), nt, tn or tt: t where an operand is stored transposed",            \
         "nn|nt|tn|tt",                                                                    \
         0,                                                                                \
         0},                                                                               \
        {"accuracy",                                                                       \
         0,                                                                                \
         GT_OPTION_TEXT,                                                                   \
         offsetof(type, problem.accuracy),                                                 \
         "CLASS",                                                                          \
         "how exact the result must be: strict (default), f32, tf32, low",                 \
         "strict|f32|tf32|low",                                                            \
         0,                                                                                \
         0},                                                                               \
        {"beta",                                                                           \
         0,                                                                                \
         GT_OPTION_TEXT,                                                                   \
         offsetof(type, problem.beta),                                                     \
         "X",                                                                              \
         "factor of C (default: 0, C is not read)",                                        \
         NULL,                                                                             \
         0,                                                                                \
         0},                                                                               \
        {"epilogue",                                                                       \
         0,                                                                                \
         GT_OPTION_TEXT,                                                                   \
         offsetof(type, problem.epilogue),                                                 \
         "NAME",                                                                           \
         "none (default), bias, relu, gelu, bias+relu, bias+gelu",                         \
         "none|bias|relu|gelu|bias+relu|bias+gelu",                                        \
         0,                                                                                \
         0},                                                                               \
    {                                                                                      \
        "batch", 0, GT_OPTION_TEXT, offsetof(type, problem.batch), "N",                    \
            "matrices of a strided batch (default: 1)", NULL, 0, 0                         \
    }

struct gt_session {
    struct gt_cli *cli;
    struct gt_kernels kernels; /* all of them */
    struct gt_evaluator *evaluator;
    struct gt_store *store;
    struct gt_table shipped;      /* winners of db/shipped */
    struct gt_progress *progress; /* NULL when quiet */
    char *cache_dir;
    const char *strategy;
    const double *weight; /* of the problems of a sweep, not owned; NULL: all alike */
    uint64_t seed;
    bool fallbacks;       /* kernels of the ladder take part where those in production cannot */
    bool measures;        /* false: every time is predicted */
    bool replays;         /* every time is out of a recording */
    struct gt_err no_gpu; /* why it does not measure although nobody asked for a prediction */
};

/* gt_store_open, but a database that another process writes is a database error (exit code 5), not
 * a GPU in use (6). */
int gt_session_store(struct gt_store **store, const char *path, enum gt_store_mode mode,
                     struct gt_err *err);

/* GT_ESYNTAX if --device names a recording: for commands that it has nothing to say to. */
int gt_session_no_replay(const struct gt_session_options *options, struct gt_err *err);

/* Opens everything; on failure nothing is left open. */
int gt_session_open(struct gt_session *session, struct gt_cli *cli,
                    const struct gt_session_options *options, struct gt_err *err);
void gt_session_close(struct gt_session *session);

/* The problems that --shape and --shapes name, or, where they name none, the one of the recording
 * that the session (NULL: none is open) answers from; *problem is malloc'ed, and so is *weight
 * (their shares in averages) unless weight is NULL. */
int gt_session_problems(const struct gt_session *session, struct gt_problem **problem,
                        double **weight, size_t *count, const struct gt_problem_options *options,
                        struct gt_err *err);

/* One problem text completed by the options that it does not contradict. */
int gt_session_problem(struct gt_problem *problem, const char *text,
                       const struct gt_problem_options *options, struct gt_err *err);

/* Kernels by names ("a,b"); NULL: those in production.  *list is malloc'ed. */
int gt_session_kernels(const struct gt_kernel ***list, size_t *count,
                       const struct gt_kernels *kernels, const char *names, struct gt_err *err);

/* One sweep with the session's evaluator, database, strategy and seed; result as gt_sweep_run. */
int gt_session_sweep(struct gt_session *session, const struct gt_problem *problem, size_t problems,
                     const struct gt_kernel *const *kernel, size_t kernels,
                     const struct gt_budget *budget, struct gt_sweep_result *result,
                     struct gt_err *err);

#endif

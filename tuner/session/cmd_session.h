/* cmd_session.h - what the tuning commands share: opening kernels, evaluator, database and
 * progress; problems from --shape and --shapes; one sweep. */
#ifndef GT_CMD_SESSION_H
#define GT_CMD_SESSION_H

#include "console/options.h"
#include "evaluate/evaluator.h"
#include "session/session_options.h"
#include "sweep/sweep.h"

struct cJSON;

struct gt_session {
    struct gt_cli *cli;
    struct gt_kernels kernels; /* all of them */
    struct gt_kernels whole;   /* all kernels as described, where options changed `kernels` */
    struct gt_evaluator *evaluator;
    struct gt_store *store;
    struct gt_table shipped;      /* winners of db/shipped */
    struct gt_rankings rankings;  /* rankings of db/shipped for `kernels`, learned from trials */
    struct gt_progress *progress; /* NULL when quiet */
    const char *waits_for;        /* what the GPU's worker is doing; NULL: it is starting */
    const char *label;            /* shown before the problem's name by a sweep of one problem; or
                                     NULL */
    char *cache_dir;
    const char *strategy, *kernels_dir; /* as typed; NULL: not given */
    const double *weight;               /* of the problems of a sweep, not owned; NULL: all weights
                                           are equal */
    uint64_t seed;
    bool search_only;              /* sweeps hold no finals */
    const struct gt_problem *then; /* the probable problem of the next sweep (sweep.h) */
    struct gt_scouts *foresight;   /* the spaces scouted for `then` */
    bool alone;                    /* the incumbent takes no part in sweeps */
    struct gt_sweep_totals totals; /* of the last sweep */
    bool vendor;                   /* cuBLASLt's algorithms are candidates */
    bool fallbacks;       /* kernels of the ladder take part where kernels in production cannot */
    bool measures;        /* false: every time is predicted */
    bool replays;         /* every time comes from a recording */
    bool narrowed;        /* --values left only a part of the kernels' parameters */
    const char *asked;    /* the device that the user named by --arch or predict:NAME; NULL: none */
    struct gt_err no_gpu; /* why the session does not measure although nobody asked for a
                             prediction */
};

/* The step that follows the finals of a problem, in the session that held the finals: it measures
 * the energies of the finalists.  out: for tables; brief: for a line; json: an object for the same
 * figures.  Each may be NULL. */
struct gt_session_after {
    int (*run)(const struct gt_session_after *after, struct gt_session *session,
               const struct gt_problem *problem, FILE *out, FILE *brief, struct cJSON *json,
               struct gt_err *err);
    const char *objective;
};

/* gt_store_open, but if another process is writing the database, the error is a database error
 * (exit code 5) and not a GPU in use (6). */
int gt_session_store(struct gt_store **store, const char *path, enum gt_store_mode mode,
                     struct gt_err *err);

/* Says, also with -q, which rows of `from` gt_store_merge did not take unchanged. */
void gt_session_doubts(const struct gt_cli *cli, const char *from, int64_t refused, int64_t dated);

/* The folder of compiled kernels (gt_cache_dir).  Without a home for this folder, a name at which
 * none can be made, so that compiled kernels are kept for this run only. */
int gt_session_cache(char **path, struct gt_err *err);

/* The database that --db names (`named`).  If `named` is NULL, the default database
 * (gt_default_database), whose path cli keeps; create: its folder is made.  Only files are
 * databases: ":memory:" is refused. */
int gt_session_database(const char **path, struct gt_cli *cli, const char *named, bool create,
                        struct gt_err *err);

/* GT_ESYNTAX if --device names a recording; for commands that cannot use a recording. */
int gt_session_no_replay(const struct gt_session_options *options, struct gt_err *err);

/* Opens the session; on failure nothing is left open.  GT_EDB: options->stored is set and the
 * database is missing. */
int gt_session_open(struct gt_session *session, struct gt_cli *cli,
                    const struct gt_session_options *options, struct gt_err *err);
/* Whether gt_session_open failed with this error because no GPU can be used; a missing compiler is
 * no reason to predict instead. */
bool gt_session_lacks_gpu(const struct gt_err *err);
void gt_session_close(struct gt_session *session);

/* Takes the argument of a command that takes a list: the name of a file or of a set.  If there is
 * no such file and the argument looks like a problem, it is a problem.  options keeps the pointer.
 * GT_ESYNTAX if the argument names a set beside a problem or another set: the user may want to
 * replace the other or to add to it. */
int gt_session_argument(struct gt_problem_options *options, char *text, struct gt_err *err);

/* The problems that --shape, --shapes, --model and --random name, reduced to the --shard.  If these
 * options name none, the problem of the recording that the session (NULL: none is open) replays.
 * *problem is malloc'ed, and so is *weight (the problems' shares in averages) unless weight is
 * NULL.  A problem that is named twice is taken once. */
int gt_session_problems(const struct gt_cli *cli, const struct gt_session *session,
                        struct gt_problem **problem, double **weight, size_t *count,
                        const struct gt_problem_options *options, struct gt_err *err);

/* A problem from its text and from the options, which must not contradict the text. */
int gt_session_complete(struct gt_problem *problem, const char *text,
                        const struct gt_problem_options *options, struct gt_err *err);

/* Kernels by names ("a,b"); NULL: the kernels in production.  *list is malloc'ed. */
int gt_session_kernels(const struct gt_kernel ***list, size_t *count,
                       const struct gt_kernels *kernels, const char *names, struct gt_err *err);

/* One sweep with the session's evaluator, database, strategy and seed; `result` and errors as in
 * gt_sweep_run. */
int gt_session_sweep(struct gt_session *session, const struct gt_problem *problem, size_t problems,
                     const struct gt_kernel *const *kernel, size_t kernels,
                     const struct gt_budget *budget, struct gt_sweep_result *result,
                     struct gt_err *err);

/* Whether a GPU that has `seconds` for `problems` problems will not get to all of them; `text` is
 * the sentence that says so at the start. */
#define GT_BUDGET_TEXT 160
bool gt_session_warn_of_budget(char text[GT_BUDGET_TEXT], double seconds, size_t problems);

/* Compiles the `most` first candidates of a sweep of one problem; see gt_sweep_compile. */
int gt_session_compile(struct gt_session *session, const struct gt_problem *problem,
                       const struct gt_kernel *const *kernel, size_t kernels,
                       const struct gt_budget *budget, size_t most, struct gt_sweep_ahead *ahead,
                       struct gt_err *err);

#endif

/* cmd_session.h - what the commands that tune share: opening kernels, evaluator, database and
 * progress, problems from --shape and --shapes, one sweep. */
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
    struct gt_kernels whole;   /* the same as described, where options changed `kernels` */
    struct gt_evaluator *evaluator;
    struct gt_store *store;
    struct gt_table shipped;      /* winners of db/shipped */
    struct gt_rankings rankings;  /* likewise, what was learned of trials, for `kernels` */
    struct gt_progress *progress; /* NULL when quiet */
    const char *waits_for;        /* what the GPU's worker does; NULL: it starts */
    const char *label;            /* what a sweep of one problem shows before its name; or NULL */
    char *cache_dir;
    const char *strategy, *kernels_dir; /* as typed; NULL: none */
    const double *weight;               /* of the problems of a sweep, not owned; NULL: all alike */
    uint64_t seed;
    bool search_only;              /* sweeps hold no finals */
    const struct gt_problem *then; /* what the next sweep is probably of (sweep.h) ... */
    struct gt_scouts *foresight;   /* ... and what is done for it */
    bool alone;                    /* what look-up hands out takes no part in sweeps */
    struct gt_sweep_totals totals; /* of the last sweep */
    bool vendor;                   /* cuBLASLt's algorithms are candidates */
    bool fallbacks;       /* kernels of the ladder take part where those in production cannot */
    bool measures;        /* false: every time is predicted */
    bool replays;         /* every time is out of a recording */
    bool narrowed;        /* --values left only a part of the kernels' parameters */
    const char *asked;    /* the device that --arch or predict:NAME names; NULL: none */
    struct gt_err no_gpu; /* why it does not measure although nobody asked for a prediction */
};

/* What follows the finals of a problem, in the session that held them: the energies of what they
 * found.  out: for tables, brief: for a line; json: an object that takes the same; each may be
 * NULL. */
struct gt_session_after {
    int (*run)(const struct gt_session_after *after, struct gt_session *session,
               const struct gt_problem *problem, FILE *out, FILE *brief, struct cJSON *json,
               struct gt_err *err);
    const char *objective;
};

/* gt_store_open, but a database that another process writes is a database error (exit code 5), not
 * a GPU in use (6). */
int gt_session_store(struct gt_store **store, const char *path, enum gt_store_mode mode,
                     struct gt_err *err);

/* Says, also with -q, what gt_store_merge did not take as it was out of `from`. */
void gt_session_doubts(const struct gt_cli *cli, const char *from, int64_t refused, int64_t dated);

/* The folder of compiled kernels (gt_cache_dir); where there is no home to have one in, a name that
 * takes none, so that they are kept for this run. */
int gt_session_cache(char **path, struct gt_err *err);

/* The database that --db names or, where it is NULL, the default one (gt_default_database; create:
 * its folder, too), which cli keeps.  Only files are databases: ":memory:" is refused. */
int gt_session_database(const char **path, struct gt_cli *cli, const char *named, bool create,
                        struct gt_err *err);

/* GT_ESYNTAX if --device names a recording: for commands that it has nothing to say to. */
int gt_session_no_replay(const struct gt_session_options *options, struct gt_err *err);

/* Opens everything; on failure nothing is left open.  GT_EDB: with options->stored, the database is
 * missing. */
int gt_session_open(struct gt_session *session, struct gt_cli *cli,
                    const struct gt_session_options *options, struct gt_err *err);
/* Whether it failed with this because there is no GPU that can be used; a missing compiler is no
 * reason to predict instead. */
bool gt_session_lacks_gpu(const struct gt_err *err);
void gt_session_close(struct gt_session *session);

/* Takes the argument of a command that takes a list: the name of a file or of a set or, where it
 * looks like one and there is no such file, a problem.  options keeps the pointer.  GT_ESYNTAX if
 * it names a set beside a problem or another set: it may be meant to take the other's place, or to
 * be added. */
int gt_session_argument(struct gt_problem_options *options, char *text, struct gt_err *err);

/* The problems that --shape, --shapes and --random name, those of the --shard, or, where they name
 * none, the one of the recording that the session (NULL: none is open) answers from; *problem is
 * malloc'ed, and so is *weight (their shares in averages) unless weight is NULL.  A problem that is
 * named twice is taken once.
 */
int gt_session_problems(const struct gt_cli *cli, const struct gt_session *session,
                        struct gt_problem **problem, double **weight, size_t *count,
                        const struct gt_problem_options *options, struct gt_err *err);

/* Leaves out the problems that have a winner on the session's device (by its name; a measured one
 * of a final), timed as the session times, of the kernels as they are today. */
int gt_session_leave_out(const struct gt_session *session, struct gt_problem *problem,
                         double *weight, size_t *count, struct gt_err *err);

/* One problem text completed by the options that it does not contradict. */
int gt_session_complete(struct gt_problem *problem, const char *text,
                        const struct gt_problem_options *options, struct gt_err *err);

/* Kernels by names ("a,b"); NULL: those in production.  *list is malloc'ed. */
int gt_session_kernels(const struct gt_kernel ***list, size_t *count,
                       const struct gt_kernels *kernels, const char *names, struct gt_err *err);

/* One sweep with the session's evaluator, database, strategy and seed; result as gt_sweep_run. */
int gt_session_sweep(struct gt_session *session, const struct gt_problem *problem, size_t problems,
                     const struct gt_kernel *const *kernel, size_t kernels,
                     const struct gt_budget *budget, struct gt_sweep_result *result,
                     struct gt_err *err);

/* Whether a GPU that has so many seconds for so many problems will not get to all of them; the
 * sentence that says so at the start. */
#define GT_BUDGET_TEXT 160
bool gt_session_warn_of_budget(char text[GT_BUDGET_TEXT], double seconds, size_t problems);

/* Compiles the `most` first candidates of such a sweep of one problem; see gt_sweep_compile. */
int gt_session_compile(struct gt_session *session, const struct gt_problem *problem,
                       const struct gt_kernel *const *kernel, size_t kernels,
                       const struct gt_budget *budget, size_t most, struct gt_sweep_ahead *ahead,
                       struct gt_err *err);

#endif

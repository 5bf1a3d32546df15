/* session_options.h - options that several commands share: device, kernels and search, and
 * problems. */
#ifndef GT_SESSION_OPTIONS_H
#define GT_SESSION_OPTIONS_H

#include "console/options.h"
#include "problem/trial.h"
#include "workers/processors.h"

struct gt_session_options {
    const char *arch, *device, *db, *kernels, *kernels_dir, *include_dirs, *strategy, *budget,
        *baseline, *l2, *timing, *dist, *space, *values;
    int64_t jobs, seed;
    int64_t deadline, compile_cpu, compile_memory; /* s, s, MiB; 0: the defaults */
    double slow;                                   /* times the best; 0: the default */
    bool no_bets;                                  /* the space is searched without bets */
    /* set by commands */
    bool measure; /* without a GPU nothing is predicted instead */
    bool stored;  /* only stored results are used: a missing database is not created */
    bool shared;  /* another process holds the database for this one: GT_STORE_SHARED */
    FILE *lines;  /* the stream to which progress is written as lines; NULL: standard error */
    const struct gt_tokens *tokens; /* tokens of compilers, shared with other processes; or NULL */
};

/* The timing that --l2 and --timing ask for. */
enum gt_timing gt_session_timing(const struct gt_session_options *options);

/* Fills a struct gt_session_options: arch, device, database, workers, seed.  A command that only
 * measures leaves out the first two options and words them itself. */
extern const struct gt_option gt_session_option_table[];
#define GT_SESSION_DEVICE_OPTIONS 2

/* Fills a struct gt_session_options too: options of the search. */
extern const struct gt_option gt_search_option_table[];

#define GT_SEED_DEFAULT 1

struct gt_problem_options {
    struct gt_texts shape;
    const char *model, *rows; /* a model of models.json, and rows of its layers' A, as in a text */
    const char *shapes, *dtype, *layout, *accuracy, *beta, *epilogue, *batch;
    int64_t random;     /* problems to draw; 0: none */
    const char *family; /* which problems are drawn; NULL: plain ones */
    const char *shard;  /* NULL: the shard of the Slurm array, or all problems without an array */
    int64_t seed;       /* seed of the draw, set by commands with --random; 0: the default */
};

/* Whether the options name problems. */
static inline bool gt_problems_named(const struct gt_problem_options *options)
{
    return options->shape.count || options->shapes || options->model || options->random;
}

/* Fills a struct gt_problem_options. */
extern const struct gt_option gt_problem_option_table[];

/* Fills a struct gt_problem_options too, for commands that take a problem as a word: its type,
 * layout, accuracy, beta, epilogue and batch. */
extern const struct gt_option gt_problem_part_table[];

/* Fills a struct gt_problem_options too: options of drawn problems. */
extern const struct gt_option gt_draw_option_table[];

#endif

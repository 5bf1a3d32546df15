/* ranking.h - stage: a ranking, learned from measured trials for look-ups of problems that nobody
 * tuned.  It holds prototypes, which are points to consider; trees that correct the model's times
 * (predict.h); and the losses: how much slower than the best known candidates the answers were, for
 * problems left out.
 *
 * `tune doctor --predictor --learn` makes such a file; README.md of this folder has its format. */
#ifndef GT_RANKING_H
#define GT_RANKING_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"
#include "lookup/predict.h"

#define GT_RANKING_MAGIC "# gemmtune ranking 1 "

/* X(name, value): the terms that a tree may ask for, beside a candidate's slots (facts, parameters,
 * derived values).  The values use the variables of fill_terms (ranking_ask.c). */
#define GT_RANKING_TERMS(X)                                                  \
    X(us, was.us / was.risk) /* the model's time, without the risk */        \
    X(compute_share, was.compute_us / was.us)                                \
    X(l2_share, was.l2_us / was.us)                                          \
    X(memory_share, was.memory_us / was.us)                                  \
    X(prepare_share, was.prepare_us / was.us)                                \
    X(reduction_share, was.reduction_us / was.us)                            \
    X(launch_share, was.launch_us / was.us)                                  \
    X(blocks_sm, was.blocks_sm) /* resident blocks of an SM */               \
    X(waves, was.waves)         /* waves of blocks */                        \
    X(wave_share, was.waves / ceil(fmax(was.waves, 1e-9)))                   \
    X(rounds, was.rounds) /* of tiles, padding tiles of clusters included */ \
    X(round_share, was.rounds / ceil(fmax(was.rounds, 1e-9)))                \
    X(round_ratio, ceil(was.rounds) / ceil(fmax(was.waves, 1e-9)))           \
    X(cluster, was.cluster) /* blocks of a cluster */                        \
    X(tile_m, was.tile_m)   /* tile of a block */                            \
    X(tile_n, was.tile_n)                                                    \
    X(k_steps, (double)p->k / (was.splits * was.tile_k))                     \
    /* share of the tiles' elements that belong to D */                      \
    X(edge_share, outputs / fmax(tiles * was.tile_m * was.tile_n, 1))        \
    X(launches, geometry->launches)                                          \
    X(threads, last->block[0] * last->block[1] * last->block[2])             \
    X(shared_bytes, last->shared_bytes)

enum gt_ranking_term {
#define GT_RANKING_ENUM(name, value) GT_TERM_##name,
    GT_RANKING_TERMS(GT_RANKING_ENUM)
#undef GT_RANKING_ENUM
        GT_TERM_COUNT
};

/* Trees lie behind one another.  A node lies before its left subtree, and the left subtree before
 * the right one. */
struct gt_ranking_node {
    short column;         /* < 0: a leaf */
    unsigned short right; /* number of nodes from here to the right subtree; in a leaf: to the next
                             tree */
    float value;          /* a leaf's value; in an inner node: column values below this one go
                             left */
};

/* Sets `right` of the leaves of a tree that has `nodes` nodes. */
void gt_ranking_end_tree(struct gt_ranking_node *tree, size_t nodes);

/* The sum of the values of all trees for one row of columns. */
double gt_ranking_sum(const struct gt_ranking_node *node, size_t nodes, const float *column);

/* The source of a column's value: a term, or a slot of the kernel. */
#define GT_RANKING_COLUMNS (GT_TERM_COUNT + GT_MAX_SLOTS)
const char *gt_ranking_column_name(const struct gt_kernel *kernel, size_t column);

/* Fills column[GT_RANKING_COLUMNS]: the terms, then the kernel's slots.  False: the model has no
 * estimate. */
bool gt_ranking_columns(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                        float *column, struct gt_prediction *prediction);

/* The kind of a problem, by which a look-up chooses among prototypes: type and accuracy. */
#define GT_RANKING_KINDS (GT_DTYPE_COUNT * 4)
size_t gt_ranking_kind(const struct gt_problem *problem);
void gt_ranking_kind_name(size_t kind, char name[32]); /* "bf16/low" */

/* A set of kinds, one bit each. */
struct gt_kinds {
    uint64_t word[(GT_RANKING_KINDS + 63) / 64];
};

static inline bool gt_kinds_have(const struct gt_kinds *kinds, size_t kind)
{
    return kinds->word[kind / 64] >> kind % 64 & 1;
}

static inline void gt_kinds_add(struct gt_kinds *kinds, size_t kind)
{
    kinds->word[kind / 64] |= (uint64_t)1 << kind % 64;
}

struct gt_prototype {
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_kinds kinds;
};

/* How much slower than the best known candidates the answers of a kind were, over problems left
 * out. */
struct gt_ranking_loss {
    double mean, p90; /* 0.03: 3 %; mean is the geometric mean */
    size_t problems;  /* 0: nothing is known */
};

#define GT_RANKING_PROTOTYPES 1024 /* at most */

#define GT_RANKING_DEPTH 5 /* greatest depth of a tree */
#define GT_RANKING_INNER ((1u << GT_RANKING_DEPTH) - 1)

/* A tree as a full one, so that a walk need not ask where it ends.  The steps below step i are 2 i
 * + 1 and 2 i + 2.  All leaves below a place that is a leaf in the file have that leaf's value. */
struct gt_ranking_steps {
    struct {
        float below;
        unsigned column;
    } step[GT_RANKING_INNER];
    float leaf[GT_RANKING_INNER + 1];
};

/* The trees of one kernel.  The nodes' columns are numbered as in the file. */
struct gt_ranking_model {
    const struct gt_kernel *kernel;   /* NULL: there is no kernel of that name */
    short source[GT_RANKING_COLUMNS]; /* column of gt_ranking_columns; < 0: the column is gone, and
                                         its value is 0 */
    size_t columns;
    struct gt_ranking_node *node;
    size_t nodes, capacity;
    struct gt_ranking_steps *steps; /* the steps of each tree */
    size_t trees, steps_capacity;
};

struct gt_ranking {
    int cc;             /* 0: there is none */
    char device[96];    /* device that the ranking was learned on; "": the file is of an earlier
                           version and names only the arch */
    int sms;            /* SMs of that device; 0: the file does not say */
    double memory_gbps; /* likewise */
    struct gt_prototype *prototype;
    size_t prototypes, prototype_capacity;
    struct gt_ranking_model *model; /* one model for each kernel that has trees */
    size_t models, model_capacity;
    struct gt_ranking_loss loss[GT_RANKING_KINDS];
};

/* Reads a ranking into a zeroed one.  Points and kernels that no longer exist are left out, so that
 * a changed description costs no answer.  GT_EDB with path and line for a damaged file. */
int gt_ranking_parse(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *path,
                     const char *text, size_t length, struct gt_err *err);
int gt_ranking_load(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *path,
                    struct gt_err *err);

void gt_ranking_release(struct gt_ranking *ranking); /* a zeroed one is accepted */

/* The rankings of several devices, in the order of their files. */
struct gt_rankings {
    struct gt_ranking *ranking;
    size_t count, capacity;
    char *damage; /* why the first unused file is not used; NULL: all files are used */
};

/* Adds the rankings of files (ranking_read.c).  A file that cannot be read or is damaged is left
 * out, and the result is GT_OK, because look-ups answer without a ranking, too.  Fails only for
 * want of memory. */
int gt_rankings_add(struct gt_rankings *rankings, const struct gt_kernels *kernels,
                    char *const *path, size_t paths, struct gt_err *err);
void gt_rankings_release(struct gt_rankings *rankings); /* a zeroed one is accepted */

/* The ranking that answers for a device: the first ranking of its arch that was learned on a device
 * called `name` (NULL: no name is known) or that names no device; else the ranking of the most
 * similar device, by SMs and memory rate.  NULL: there is no ranking of the arch. */
const struct gt_ranking *gt_rankings_for(const struct gt_rankings *rankings,
                                         const struct gt_device *device, const char *name);

/* Copies the trees of a kernel, with the column numbers of gt_ranking_columns, and returns the
 * number of their nodes.  A node that asks for a column that is gone is replaced by the subtree
 * that a value of 0 leads to.  node: room for the nodes; NULL: the nodes are only counted. */
size_t gt_ranking_trees(const struct gt_ranking *ranking, const struct gt_kernel *kernel,
                        struct gt_ranking_node *node);

/* The expected time in microseconds: the model's time, corrected by the trees; 0: no estimate.  The
 * other trees are not asked where half of the trees come to more than `most` (HUGE_VAL: no limit),
 * or the first trees to clearly more.  *prediction: the model's. */
double gt_ranking_us(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, double most,
                     struct gt_prediction *prediction);

/* As gt_ranking_us, with the candidate's slots, which the caller has (gt_candidate_slots). */
double gt_ranking_slots(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                        const struct gt_geometry *geometry, const int64_t *slots, double most,
                        struct gt_prediction *prediction);

#endif

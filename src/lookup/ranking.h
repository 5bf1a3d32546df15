/* ranking.h - stage: what was learned from measured trials for look-ups of problems that nobody
 * tuned: prototypes, which are points worth a thought; trees that correct the model's times
 * (predict.h); and how much slower than the best known the answers were for problems left out.
 *
 * `tune doctor --predictor --learn` makes such a file; README.md of this folder has its format. */
#ifndef GT_RANKING_H
#define GT_RANKING_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"
#include "lookup/predict.h"

#define GT_RANKING_MAGIC "# gemmtune ranking 1 "

/* X(name, value): what a tree may ask of a candidate beside its slots (facts, parameters, derived
 * values), in the words of fill_terms (ranking_ask.c). */
#define GT_RANKING_TERMS(X)                                                      \
    X(us, was.us / was.risk) /* of the model, without the risk */                \
    X(compute_share, was.compute_us / was.us)                                    \
    X(l2_share, was.l2_us / was.us)                                              \
    X(memory_share, was.memory_us / was.us)                                      \
    X(prepare_share, was.prepare_us / was.us)                                    \
    X(reduction_share, was.reduction_us / was.us)                                \
    X(launch_share, was.launch_us / was.us)                                      \
    X(blocks_sm, was.blocks_sm) /* resident blocks of an SM */                   \
    X(waves, was.waves)         /* of blocks */                                  \
    X(wave_share, was.waves / ceil(fmax(was.waves, 1e-9)))                       \
    X(rounds, was.rounds) /* of tiles, those that only fill clusters included */ \
    X(round_share, was.rounds / ceil(fmax(was.rounds, 1e-9)))                    \
    X(round_ratio, ceil(was.rounds) / ceil(fmax(was.waves, 1e-9)))               \
    X(cluster, was.cluster) /* blocks of one */                                  \
    X(tile_m, was.tile_m)   /* of a block */                                     \
    X(tile_n, was.tile_n)                                                        \
    X(k_steps, (double)p->k / (was.splits * was.tile_k))                         \
    /* of the tiles' elements that belong to D */                                \
    X(edge_share, outputs / fmax(tiles * was.tile_m * was.tile_n, 1))            \
    X(launches, geometry->launches)                                              \
    X(threads, last->block[0] * last->block[1] * last->block[2])                 \
    X(shared_bytes, last->shared_bytes)

enum gt_ranking_term {
#define GT_RANKING_ENUM(name, value) GT_TERM_##name,
    GT_RANKING_TERMS(GT_RANKING_ENUM)
#undef GT_RANKING_ENUM
        GT_TERM_COUNT
};

/* Trees lie behind one another, a node before its left subtree, that before the right one. */
struct gt_ranking_node {
    short column;         /* < 0: a leaf */
    unsigned short right; /* nodes from here to the right subtree; of a leaf: to the next tree */
    float value;          /* of a leaf; of an inner node: what is below goes left */
};

/* Sets `right` of the leaves of a tree that has so many nodes. */
void gt_ranking_end_tree(struct gt_ranking_node *tree, size_t nodes);

/* The values of all trees for one row of columns, together. */
double gt_ranking_sum(const struct gt_ranking_node *node, size_t nodes, const float *column);

/* Where a column's value comes from: a term, or a slot of the kernel. */
#define GT_RANKING_COLUMNS (GT_TERM_COUNT + GT_MAX_SLOTS)
const char *gt_ranking_column_name(const struct gt_kernel *kernel, size_t column);

/* Fills column[GT_RANKING_COLUMNS]: the terms, then the kernel's slots.  False: no estimate. */
bool gt_ranking_columns(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                        float *column, struct gt_prediction *prediction);

/* What a look-up distinguishes when it chooses among prototypes: type and accuracy. */
#define GT_RANKING_KINDS (GT_DTYPE_COUNT * 4)
size_t gt_ranking_kind(const struct gt_problem *problem);
void gt_ranking_kind_name(size_t kind, char name[32]); /* "bf16/low" */

/* A set of kinds, as wide as there are kinds. */
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

/* How much slower answers of a kind were than the best known, over problems left out. */
struct gt_ranking_loss {
    double mean, p90; /* 0.03: 3 %; mean: of the geometric kind */
    size_t problems;  /* 0: nothing is known */
};

#define GT_RANKING_PROTOTYPES 1024 /* at most */

#define GT_RANKING_DEPTH 5 /* of a tree, at most */
#define GT_RANKING_INNER ((1u << GT_RANKING_DEPTH) - 1)

/* A tree that is walked without asking where it ends: below step i come 2 i + 1 and 2 i + 2, and
 * below a leaf of the file all have its value. */
struct gt_ranking_steps {
    struct {
        float below;
        unsigned column;
    } step[GT_RANKING_INNER];
    float leaf[GT_RANKING_INNER + 1];
};

/* The trees of one kernel.  Their columns are those of the file. */
struct gt_ranking_model {
    const struct gt_kernel *kernel;   /* NULL: there is none of that name */
    short source[GT_RANKING_COLUMNS]; /* column of gt_ranking_columns; < 0: it is gone, and 0 */
    size_t columns;
    struct gt_ranking_node *node;
    size_t nodes, capacity;
    struct gt_ranking_steps *steps; /* of each tree */
    size_t trees, steps_capacity;
};

struct gt_ranking {
    int cc;             /* 0: there is none */
    char device[96];    /* that it was learned on; "": a file of an earlier version, of the arch */
    int sms;            /* of that device; 0: the file does not say */
    double memory_gbps; /* likewise */
    struct gt_prototype *prototype;
    size_t prototypes, prototype_capacity;
    struct gt_ranking_model *model; /* of each kernel that has trees */
    size_t models, model_capacity;
    struct gt_ranking_loss loss[GT_RANKING_KINDS];
};

/* Reads a ranking into a zeroed one.  Points and kernels that there are not any more are left out,
 * so that a changed description costs no answer.  GT_EDB with path and line for a damaged file. */
int gt_ranking_parse(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *path,
                     const char *text, size_t length, struct gt_err *err);
int gt_ranking_load(struct gt_ranking *ranking, const struct gt_kernels *kernels, const char *path,
                    struct gt_err *err);

void gt_ranking_release(struct gt_ranking *ranking); /* a zeroed one is accepted */

/* Those of several devices, in the order of their files. */
struct gt_rankings {
    struct gt_ranking *ranking;
    size_t count, capacity;
    char *damage; /* why the first file that is not used is not; NULL: all are */
};

/* Adds the rankings of files (ranking_read.c), for look-ups, which answer without a ranking, too: a
 * file that cannot be read or is damaged is GT_OK, and left out.  Fails for want of memory only. */
int gt_rankings_add(struct gt_rankings *rankings, const struct gt_kernels *kernels,
                    char *const *path, size_t paths, struct gt_err *err);
void gt_rankings_release(struct gt_rankings *rankings); /* a zeroed one is accepted */

/* The one that answers for a device: the first of its arch that was learned on a device of that
 * name (NULL: none is known) or names none; else that of the device most like it, by SMs and memory
 * rate.  NULL: there is none of the arch. */
const struct gt_ranking *gt_rankings_for(const struct gt_rankings *rankings,
                                         const struct gt_device *device, const char *name);

/* Copies the trees of a kernel, with columns as gt_ranking_columns has them, and returns the number
 * of their nodes.  What asks for a column that is gone is replaced by where 0 leads to.  node: room
 * for them; NULL: they are only counted. */
size_t gt_ranking_trees(const struct gt_ranking *ranking, const struct gt_kernel *kernel,
                        struct gt_ranking_node *node);

/* Microseconds to expect: the model's, corrected; 0: it has no answer.  Where half of the trees
 * come to more than `most` (HUGE_VAL: no limit), or the first of them to clearly more, the others
 * are not asked.  *prediction: the model's. */
double gt_ranking_us(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, double most,
                     struct gt_prediction *prediction);

/* The same with the candidate's slots, which the caller has (gt_candidate_slots). */
double gt_ranking_slots(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                        const struct gt_geometry *geometry, const int64_t *slots, double most,
                        struct gt_prediction *prediction);

#endif

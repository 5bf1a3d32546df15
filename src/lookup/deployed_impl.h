/* deployed_impl.h - what the files src/lookup/deployed*.c share: reading (deployed_read.c),
 * checking (deployed_check.c), answering (deployed_answer.c) and loading (deployed_load.c). */
#ifndef GT_DEPLOYED_IMPL_H
#define GT_DEPLOYED_IMPL_H

#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"

/* A GPU that is open. */
struct gt_deployed_gpu {
    struct gt_deployed_gpu *next;
    struct gt_gpu *gpu;
};

/* A module that is loaded. */
struct gt_deployed_module {
    struct gt_deployed_module *next;
    const struct gt_gpu *gpu;
    struct gt_module *module;
};

struct gt_deployed {
    char *path;
    int fd;      /* of the images; -1: there are none to load */
    char *bytes; /* of the file, before the images' */
    struct gt_deployed_head head;
    const struct gt_deployed_item *item;
    const struct gt_deployed_launch *launch;
    const struct gt_deployed_map *map;
    const struct gt_deployed_image *image;
    const char *text;
    struct gt_problem_key *key; /* of each item */
    uint32_t *slot;             /* hash table of items: index + 1, 0 is empty */
    uint32_t slots;             /* a power of two, at least twice the items */
    _Atomic(struct gt_deployed_gpu *) gpus;
    _Atomic(struct gt_deployed_module *) *module; /* of each item, on any GPU */
};

/* Checks everything that a digest does not say: offsets, counts and ranges. */
int gt_deployed_check(const struct gt_deployed *deployed, struct gt_err *err);

#endif

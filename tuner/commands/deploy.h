/* deploy.h - writes one file to deploy (src/lookup/deployed.h): winners with their machine code. */
#ifndef GT_DEPLOY_H
#define GT_DEPLOY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "cuda/compile.h"
#include "db/store.h"
#include "gemmtune.h"
#include "lookup/deployed.h"

struct gt_cli;

struct gt_deploy_request {
    const char *path; /* of the new file; one that is there is replaced */
    const char *db;   /* whose winners: a database, a text table or a folder */
    const char *kernels_dir, *include_dirs; /* as of gt_options; NULL: none */
    const struct gt_problem *problem;       /* what the file is to answer, on each device of the
                                               winners; NULL: every problem of theirs */
    size_t problems;
    const char *kernel; /* only what this kernel won, or NULL: all; a named problem's answer has to
                           be of it */
    struct gt_row_filter rows; /* whose arch and device count */
    bool measured;             /* leave out answers that were only predicted */
};

struct gt_deploy_counts {
    size_t answers, images, left_out;
    size_t bytes;  /* of the file */
    char why[400]; /* of the first one that was left out, but for its kernel; "": none was */
};

/* Looks up each problem on each device, as programs would, and takes what is exact (or, where
 * problems were named, whatever serves them); compiles what the cache does not have.  No GPU is
 * needed.  GT_ENOTFOUND: nothing is left to be written.  On failure there is no new file. */
int gt_deploy(struct gt_cli *cli, const struct gt_deploy_request *request,
              struct gt_deploy_counts *counts, struct gt_err *err);

/* A deployed file in the making (deploy.c decides what goes into it). */

/* Zeroed, but for the buffers: gt_deploy_file_init. */
struct gt_deploy_file {
    struct gt_strbuf items, launches, maps, images, texts, code; /* arrays of the file */
    uint32_t item_count, launch_count, map_count, image_count;
};

void gt_deploy_file_init(struct gt_deploy_file *file);
void gt_deploy_file_release(struct gt_deploy_file *file);

/* Appends an answer, which has a kernel, and its code; the same code is kept once. */
int gt_deploy_file_add(struct gt_deploy_file *file, const struct gt_resolved *resolved,
                       const struct gt_binary *binary, int nvrtc, struct gt_err *err);

/* Writes it to the stream: *bytes. */
int gt_deploy_file_write(struct gt_deploy_file *file, FILE *to, size_t *bytes, struct gt_err *err);

#endif

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
    const char *path; /* the new file's; an old file is replaced */
    const char *db;   /* where the winners are: a database, a text table or a folder */
    const char *kernels_dir, *include_dirs; /* as in gt_options; NULL: none */
    const struct gt_problem *problem; /* problems that the file is to answer, on each device of the
                                         winners; NULL: every problem of the winners */
    size_t problems;
    const char *kernel; /* only this kernel's winners; NULL: all.  The answer of a named problem has
                           to be of this kernel */
    struct gt_row_filter rows; /* only its arch and device are used */
    bool measured;             /* leave out answers that were only predicted */
};

struct gt_deploy_counts {
    size_t answers, images, left_out;
    size_t bytes;  /* of the file */
    char why[400]; /* why the first answer was left out, its kernel apart; "": none was */
};

/* Looks up each problem on each device, as programs would, and takes the exact answers (or, where
 * problems were named, any answer that serves them).  Code that the cache does not have is
 * compiled.  No GPU is needed.  GT_ENOTFOUND: no answer is left to write.  On failure there is no
 * new file. */
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

/* Appends an answer that has a kernel, and its code; equal code is stored once. */
int gt_deploy_file_add(struct gt_deploy_file *file, const struct gt_resolved *resolved,
                       const struct gt_binary *binary, int nvrtc, struct gt_err *err);

/* Writes the file to the stream; *bytes: its size. */
int gt_deploy_file_write(struct gt_deploy_file *file, FILE *to, size_t *bytes, struct gt_err *err);

#endif

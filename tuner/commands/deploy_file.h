/* deploy_file.h - a deployed file in the making (deploy.c decides what goes into it). */
#ifndef GT_DEPLOY_FILE_H
#define GT_DEPLOY_FILE_H

#include <stdio.h>

#include "base/strbuf.h"
#include "cuda/compile.h"
#include "lookup/deployed.h"

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

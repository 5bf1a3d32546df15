/* graph.h - stage: CUDA graphs of a GPU's own stream: what is enqueued between begin and end is
 * kept instead of run, and runs as one unit, each launch after the one before, whenever it is
 * launched. The tuner alone has them; libgemmtune makes none.  Errors as in gpu.h; GT_ENOLIB: the
 * driver is older than CUDA 11.4.  Not thread-safe, like struct gt_gpu. */
#ifndef GT_GRAPH_H
#define GT_GRAPH_H

#include "cuda/gpu.h"

struct gt_graph;

/* Whether the driver has graphs: GT_OK, or GT_ENOLIB with the call that it lacks. */
int gt_graph_check(struct gt_gpu *gpu, struct gt_err *err);

/* Begins to keep what is enqueued on the stream.  From here to gt_graph_end nothing else may be
 * asked of the GPU but launches. */
int gt_graph_begin(struct gt_gpu *gpu, struct gt_err *err);

/* Ends it, always, and makes the graph ready to be launched if `code` is GT_OK; otherwise returns
 * code, which is that of the launches.  GT_ERANGE: the driver refuses to make a graph of them. */
int gt_graph_end(struct gt_graph **graph, struct gt_gpu *gpu, int code, struct gt_err *err);

int gt_graph_launch(const struct gt_graph *graph, struct gt_err *err);
void gt_graph_free(struct gt_graph *graph); /* NULL accepted */

#endif

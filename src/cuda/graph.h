/* graph.h - stage: CUDA graphs of a GPU's own stream.  Launches that are enqueued between begin and
 * end are kept instead of run.  Whenever the graph is launched, they run as one unit, each launch
 * after the launch before it.  Only the tuner makes graphs; libgemmtune makes none.  Errors as in
 * gpu.h; GT_ENOLIB: the driver is older than CUDA 11.4.  Not thread-safe, like struct gt_gpu. */
#ifndef GT_GRAPH_H
#define GT_GRAPH_H

#include "cuda/gpu.h"

struct gt_graph;

/* Whether the driver has graphs: GT_OK, or GT_ENOLIB with the call that the driver lacks. */
int gt_graph_check(struct gt_gpu *gpu, struct gt_err *err);

/* Begins to keep the launches that are enqueued on the stream.  Until gt_graph_end the GPU may be
 * asked only for launches. */
int gt_graph_begin(struct gt_gpu *gpu, struct gt_err *err);

/* Ends the keeping, always.  If `code`, the result of the launches, is GT_OK, makes the graph ready
 * to be launched; otherwise returns code.  GT_ERANGE: the driver refuses to make a graph of the
 * launches. */
int gt_graph_end(struct gt_graph **graph, struct gt_gpu *gpu, int code, struct gt_err *err);

int gt_graph_launch(const struct gt_graph *graph, struct gt_err *err);
void gt_graph_free(struct gt_graph *graph); /* NULL accepted */

#endif

/* chain.h - stage: chains of launches in a CUDA graph, as programs run short products.
 *
 * A chain is GT_CHAIN launches of one runner, each of which begins when the one before has ended,
 * with no gap but the GPU's own: the host is out of it, and so is the 1 to 2 us that a launch takes
 * alone. The time of a product is that of the chain divided by GT_CHAIN.  Launch i reads copy i of
 * A, B and C (gt_resident: as many copies as the chain is long, or fewer if they exceed 3 x L2
 * together), and L2 is emptied before each chain where they do not exceed it.  So every operand is
 * read from memory, as in the timing "cold"; only D, of which there are GT_RESULTS in turn, may
 * still be in L2 when it is written again.  Both sides are timed so, ours and cuBLASLt's. */
#ifndef GT_CHAIN_H
#define GT_CHAIN_H

#include "timing/bench_internal.h"

#define GT_CHAIN 32

/* Makes the runner's chain, after one launch of it by itself.  Nothing happens if it has one, or if
 * the bench times launches one by one.  gt_runner_release frees it. */
int gt_chain_make(struct gt_bench *bench, struct gt_runner *runner, struct gt_err *err);

#endif

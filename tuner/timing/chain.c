/* chain.c - stage: makes the chain of a runner; see chain.h. */
#include "timing/chain.h"

#include <string.h>

#include "base/err.h"
#include "cuda/graph.h"

static int run(const struct gt_bench *bench, const struct gt_runner *runner, int place,
               struct gt_err *err)
{
    const struct gt_resident *resident = &bench->resident;
    struct gt_args args;

    gt_resident_args(resident, resident->timed + place % (resident->sets - resident->timed),
                     place % GT_RESULTS, &args);
    memcpy(args.launch, runner->geometry.launch_param, sizeof(args.launch));
    return runner->run(runner, &args, err);
}

int gt_chain_make(struct gt_bench *bench, struct gt_runner *runner, struct gt_err *err)
{
    int rc;

    if (bench->options.timing != GT_TIMING_GRAPH || runner->chain)
        return GT_OK;
    rc = run(bench, runner, 0, err); /* what the driver or cuBLASLt does only once is done now */
    GT_STEP(rc, gt_graph_begin(bench->gpu, err));
    if (rc)
        return rc;
    for (int i = 0; i < GT_CHAIN && !rc; i++)
        rc = run(bench, runner, i, err);
    return gt_graph_end(&runner->chain, bench->gpu, rc, err);
}

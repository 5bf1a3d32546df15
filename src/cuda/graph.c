/* graph.c - stage: CUDA graphs by stream capture; see graph.h.  The functions are looked up in the
 * driver that gpu.c has opened, so that libgemmtune does not name them. */
#include "cuda/graph.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/gpu_internal.h"

#define RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED: cuBLASLt may load a kernel meanwhile */

/* Returns GT_ERANGE for the errors by which the driver refuses to make a graph of some work:
 * CUDA_ERROR_NOT_SUPPORTED and the errors of stream capture.  These errors do no harm. */
static int check(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err)
{
    int code = gt_gpu_accept(gpu, result, call, err);

    if (result != 801 && (result < 900 || result > 909))
        return code;
    if (err)
        err->code = GT_ERANGE;
    return GT_ERANGE;
}

struct graph_api {
#define FIELD(name, symbol, parameters) int(*name) parameters;
    GT_GRAPH_MAP(FIELD)
#undef FIELD
};

struct gt_graph {
    struct gt_gpu *gpu;
    struct graph_api cu;
    void *exec;
};

static int load(struct graph_api *api, const struct gt_gpu *gpu, struct gt_err *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbol[] = {
#define SYMBOL(field, name, parameters) {name, offsetof(struct graph_api, field)},
        GT_GRAPH_MAP(SYMBOL)
#undef SYMBOL
    };

    for (size_t i = 0; i < sizeof(symbol) / sizeof(*symbol); i++) {
        void *address = dlsym(gpu->cu.library, symbol[i].name);

        if (!address)
            return gt_err_set(
                err, GT_ENOLIB,
                "the CUDA driver lacks the function %s, which timing in a graph needs",
                symbol[i].name);
        memcpy((char *)api + symbol[i].offset, &address, sizeof(address));
    }
    return GT_OK;
}

int gt_graph_check(struct gt_gpu *gpu, struct gt_err *err)
{
    struct graph_api api;

    return load(&api, gpu, err);
}

int gt_graph_begin(struct gt_gpu *gpu, struct gt_err *err)
{
    struct graph_api cu;
    int rc = load(&cu, gpu, err);

    if (rc)
        return rc;
    return check(gpu, cu.StreamBeginCapture(gpu->stream, RELAXED), "cuStreamBeginCapture", err);
}

int gt_graph_end(struct gt_graph **graph, struct gt_gpu *gpu, int code, struct gt_err *err)
{
    struct gt_graph *made = calloc(1, sizeof(*made));
    struct graph_api cu;
    void *captured = NULL;
    int result = 0, rc = load(&cu, gpu, code ? NULL : err);

    *graph = NULL;
    if (!rc)
        result = cu.StreamEndCapture(gpu->stream, &captured);
    if (code || rc || result || !made) {
        if (!code && result)
            rc = check(gpu, result, "cuStreamEndCapture", err);
        else if (!code && !rc)
            rc = gt_err_nomem(err);
    } else {
        *made = (struct gt_graph){.gpu = gpu, .cu = cu};
        rc = check(gpu, cu.GraphInstantiate(&made->exec, captured, 0),
                   "cuGraphInstantiateWithFlags", err);
    }
    if (captured)
        cu.GraphDestroy(captured);
    if (code || rc) {
        free(made);
        return code ? code : rc;
    }
    *graph = made;
    return GT_OK;
}

int gt_graph_launch(const struct gt_graph *graph, struct gt_err *err)
{
    return check(graph->gpu, graph->cu.GraphLaunch(graph->exec, graph->gpu->stream),
                 "cuGraphLaunch", err);
}

void gt_graph_free(struct gt_graph *graph)
{
    if (!graph)
        return;
    graph->cu.GraphExecDestroy(graph->exec);
    free(graph);
}

/* stub_graph.c - part of the stub driver (stub_cuda.c): stream capture and graphs, and at the end
 * what src/serve asks.  While the one stream is captured, products are kept instead of run; a graph
 * runs them in order.
 *
 * Environment: STUB_GRAPH_GAP_US (of a product in a graph, what it saves in time by being there; it
 * never takes less than 0.1 us), STUB_GRAPH_FAILS=begin|end|instantiate|launch (that call answers
 * CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901; behind a blank "once": only the next time). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub_device.h"

struct node {
    struct node *next;
    int (*run)(const void *work);
    char work[]; /* aligned as malloc's, because the header is two pointers */
};

struct stub_graph {
    struct node *first, **last;
    bool shared; /* an instance of it lives */
};

#define INVALIDATED 901

static bool fails(const char *call)
{
    const char *planned = getenv("STUB_GRAPH_FAILS");
    const size_t length = strlen(call);

    if (!planned || strncmp(planned, call, length) != 0)
        return false;
    if (strcmp(planned + length, " once") == 0)
        return unsetenv("STUB_GRAPH_FAILS") == 0;
    return !planned[length];
}

bool stub_capture(int (*run)(const void *work), const void *work, size_t bytes)
{
    struct stub_graph *graph = stub_device.capture;
    struct node *node;

    if (!graph)
        return false;
    node = malloc(sizeof(*node) + bytes);
    if (!node)
        abort();
    node->next = NULL;
    node->run = run;
    memcpy(node->work, work, bytes);
    *graph->last = node;
    graph->last = &node->next;
    return true;
}

int stub_StreamBeginCapture(void *stream, int mode)
{
    (void)stream, (void)mode;
    if (fails("begin") || stub_device.capture)
        return INVALIDATED;
    stub_device.capture = calloc(1, sizeof(*stub_device.capture));
    if (!stub_device.capture)
        return 2;
    stub_device.capture->last = &stub_device.capture->first;
    return stub_device.sticky;
}

static void free_graph(struct stub_graph *graph)
{
    while (graph->first) {
        struct node *next = graph->first->next;

        free(graph->first);
        graph->first = next;
    }
    free(graph);
}

int stub_StreamEndCapture(void *stream, void **graph)
{
    (void)stream;
    *graph = NULL;
    if (!stub_device.capture)
        return INVALIDATED;
    if (fails("end")) {
        free_graph(stub_device.capture);
        stub_device.capture = NULL;
        return INVALIDATED;
    }
    *graph = stub_device.capture;
    stub_device.capture = NULL;
    return stub_device.sticky;
}

int stub_GraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
    if (fails("instantiate"))
        return INVALIDATED;
    ((struct stub_graph *)graph)->shared = true;
    *exec = graph;
    return stub_device.sticky;
}

int stub_GraphDestroy(void *graph)
{
    if (!((struct stub_graph *)graph)->shared)
        free_graph(graph);
    return 0;
}

int stub_GraphExecDestroy(void *exec)
{
    free_graph(exec);
    return 0;
}

int stub_GraphLaunch(void *exec, void *stream)
{
    const double gap = (double)stub_setting("STUB_GRAPH_GAP_US", 0);

    (void)stream;
    if (fails("launch") || stub_device.capture)
        return INVALIDATED;
    for (const struct node *node = ((struct stub_graph *)exec)->first; node; node = node->next) {
        const double before = stub_device.now_us;
        int result = stub_device.hung ? 0 : node->run(node->work);

        if (result)
            return result;
        if (stub_device.now_us > before)
            stub_device.now_us =
                stub_device.now_us - before > gap + 0.1 ? stub_device.now_us - gap : before + 0.1;
    }
    return stub_device.sticky;
}

/* For src/serve, which asks the driver more than the tuner does. */
int cuCtxGetDevice(int *ordinal);
int cuStreamIsCapturing(void *stream, int *status);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);

int stub_capturing; /* a test sets it: a graph is being captured on every stream */

/* Another thread captures a graph; it is spoilt by what a thread allocates that has not said that
 * it may (CU_STREAM_CAPTURE_MODE_RELAXED, 2). */
int stub_other_capture, stub_spoilt;
static _Thread_local int capture_mode;

int stub_spoils(void)
{
    if (stub_other_capture && capture_mode != 2)
        stub_spoilt = 1;
    return stub_spoilt ? 900 : 0;
}

int cuCtxGetDevice(int *ordinal)
{
    *ordinal = stub_ordinal(stub_current);
    if (*ordinal < 0)
        *ordinal = 0; /* of a context that the program has made itself */
    return stub_current ? 0 : 201;
}

int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = stub_capturing;
    return 0;
}

/* STUB_LATE: the thread that asks, the first thing it does, gets on only after 0.2 s. */
int cuThreadExchangeStreamCaptureMode(int *mode)
{
    const int before = capture_mode;

    if (getenv("STUB_LATE"))
        usleep(200000);
    capture_mode = *mode;
    *mode = before;
    return 0;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    (void)stream;
    if (stub_device.sticky || !stub_inside(to, bytes) || !stub_inside(from, bytes))
        return stub_device.sticky ? stub_device.sticky : 1;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

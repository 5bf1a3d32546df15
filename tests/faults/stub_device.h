/* stub_device.h - part of the stub driver: the device, which stub_cuda.c and stub_launch.c share.
 */
#ifndef STUB_DEVICE_H
#define STUB_DEVICE_H

#include "cuda/cuda_api.h"
#include "stub_gemm.h"
#include "templates/common/maps.h"

#define CLOCK_KHZ 1000000

/* The exported functions, as src/cuda/cuda_api.h has them. */
#define cuPrototype(field, symbol, parameters) int stub_##field parameters __asm__(symbol);
GT_DRIVER_MAP(cuPrototype)
GT_DRIVER_OPTIONAL_MAP(cuPrototype)
GT_GRAPH_MAP(cuPrototype)

struct module;

struct function {
    struct module *module;
    char entry[64];
};

#define MAX_ENTRIES 16

struct module {
    struct module *next; /* of all that are loaded */
    void *context;       /* in which it was loaded */
    char *source;
    struct stub_faults faults;
    uint64_t hash;
    unsigned long launches, products; /* products that ran and took their time */
    struct function function[MAX_ENTRIES];
};

/* The one device of the process, as the driver's state is one of its process. */
extern struct stub_device {
    double now_us;
    int sticky; /* result of every later call, 0: none */
    bool hung;
    struct allocation *allocations;
    size_t used;
    long asleep;   /* products run so far at the low clock of an idle device */
    long heated;   /* products run so far */
    long products; /* likewise */
    _Atomic int ordinal;
    struct stub_graph *capture; /* what the stream's launches go to; NULL: they run */
} stub_device;

extern _Thread_local void *stub_current; /* context of the thread */

extern bool stub_quick; /* STUB_QUICK */

/* The device whose primary context it is, or -1. */
int stub_ordinal(const void *context);

/* The device works for `us`, of which a product draws `share` of STUB_WATTS (stub_power.c).  */
void stub_pass(double us, double share);

/* Waits until the device's clock says so much, if its time is the real one (STUB_PACED). */
void stub_wait(double until_us);

/* While a stream is captured: keeps a copy of `bytes` of `work`, for which `run` is called whenever
 * the graph is launched, and returns true.  Also called by the stub of cuBLASLt. */
bool stub_capture(int (*run)(const void *work), const void *work, size_t bytes);

/* An allocation: what it answers while another thread captures a graph (stub_graph.c). */
int stub_spoils(void);

size_t stub_memory_total(void); /* bytes */

/* Whether the bytes lie within one allocation. */
bool stub_inside(uint64_t address, size_t bytes);

/* A variable of the environment, and a number of it, or `absent`. */
const char *stub_text(const char *name);
long stub_setting(const char *name, long absent);

#endif

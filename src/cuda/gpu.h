/* gpu.h - stage: one GPU through the CUDA Driver API (libcuda.so.1, opened at run time; the only
 * caller of the driver).  Every failing call leaves a sentence with the call and with the driver's
 * name and text for the error.  Codes: GT_ECUDA, GT_ERANGE (a launch the driver refuses; not
 * sticky), GT_ELOST (the device is gone), GT_ETOOBIG (no memory).  Copies and fills are enqueued on
 * the context's own stream; a download waits for everything before it.
 * Not thread-safe but for gt_module_run: one struct gt_gpu per thread. */
#ifndef GT_GPU_H
#define GT_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "problem/device.h"
#include "gemmtune.h"
#include "kernel/kernel.h"
#include "templates/common/args.h"
#include "templates/common/more.h"

typedef uint64_t gt_devptr; /* a device address */

struct gt_gpu;    /* a context on one device */
struct gt_module; /* a loaded image and its entries */

/* Devices present; GT_ENOLIB (no libcuda.so.1) or GT_ENOGPU with a sentence when there is none. */
int gt_gpu_count(int *count, struct gt_err *err);

/* Opens the device's primary context.  guest: the calling program may use another context, so the
 * primary context is current only during a call, and struct gt_gpu has no stream of its own.  The
 * runtime library is a guest, which may use only gt_gpu_device, gt_gpu_close and modules of this
 * header.  Otherwise (the tuner) the context stays current on this thread. */
int gt_gpu_open(struct gt_gpu **gpu, int ordinal, bool guest, struct gt_err *err);
void gt_gpu_close(struct gt_gpu *gpu); /* NULL accepted */
const struct gt_device *gt_gpu_device(const struct gt_gpu *gpu);

/* After a sticky error (illegal address, launch failure...) only a new process helps. */
bool gt_gpu_poisoned(const struct gt_gpu *gpu);

/* False once the program has reset the device (cudaDeviceReset): modules and memory are gone, and
 * only a new struct gt_gpu has the new context.  True where the driver cannot tell. */
bool gt_gpu_alive(const struct gt_gpu *gpu);

int gt_gpu_alloc(struct gt_gpu *gpu, gt_devptr *ptr, size_t bytes, struct gt_err *err);
void gt_gpu_free(struct gt_gpu *gpu, gt_devptr ptr); /* 0 accepted */
int gt_gpu_memory(struct gt_gpu *gpu, size_t *free_bytes, size_t *total, struct gt_err *err);
int gt_gpu_upload(struct gt_gpu *gpu, gt_devptr to, const void *from, size_t bytes,
                  struct gt_err *err);
int gt_gpu_download(struct gt_gpu *gpu, void *to, gt_devptr from, size_t bytes, struct gt_err *err);
int gt_gpu_fill32(struct gt_gpu *gpu, gt_devptr to, uint32_t word, size_t words,
                  struct gt_err *err);
int gt_gpu_sync(struct gt_gpu *gpu, struct gt_err *err);

/* The context's own stream (a CUstream), for libraries that enqueue on it. */
void *gt_gpu_stream(const struct gt_gpu *gpu);

/* Loads a cubin or PTX and prepares the launches of a geometry (attributes set, limits checked:
 * GT_ERANGE = launch_invalid). */
int gt_module_load(struct gt_module **module, struct gt_gpu *gpu, const void *image, size_t size,
                   const struct gt_geometry *geometry, struct gt_err *err);
void gt_module_free(struct gt_module *module); /* NULL accepted */

/* Fills the arguments that follow from the problem: sizes, leading dimensions, strides and factors.
 * Pointers and launch parameters are left 0. */
void gt_module_args(struct gt_args *args, const struct gt_problem *problem);
void gt_module_more(struct gt_more *more, const struct gt_problem *problem);

/* Enqueues all launches of the geometry, in order, on the stream (NULL: the context's own).
 * more: for entries that say "more"; NULL: no entry of the module does.  GT_ERANGE: the driver
 * refused the launch (launch_invalid, not sticky). */
int gt_module_run(const struct gt_module *module, void *stream, const struct gt_args *args,
                  const struct gt_more *more, struct gt_err *err);

/* Prepares the launches of another problem's geometry with the same image. */
int gt_module_geometry(struct gt_module *module, const struct gt_geometry *geometry,
                       struct gt_err *err);

/* The driver's figures for the loaded image: the largest over the entries of the geometry. */
struct gt_module_facts {
    int registers, local_bytes, static_shared;
    unsigned shared_bytes; /* shared bytes of a block: static + dynamic */
};
void gt_module_facts(const struct gt_module *module, struct gt_module_facts *facts);

/* The project's own device kernels (templates/proof): an image whose entries are launched by name
 * on the context's own stream; args is passed by value. */
struct gt_program;
int gt_program_load(struct gt_program **program, struct gt_gpu *gpu, const void *image,
                    const char *const *entry, size_t entries, struct gt_err *err);
void gt_program_free(struct gt_program *program); /* NULL accepted */
int gt_program_run(const struct gt_program *program, size_t entry, const unsigned grid[3],
                   unsigned threads, const void *args, struct gt_err *err);

/* Events, for times in microseconds between two points of the context's own stream. */
struct gt_event;
int gt_event_new(struct gt_event **event, struct gt_gpu *gpu, struct gt_err *err);
void gt_event_free(struct gt_event *event); /* NULL accepted */
int gt_event_record(struct gt_event *event, struct gt_err *err);
int gt_event_us(const struct gt_event *from, const struct gt_event *to, float *us,
                struct gt_err *err); /* waits for `to` */

#endif

/* stub_launch.c - part of the stub driver (stub_cuda.c): tensor maps, and the results and times of
 * launches. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "stub_device.h"
#include "stub_launched.h"
#include "templates/calibrate/move_args.h"

void stub_advance(double us);
int stub_proof_run(const char *entry, const unsigned grid[3], unsigned threads, const void *args);

/* Launches come from any thread. */
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

/* ---- tensor maps ---- */

#define MAP_MAGIC 0x7465736e6f72ull

/* What the stub puts into the driver's 128 bytes. */
struct tensor_map {
    uint64_t magic, address;
    enum stub_reading reading;
};

#define TFLOAT32 11 /* its loads round floats to TF32 */

/* Bytes of an element by CUtensorMapDataType. */
static unsigned element_bytes(int type)
{
    static const unsigned char bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

    return type < 0 || type >= (int)sizeof(bytes) ? 0 : bytes[type];
}

/* The limits that cuda.h gives for cuTensorMapEncodeTiled. */
int stub_TensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                              const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *every, int interleave, int swizzle, int promotion,
                              int fill)
{
    const struct tensor_map made = {MAP_MAGIC, (uint64_t)(uintptr_t)address,
                                    type == TFLOAT32 ? STUB_READ_ROUNDED : STUB_READ_WHOLE};
    unsigned bytes = element_bytes(type);
    uint64_t box_bytes = bytes;

    if (!stub_current) /* CUDA_ERROR_INVALID_CONTEXT */
        return 201;
    if ((uintptr_t)map % 64 || !bytes || rank < 1 || rank > 5 || made.address % 16 || interleave ||
        swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill)
        return 1;
    for (unsigned i = 0; i < rank; i++)
        if (!dims[i] || dims[i] > 1ull << 32 || !box[i] || box[i] > 256 || every[i] != 1)
            return 1;
    for (unsigned i = 0; i + 1 < rank; i++)
        if (strides[i] % 16 || strides[i] >> 40)
            return 1;
    for (unsigned i = 0; i < rank; i++)
        box_bytes *= box[i];
    if (box_bytes > 232448 || box[0] * bytes % 16 || (swizzle && box[0] * bytes > 16u << swizzle))
        return 1;
    memset(map, 0, 128);
    memcpy(map, &made, sizeof(made));
    return 0;
}

/* ---- launches ---- */

/* Called by the stub of cuBLASLt after work of that many microseconds. */
void stub_advance(double us)
{
    stub_pass(us, 1);
}

/* How hot this product finds the device: 0 to 1. */
static double heat(void)
{
    long products = stub_setting("STUB_HEAT", 0);

    return products <= 0 ? 0 : fmin(1, (double)stub_device.heated++ / (double)products);
}

/* STUB_RANKING; with STUB_RANKING_ONCE only in the process that is the first to create that file.
 */
static long ranking(void)
{
    static bool asked, mine;
    const char *once = getenv("STUB_RANKING_ONCE");

    if (!once)
        return stub_setting("STUB_RANKING", 0);
    if (!asked) {
        int file = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600);

        asked = true;
        mine = file >= 0;
        if (mine)
            close(file);
    }
    return mine ? stub_setting("STUB_RANKING", 0) : 0;
}

/* Microseconds of a product: between 0.2 and 0.8 of the peak as the hash has it, +- 0.2 %.  What a
 * module's n-th product takes does not depend on what others do in between. */
static double duration(struct module *module, const struct gt_args *args)
{
    double peak = 2e-3 * CLOCK_KHZ * 128 * (double)stub_setting("STUB_SMS", 16); /* FLOP per us */
    double work = 2.0 * (double)args->m * (double)args->n * (double)args->k * (double)args->batch;
    uint64_t seed = module->hash + (uint64_t)ranking();
    uint64_t hash = stub_hash(args->launch, sizeof(args->launch), seed);
    double share = 0.2 + 0.6 * (double)(hash >> 40) / 16777216.0;
    double paced = (double)stub_setting("STUB_PRODUCT_US", 0);
    uint64_t noise = stub_hash(&module->products, sizeof(module->products), module->hash);
    double alone = paced > 0 ? paced / share : 3 + work / peak / share;
    double us = alone * (1 + 0.004 * ((double)(noise >> 40) / 16777216.0 - 0.5));

    module->products++;
    us *= 1 + 0.3 * heat() * (double)(hash % 1024) / 1024;
    if (stub_device.asleep < stub_setting("STUB_ASLEEP", 0)) {
        stub_device.asleep++;
        us *= 4;
    }
    if (stub_has(&module->faults, "slow"))
        us *= 10;
    return stub_has(&module->faults, "impossible") ? 1e-3 : us;
}

/* The faults of a whole device. */
static void fail_as_planned(void)
{
    const long wait_us = stub_setting("STUB_WAIT_US", 0);

    stub_device.products++;
    if (wait_us > 0)
        usleep((useconds_t)wait_us);
    if (stub_device.products > stub_setting("STUB_DIES", LONG_MAX))
        stub_device.sticky = 700;
    if (stub_device.products > stub_setting("STUB_HANGS", LONG_MAX))
        stub_device.hung = true;
}

static int run_gemm(struct module *module, const struct gt_args *args, const struct gt_more *more,
                    const enum stub_reading reading[2])
{
    enum stub_outcome outcome = STUB_DONE;

    if (stub_has(&module->faults, "launch_invalid"))
        return 701;
    fail_as_planned();
    if (!stub_quick)
        outcome =
            stub_gemm(module->source, &module->faults, args, more, reading, module->launches++);
    stub_pass(duration(module, args), 1 - 0.01 * (double)stub_setting("STUB_WATTS_SPREAD", 0) *
                                              (double)(module->hash % 1024) / 1024);
    if (outcome == STUB_HUNG)
        stub_device.hung = true;
    else if (outcome)
        stub_device.sticky = (int)outcome;
    return 0; /* a fault of the device is reported by a later call */
}

/* The chain of FMAs for every element: there are eight different ones. */
static void run_canary(const struct gt_canary_args *args)
{
    float value[8];

    for (int i = 0; i < 8; i++) {
        value[i] = 1.0f + (float)i;
        for (int step = 0; step < args->steps; step++)
            value[i] = fmaf(value[i], 0.75f, 1.0f + 0.125f * (float)(step % 4));
    }
    for (long long i = 0; i < args->count; i++)
        args->out[i] = value[i % 8];
    stub_pass(args->steps * 4e-3, 1);
}

static void run_clock(const struct gt_clock_args *args)
{
    int part = stub_device.asleep < stub_setting("STUB_ASLEEP", 0) ? 4 : 1;

    if (args->result) {
        args->result->nanoseconds = (unsigned long long)args->nanoseconds;
        args->result->cycles =
            (unsigned long long)args->nanoseconds * (CLOCK_KHZ / 1000000) / (unsigned)part;
    }
    stub_pass((double)args->nanoseconds * 1e-3, 1);
}

/* Moves what an entry of templates/calibrate/move.cu would: by loads 1000 bytes a microsecond,
 * twice as many in bulk. Where there is no such memory the device has a fault. */
static void run_move(const char *entry, const struct gt_move_args *args)
{
    size_t written = 16 * (size_t)args->written, moved = written;
    bool there = stub_inside((uint64_t)(uintptr_t)args->to, written);

    for (int i = 0; i < GT_MOVE_PARTS; i++) {
        size_t bytes = 16 * (size_t)args->words[i];

        there = there && (!bytes || stub_inside((uint64_t)(uintptr_t)args->from[i], bytes));
        moved += bytes;
    }
    if (!there) {
        stub_device.sticky = 700;
        return;
    }
    if (!stub_quick)
        memset(args->to, 0, written);
    stub_pass((double)moved / (strcmp(entry, "move_bulk") == 0 ? 2000 : 1000), 1);
}

/* The product of the operands that the maps point at. */
static int run_mapped_gemm(struct module *module, const struct gt_args *args, const void *maps)
{
    struct gt_args mapped = *args;
    struct tensor_map map[2];
    enum stub_reading reading[2];

    for (int i = 0; i < 2; i++) {
        memcpy(&map[i], (const char *)maps + 128 * i, sizeof(map[i]));
        if (map[i].magic != MAP_MAGIC)
            return 1;
        reading[i] = map[i].reading;
    }
    mapped.a = (const void *)(uintptr_t)map[0].address;
    mapped.b = (const void *)(uintptr_t)map[1].address;
    return run_gemm(module, &mapped, NULL, reading);
}

#define MAPS "GT_KERNEL_MAPS_BOUNDS"
#define MORE "GT_KERNEL_MORE_BOUNDS"

/* Whether the entry has the second argument that this macro gives it. */
static bool takes(const struct function *function, const char *macro)
{
    return strstr(function->module->source, macro) != NULL;
}

static int run_function(const struct function *function, const unsigned grid[3], unsigned threads,
                        void **parameters)
{
    static const enum stub_reading plain[2] = {STUB_READ_WHOLE, STUB_READ_WHOLE};
    const void *args = parameters[0];

    if (strcmp(function->entry, "gemm") == 0)
        return takes(function, MAPS)
                   ? run_mapped_gemm(function->module, args, parameters[1])
                   : run_gemm(function->module, args, takes(function, MORE) ? parameters[1] : NULL,
                              plain);
    if (strcmp(function->entry, "proof_canary") == 0)
        run_canary(args);
    else if (strcmp(function->entry, "proof_clock") == 0)
        run_clock(args);
    else if (stub_quick)
        ;
    else if (strncmp(function->entry, "proof_reference", 15) == 0)
        stub_reference(args, grid);
    else if (strncmp(function->entry, "move_", 5) == 0)
        run_move(function->entry, args);
    else
        stub_proof_run(function->entry, grid, threads, args);
    stub_pass(2, 1);
    return 0;
}

/* STUB_NO_WORK: launches do nothing, for tools/bench-serve.  STUB_PROGRAMMATIC: products that are
 * not launched programmatically (GT_CU_ATTRIBUTE_PDL) are refused. */
static bool stub_idle, stub_programmatic;
bool stub_quick;

__attribute__((constructor)) static void read_setting(void)
{
    stub_idle = stub_setting("STUB_NO_WORK", 0) != 0;
    stub_quick = stub_setting("STUB_QUICK", 0) != 0;
    stub_programmatic = stub_setting("STUB_PROGRAMMATIC", 0) != 0;
}

/* A launch that a graph keeps; the arguments of a kernel that takes maps, or more, are two. */
struct kept {
    const struct function *function;
    unsigned grid[3], threads;
    struct gt_args args;
    struct gt_maps maps;
    struct gt_more more;
};

static int run_kept(const void *work)
{
    struct kept kept;
    void *parameters[] = {&kept.args, &kept.maps};

    memcpy(&kept, work, sizeof(kept)); /* what the graph keeps is not aligned as maps are */
    if (takes(kept.function, MORE))
        parameters[1] = &kept.more;
    return run_function(kept.function, kept.grid, kept.threads, parameters);
}

/* Whether it was kept for a graph instead of run.  Only products are. */
static bool keep(const struct function *function, const unsigned grid[3], unsigned threads,
                 void **parameters)
{
    struct kept kept;

    if (!stub_device.capture || strcmp(function->entry, "gemm") != 0)
        return false;
    memset(&kept, 0, sizeof(kept));
    kept.function = function;
    memcpy(kept.grid, grid, sizeof(kept.grid));
    kept.threads = threads;
    memcpy(&kept.args, parameters[0], sizeof(kept.args));
    if (takes(function, MAPS))
        memcpy(&kept.maps, parameters[1], sizeof(kept.maps));
    if (takes(function, MORE))
        memcpy(&kept.more, parameters[1], sizeof(kept.more));
    return stub_capture(run_kept, &kept, sizeof(kept));
}

/* For programs of tests: the stream of the last launch; what is done after a product's; workspace
 * and D of the first launches of kernels that have a workspace. */
void *stub_last_stream;
void (*stub_damage)(void);
struct stub_launched stub_launched[STUB_LAUNCHED];
int stub_launched_count;

/* The entries of a module that has a product have its arguments. */
static bool is_of_product(const struct module *module)
{
    for (int i = 0; i < MAX_ENTRIES; i++)
        if (strcmp(module->function[i].entry, "gemm") == 0)
            return true;
    return false;
}

static void note(const struct function *function, const struct gt_args *args)
{
    if (!is_of_product(function->module) || !args->workspace ||
        stub_launched_count == STUB_LAUNCHED)
        return;
    stub_launched[stub_launched_count++] = (struct stub_launched){args->workspace, args->d};
}

/* STUB_APART_US: a wait of one to five times that before each launch, so that other threads'
 * launches come between those of a product. */
static void stand_apart(void)
{
    static _Atomic unsigned launches;
    const long us = stub_setting("STUB_APART_US", 0);

    if (us > 0)
        usleep((useconds_t)us * (1 + atomic_fetch_add(&launches, 1) % 5));
}

static int launch(const struct gt_cu_config *config, const struct function *function,
                  bool programmatic, void **parameters)
{
    const unsigned *grid = config->grid, *block = config->block;
    int result = 0;

    if (stub_idle)
        return 0;
    __atomic_store_n(&stub_last_stream, config->stream, __ATOMIC_RELAXED); /* of any thread */
    if (stub_device.sticky)
        return stub_device.sticky;
    if (function->module->context != stub_current)
        return 400;
    if (!grid[0] || !grid[1] || !grid[2] || block[0] * block[1] * block[2] > 1024 ||
        config->shared_bytes > 232448)
        return 1;
    if (stub_programmatic && !programmatic && strcmp(function->entry, "gemm") == 0)
        return 1;
    stand_apart();
    pthread_mutex_lock(&launching);
    note(function, parameters[0]);
    if (!stub_device.hung && !keep(function, grid, block[0], parameters))
        result = run_function(function, grid, block[0], parameters);
    if (stub_damage && is_of_product(function->module))
        stub_damage();
    pthread_mutex_unlock(&launching);
    return result;
}

int stub_LaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      void *stream, void **parameters, void **extra)
{
    const struct gt_cu_config config = {.grid = {grid_x, grid_y, grid_z},
                                        .block = {block_x, block_y, block_z},
                                        .shared_bytes = shared,
                                        .stream = stream};

    (void)extra;
    return launch(&config, function, false, parameters);
}

/* A cluster divides the grid; nothing else is known but programmatic launches. */
static bool attribute_fits(const struct gt_cu_attribute *attribute, const unsigned grid[3])
{
    const unsigned *cluster = attribute->value.cluster;

    if (attribute->id == GT_CU_ATTRIBUTE_PDL)
        return attribute->value.flag == 1;
    if (attribute->id != GT_CU_ATTRIBUTE_CLUSTER)
        return false;
    for (int i = 0; i < 3; i++)
        if (!cluster[i] || grid[i] % cluster[i])
            return false;
    return true;
}

int stub_LaunchKernelEx(const struct gt_cu_config *config, void *function, void **parameters,
                        void **extra)
{
    bool programmatic = false;

    (void)extra;
    for (unsigned i = 0; i < config->attributes; i++) {
        if (!attribute_fits(&config->attribute[i], config->grid))
            return 1;
        programmatic |= config->attribute[i].id == GT_CU_ATTRIBUTE_PDL;
    }
    return launch(config, function, programmatic, parameters);
}

/* stub_cuda.c - builds libcuda.so.1 for tests: a driver whose device is this CPU.
 *
 * Device memory is host memory.  Kernels run at once when launched: the project's own by their
 * names, everything called "gemm" as a plain product in the layout that the source's #defines name,
 * any other entry as nothing.  Time is virtual: launches advance a clock by what a hash of source
 * and launch parameters says, events read it.  Planted faults are those of stub_gemm.c, and
 *   illegal_address, misaligned  every later call fails until the process ends
 *   endless                      whoever waits for the device waits forever
 *   slow                         ten times the time        impossible  next to none
 *   launch_invalid               the launch is refused
 *
 * A "gemm" whose source names GT_KERNEL_MAPS_BOUNDS reads A and B where its first two tensor maps
 * point, instead of where its first argument does.
 *
 * Environment: STUB_CC (default 90), STUB_SMS (16), STUB_MEMORY (bytes, 4 GiB), STUB_UUID
 * (another device for the lock between tuners), STUB_NO_DEVICE, STUB_ASLEEP (products that run at a
 * quarter of the clock before the device is awake), STUB_HEAT (products after which the device is
 * hot: until then it gets slower, by up to 30 %, each kernel by another share of that), STUB_MOOD
 * (any number: with another one, other kernels are fast). */
#include "../../src/cuda_api.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "stub_gemm.h"

#define CLOCK_KHZ 1000000

void stub_advance(double us);
int stub_proof_run(const char *entry, const unsigned grid[3], unsigned threads, const void *args);

/* The exported functions, as src/cuda_api.h has them. */
#define cuPrototype(field, symbol, parameters) int stub_##field parameters __asm__(symbol);
GT_DRIVER_MAP(cuPrototype)
GT_DRIVER_OPTIONAL_MAP(cuPrototype)

struct allocation {
    struct allocation *next;
    void *base;
    size_t bytes;
};

struct module;

struct function {
    struct module *module;
    char entry[64];
};

#define MAX_ENTRIES 16

struct module {
    char *source;
    struct stub_faults faults;
    uint64_t hash;
    unsigned long launches;
    struct function function[MAX_ENTRIES];
};

struct event {
    double us;
};

/* The one device of the process, as the driver's state is one of its process. */
static struct {
    double now_us;
    int sticky; /* result of every later call, 0: none */
    bool hung;
    struct allocation *allocations;
    size_t used;
    unsigned long noise;
    long asleep; /* products run while it was */
    long heated; /* products run so far */
} device;

static _Thread_local void *current; /* context of the thread */

/* Launches come from any thread. */
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

static long setting(const char *name, long absent)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 0) : absent;
}

static size_t memory_total(void)
{
    return (size_t)setting("STUB_MEMORY", 4l << 30);
}

/* ---- device and context ---- */

int stub_Init(unsigned flags)
{
    (void)flags;
    return getenv("STUB_NO_DEVICE") ? 100 : 0;
}

int stub_DriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

static const struct {
    int result;
    const char *name, *text;
} results[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
};

int stub_GetErrorName(int result, const char **name)
{
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
        if (results[i].result == result)
            return *name = results[i].name, 0;
    return *name = NULL, 1;
}

int stub_GetErrorString(int result, const char **text)
{
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
        if (results[i].result == result)
            return *text = results[i].text, 0;
    return *text = NULL, 1;
}

int stub_DeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}

int stub_DeviceGet(int *out, int ordinal)
{
    *out = ordinal;
    return ordinal ? 101 : 0;
}

int stub_DeviceGetName(char *name, int size, int cu)
{
    (void)cu;
    snprintf(name, (size_t)size, "Stub device");
    return 0;
}

int stub_DeviceGetUuid(unsigned char uuid[16], int cu)
{
    (void)cu;
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i * 17);
    memcpy(uuid, &(unsigned){(unsigned)setting("STUB_UUID", 0x33221100)}, 4);
    return 0;
}

int stub_DeviceGetAttribute(int *value, int attribute, int cu)
{
    const int table[][2] = {
        {13, CLOCK_KHZ},
        {16, (int)setting("STUB_SMS", 16)},
        {36, 1000000},
        {37, 512},
        {38, 1 << 18},
        {39, 2048},
        {81, 233472},
        {75, (int)setting("STUB_CC", 90) / 10},
        {76, (int)setting("STUB_CC", 90) % 10},
        {82, 65536},
        {97, 232448},
        {106, 32},
        {111, 1024},
    };

    (void)cu;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (table[i][0] == attribute)
            return *value = table[i][1], 0;
    return 1;
}

int stub_DeviceTotalMem(size_t *bytes, int cu)
{
    (void)cu;
    *bytes = memory_total();
    return 0;
}

int stub_PrimaryCtxRetain(void **context, int cu)
{
    (void)cu;
    *context = &device;
    return device.sticky;
}

int stub_PrimaryCtxRelease(int cu)
{
    (void)cu;
    return 0;
}

int stub_CtxGetCurrent(void **context)
{
    *context = current;
    return 0;
}

int stub_CtxPushCurrent(void *context)
{
    current = context;
    return 0;
}

int stub_CtxPopCurrent(void **context)
{
    *context = current;
    current = NULL;
    return 0;
}

/* ---- memory ---- */

int stub_MemGetInfo(size_t *present, size_t *total)
{
    *total = memory_total();
    *present = *total - device.used;
    return device.sticky;
}

int stub_MemAlloc(uint64_t *address, size_t bytes)
{
    struct allocation *made;

    if (device.sticky)
        return device.sticky;
    if (!bytes || bytes > memory_total() - device.used)
        return bytes ? 2 : 1;
    made = calloc(1, sizeof(*made));
    if (!made || posix_memalign(&made->base, 256, bytes)) {
        free(made);
        return 2;
    }
    made->bytes = bytes;
    made->next = device.allocations;
    device.allocations = made;
    device.used += bytes;
    *address = (uint64_t)(uintptr_t)made->base;
    return 0;
}

int stub_MemFree(uint64_t address)
{
    for (struct allocation **at = &device.allocations; *at; at = &(*at)->next)
        if ((uint64_t)(uintptr_t)(*at)->base == address) {
            struct allocation *found = *at;

            *at = found->next;
            device.used -= found->bytes;
            free(found->base);
            free(found);
            return device.sticky;
        }
    return 1;
}

/* Whether the bytes lie within one allocation. */
static bool inside(uint64_t address, size_t bytes)
{
    for (const struct allocation *at = device.allocations; at; at = at->next) {
        uint64_t base = (uint64_t)(uintptr_t)at->base;

        if (address >= base && address + bytes <= base + at->bytes)
            return true;
    }
    return false;
}

/* Waiting for the device, which an endless kernel never lets happen. */
static int wait_for_device(void)
{
    while (device.hung)
        pause();
    return device.sticky;
}

int stub_MemcpyHtoDAsync(uint64_t to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    if (device.sticky || !inside(to, bytes))
        return device.sticky ? device.sticky : 1;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int stub_MemcpyDtoHAsync(void *to, uint64_t from, size_t bytes, void *stream)
{
    int result = wait_for_device();

    (void)stream;
    if (result || !inside(from, bytes))
        return result ? result : 1;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

int stub_MemsetD32Async(uint64_t to, unsigned word, size_t words, void *stream)
{
    unsigned *at = (unsigned *)(uintptr_t)to;

    (void)stream;
    if (device.sticky || !inside(to, 4 * words))
        return device.sticky ? device.sticky : 1;
    for (size_t i = 0; i < words; i++)
        at[i] = word;
    device.now_us += 1 + (double)words * 4e-5;
    return 0;
}

/* ---- streams and events ---- */

int stub_StreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = &device;
    return device.sticky;
}

int stub_StreamDestroy(void *stream)
{
    (void)stream;
    return device.sticky;
}

int stub_StreamSynchronize(void *stream)
{
    (void)stream;
    return wait_for_device();
}

int stub_EventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    return *event ? device.sticky : 2;
}

int stub_EventDestroy(void *event)
{
    free(event);
    return device.sticky;
}

int stub_EventRecord(void *event, void *stream)
{
    (void)stream;
    ((struct event *)event)->us = device.now_us;
    return device.sticky;
}

int stub_EventSynchronize(void *event)
{
    (void)event;
    return wait_for_device();
}

int stub_EventElapsedTime(float *ms, void *from, void *to)
{
    *ms = (float)((((struct event *)to)->us - ((struct event *)from)->us) * 1e-3);
    return device.sticky;
}

/* ---- modules ---- */

int stub_ModuleLoadDataEx(void **module, const void *image, unsigned options, int *option,
                          void **value)
{
    struct module *loaded;

    (void)options, (void)option, (void)value;
    if (device.sticky)
        return device.sticky;
    if (strncmp(image, STUB_MAGIC, strlen(STUB_MAGIC)) != 0)
        return 200;
    loaded = calloc(1, sizeof(*loaded));
    if (!loaded)
        return 2;
    loaded->source = strdup((const char *)image + strlen(STUB_MAGIC));
    stub_faults_read(loaded->source, &loaded->faults);
    loaded->hash = stub_hash(loaded->source, strlen(loaded->source), 0xcbf29ce484222325u);
    *module = loaded;
    return 0;
}

int stub_ModuleUnload(void *module)
{
    struct module *loaded = module;

    free(loaded->source);
    free(loaded);
    return device.sticky;
}

int stub_ModuleGetFunction(void **function, void *module, const char *entry)
{
    struct module *loaded = module;
    size_t i = 0;

    if (!strstr(loaded->source, entry))
        return 500;
    while (i < MAX_ENTRIES && loaded->function[i].module &&
           strcmp(loaded->function[i].entry, entry) != 0)
        i++;
    if (i == MAX_ENTRIES)
        return 2;
    loaded->function[i].module = module;
    snprintf(loaded->function[i].entry, sizeof(loaded->function[i].entry), "%s", entry);
    *function = &loaded->function[i];
    return device.sticky;
}

int stub_FuncGetAttribute(int *value, int attribute, void *function)
{
    *value = attribute == 0   ? 1024
             : attribute == 4 ? 32 + (int)(((struct function *)function)->module->hash % 96)
                              : 0;
    return 0;
}

int stub_FuncSetAttribute(void *function, int attribute, int value)
{
    (void)function;
    return attribute == 8 && value > 232448 ? 1 : 0;
}

/* ---- tensor maps ---- */

#define MAP_MAGIC 0x7465736e6f72ull

/* What the stub puts into the driver's 128 bytes. */
struct tensor_map {
    uint64_t magic, address;
};

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
    const struct tensor_map made = {MAP_MAGIC, (uint64_t)(uintptr_t)address};
    unsigned bytes = element_bytes(type);
    uint64_t box_bytes = bytes;

    if (!current) /* CUDA_ERROR_INVALID_CONTEXT */
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

/* For the stub of cuBLASLt: work of that many microseconds was done. */
void stub_advance(double us)
{
    device.now_us += us;
}

/* How hot this product finds the device: 0 to 1. */
static double heat(void)
{
    long products = setting("STUB_HEAT", 0);

    return products <= 0 ? 0 : fmin(1, (double)device.heated++ / (double)products);
}

/* Microseconds of a product: between 0.2 and 0.8 of the peak as the hash has it, +- 0.2 %. */
static double duration(const struct module *module, const struct gt_args *args)
{
    double peak = 2e-3 * CLOCK_KHZ * 128 * (double)setting("STUB_SMS", 16); /* FLOP per us */
    double work = 2.0 * (double)args->m * (double)args->n * (double)args->k * (double)args->batch;
    uint64_t seed = module->hash + (uint64_t)setting("STUB_MOOD", 0);
    uint64_t hash = stub_hash(args->launch, sizeof(args->launch), seed);
    double share = 0.2 + 0.6 * (double)(hash >> 40) / 16777216.0;
    uint64_t noise = stub_hash(&device.noise, sizeof(device.noise), 0xcbf29ce484222325u);
    double us =
        (3 + work / peak / share) * (1 + 0.004 * ((double)(noise >> 40) / 16777216.0 - 0.5));

    device.noise++;
    us *= 1 + 0.3 * heat() * (double)(hash % 1024) / 1024;
    if (device.asleep < setting("STUB_ASLEEP", 0)) {
        device.asleep++;
        us *= 4;
    }
    if (stub_has(&module->faults, "slow"))
        us *= 10;
    return stub_has(&module->faults, "impossible") ? 1e-3 : us;
}

static int run_gemm(struct module *module, const struct gt_args *args)
{
    enum stub_outcome outcome;

    if (stub_has(&module->faults, "launch_invalid"))
        return 701;
    outcome = stub_gemm(module->source, &module->faults, args, module->launches++);
    device.now_us += duration(module, args);
    if (outcome == STUB_HUNG)
        device.hung = true;
    else if (outcome)
        device.sticky = (int)outcome;
    return 0; /* what goes wrong on the device is told later */
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
    device.now_us += args->steps * 4e-3;
}

static void run_clock(const struct gt_clock_args *args)
{
    int part = device.asleep < setting("STUB_ASLEEP", 0) ? 4 : 1;

    if (args->result) {
        args->result->nanoseconds = (unsigned long long)args->nanoseconds;
        args->result->cycles =
            (unsigned long long)args->nanoseconds * (CLOCK_KHZ / 1000000) / (unsigned)part;
    }
    device.now_us += (double)args->nanoseconds * 1e-3;
}

/* The product of the operands that the maps point at. */
static int run_mapped_gemm(struct module *module, const struct gt_args *args, const void *maps)
{
    struct gt_args mapped = *args;
    struct tensor_map map[2];

    for (int i = 0; i < 2; i++) {
        memcpy(&map[i], (const char *)maps + 128 * i, sizeof(map[i]));
        if (map[i].magic != MAP_MAGIC)
            return 1;
    }
    mapped.a = (const void *)(uintptr_t)map[0].address;
    mapped.b = (const void *)(uintptr_t)map[1].address;
    return run_gemm(module, &mapped);
}

static int run_function(const struct function *function, const unsigned grid[3], unsigned threads,
                        void **parameters)
{
    const void *args = parameters[0];

    if (strcmp(function->entry, "gemm") == 0)
        return strstr(function->module->source, "GT_KERNEL_MAPS_BOUNDS")
                   ? run_mapped_gemm(function->module, args, parameters[1])
                   : run_gemm(function->module, args);
    if (strcmp(function->entry, "proof_reference") == 0)
        stub_reference(args, grid);
    else if (strcmp(function->entry, "proof_canary") == 0)
        run_canary(args);
    else if (strcmp(function->entry, "proof_clock") == 0)
        run_clock(args);
    else
        stub_proof_run(function->entry, grid, threads, args);
    device.now_us += 2;
    return 0;
}

int stub_LaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      void *stream, void **parameters, void **extra)
{
    const unsigned grid[3] = {grid_x, grid_y, grid_z};
    int result = 0;

    (void)stream, (void)extra;
    if (device.sticky)
        return device.sticky;
    if (!grid_x || !grid_y || !grid_z || block_x * block_y * block_z > 1024 || shared > 232448)
        return 1;
    pthread_mutex_lock(&launching);
    if (!device.hung)
        result = run_function(function, grid, block_x, parameters);
    pthread_mutex_unlock(&launching);
    return result;
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
    for (unsigned i = 0; i < config->attributes; i++)
        if (!attribute_fits(&config->attribute[i], config->grid))
            return 1;
    return stub_LaunchKernel(function, config->grid[0], config->grid[1], config->grid[2],
                             config->block[0], config->block[1], config->block[2],
                             config->shared_bytes, config->stream, parameters, extra);
}

/* stub_cuda.c - builds libcuda.so.1 for tests: a driver whose device is this CPU.  Here are device,
 * context and modules; memory, streams and events are in stub_memory.c, launches in stub_launch.c,
 * graphs in stub_graph.c, what it draws from its supply in stub_power.c.
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
 * (another device for the lock between tuners), STUB_NAME (its name), STUB_INIT (what cuInit
 * answers), STUB_ASLEEP (products that run at a quarter of the clock before the device is awake),
 * STUB_HEAT (products
 * after which the device is hot: until then it gets slower, by up to 30 %, each kernel by another
 * share of that), STUB_RANKING (any number: with another one, other kernels are fast),
 * STUB_RANKING_ONCE (a file that does not exist: STUB_RANKING applies only in the process that
 * creates it), STUB_START_MS (what cuInit takes), STUB_DEVICES (how many, default 1; they share
 * memory and clock, and a module belongs to the context in which it was loaded), STUB_WAIT_US (what
 * a product really takes, beside its virtual time), STUB_RESET (how often the device was reset),
 * STUB_NO_WORK (launches do nothing), STUB_QUICK (products, references and checks take their
 * virtual time and do nothing else, and nothing is found wrong: problems of any size), STUB_DIES
 * and STUB_HANGS (products after which the device fails every call, or never answers; they count
 * for each process), STUB_DRIVER (its CUDA version, 13000; it refuses images of a compiler of a
 * later major version), STUB_REFUSES (a version of NVRTC whose images it refuses; STUB_NVRTC is the
 * compiler's), STUB_PACED (see stub_power.c). NAME_0, NAME_1... set a variable for one
 * device. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "stub_device.h"

struct stub_device stub_device;
_Thread_local void *stub_current;

/* NAME_<ordinal> comes before NAME. */
static const char *text_of(const char *name, int ordinal)
{
    const char *text;
    char own[64];

    snprintf(own, sizeof(own), "%s_%d", name, ordinal);
    text = getenv(own);
    return text ? text : getenv(name);
}

const char *stub_text(const char *name)
{
    return text_of(name, stub_device.ordinal);
}

static long setting_of(const char *name, int ordinal, long absent)
{
    const char *text = text_of(name, ordinal);

    return text ? strtol(text, NULL, 0) : absent;
}

long stub_setting(const char *name, long absent)
{
    return setting_of(name, stub_device.ordinal, absent);
}

/* ---- device and context ---- */

int stub_Init(unsigned flags)
{
    (void)flags;
    usleep((useconds_t)(1000 * stub_setting("STUB_START_MS", 0)));
    return (int)stub_setting("STUB_INIT", 0);
}

int stub_DriverGetVersion(int *version)
{
    const char *text = getenv("STUB_DRIVER"); /* 12080 for 12.8 */

    *version = text ? atoi(text) : 13000;
    return 0;
}

/* Whether the driver takes the image: not one of a compiler of a later major version, nor of the
 * version STUB_REFUSES. */
static bool takes(const char *image)
{
    const char *made_by = strstr(image, STUB_MADE_BY), *refused = getenv("STUB_REFUSES");
    int version, driver;

    if (strncmp(image, STUB_MAGIC, strlen(STUB_MAGIC)) != 0)
        return false;
    if (!made_by)
        return true;
    version = atoi(made_by + strlen(STUB_MADE_BY));
    stub_DriverGetVersion(&driver);
    return version / 1000 <= driver / 1000 && !(refused && atoi(refused) == version);
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
    *count = (int)stub_setting("STUB_DEVICES", 1);
    return 0;
}

int stub_DeviceGet(int *out, int ordinal)
{
    *out = ordinal;
    if (ordinal < 0 || ordinal >= (int)stub_setting("STUB_DEVICES", 1))
        return 101;
    stub_device.ordinal = ordinal;
    return 0;
}

int stub_DeviceGetName(char *name, int size, int cu)
{
    const char *other = text_of("STUB_NAME", cu);

    snprintf(name, (size_t)size, "%s", other ? other : "Stub device");
    return 0;
}

int stub_DeviceGetUuid(unsigned char uuid[16], int cu)
{
    (void)cu;
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i * 17);
    memcpy(uuid, &(unsigned){(unsigned)stub_setting("STUB_UUID", 0x33221100 + stub_device.ordinal)},
           4);
    return 0;
}

int stub_DeviceGetAttribute(int *value, int attribute, int cu)
{
    const int table[][2] = {
        {13, CLOCK_KHZ},
        {16, (int)setting_of("STUB_SMS", cu, 16)},
        {36, 1000000},
        {37, 512},
        {38, 1 << 18},
        {39, 2048},
        {81, 233472},
        {75, (int)setting_of("STUB_CC", cu, 90) / 10},
        {76, (int)setting_of("STUB_CC", cu, 90) % 10},
        {82, 65536},
        {97, 232448},
        {106, 32},
        {111, 1024},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (table[i][0] == attribute)
            return *value = table[i][1], 0;
    return 1;
}

int stub_DeviceTotalMem(size_t *bytes, int cu)
{
    (void)cu;
    *bytes = stub_memory_total();
    return 0;
}

/* The primary contexts.  What a device has beside it, the whole process shares. */
static char contexts[8];

static atomic_int retained[sizeof(contexts)];
atomic_int stub_primaries_made; /* primary contexts that were retained while they were not active */

int stub_PrimaryCtxRetain(void **context, int cu)
{
    if (cu < 0 || cu >= (int)sizeof(contexts))
        return 101;
    if (atomic_fetch_add(&retained[cu], 1) == 0)
        atomic_fetch_add(&stub_primaries_made, 1);
    *context = &contexts[cu];
    return stub_device.sticky;
}

/* For src/serve, which does not make one. */
int cuDevicePrimaryCtxGetState(int cu, unsigned *flags, int *active);

int cuDevicePrimaryCtxGetState(int cu, unsigned *flags, int *active)
{
    *flags = 0;
    *active = cu >= 0 && cu < (int)sizeof(contexts) && atomic_load(&retained[cu]) > 0;
    return 0;
}

int stub_ordinal(const void *context)
{
    for (int i = 0; i < (int)sizeof(contexts); i++)
        if (context == &contexts[i])
            return i;
    return -1;
}

/* Modules that are loaded; a reset of the device frees them. */
static struct module *modules;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_modules(void)
{
    pthread_mutex_lock(&modules_lock);
    while (modules) {
        struct module *next = modules->next;

        free(modules->source);
        free(modules);
        modules = next;
    }
    pthread_mutex_unlock(&modules_lock);
}

/* STUB_RESET: how often the device was reset. */
int stub_CtxGetId(void *context, uint64_t *id)
{
    static _Atomic uint64_t resets;
    const uint64_t now = (uint64_t)stub_setting("STUB_RESET", 0);

    if (now > atomic_exchange(&resets, now))
        free_modules();
    *id = 7 + now;
    return stub_ordinal(context) >= 0 ? 0 : 201;
}

int stub_PrimaryCtxRelease(int cu)
{
    atomic_fetch_sub(&retained[cu], 1);
    return 0;
}

int stub_CtxGetCurrent(void **context)
{
    *context = stub_current;
    return 0;
}

int stub_CtxPushCurrent(void *context)
{
    stub_current = context;
    return 0;
}

int stub_CtxPopCurrent(void **context)
{
    *context = stub_current;
    stub_current = NULL;
    return 0;
}

/* ---- modules ---- */

int stub_ModuleLoadDataEx(void **module, const void *image, unsigned options, int *option,
                          void **value)
{
    struct module *loaded;

    (void)options, (void)option, (void)value;
    if (stub_device.sticky)
        return stub_device.sticky;
    if (!takes(image))
        return 200;
    loaded = calloc(1, sizeof(*loaded));
    if (!loaded)
        return 2;
    loaded->source = strdup((const char *)image + strlen(STUB_MAGIC));
    stub_faults_read(loaded->source, &loaded->faults);
    loaded->hash = stub_hash(loaded->source, strlen(loaded->source), 0xcbf29ce484222325u);
    loaded->context = stub_current;
    pthread_mutex_lock(&modules_lock);
    loaded->next = modules;
    modules = loaded;
    pthread_mutex_unlock(&modules_lock);
    *module = loaded;
    return 0;
}

int stub_ModuleUnload(void *module)
{
    struct module *loaded = module;

    pthread_mutex_lock(&modules_lock);
    for (struct module **at = &modules; *at; at = &(*at)->next)
        if (*at == loaded) {
            *at = loaded->next;
            break;
        }
    pthread_mutex_unlock(&modules_lock);
    free(loaded->source);
    free(loaded);
    return stub_device.sticky;
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
    return stub_device.sticky;
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

/* module.c - stage: loading compiled kernels and launching them (the second half of gpu.h). */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/gpu_internal.h"
#include "problem/problem.h"

/* CUfunction_attribute */
enum {
    FUNCTION_MAX_THREADS = 0,
    FUNCTION_STATIC_SHARED = 1,
    FUNCTION_LOCAL = 3,
    FUNCTION_REGISTERS = 4,
    FUNCTION_MAX_DYNAMIC_SHARED = 8,
    FUNCTION_CARVEOUT = 9,
    FUNCTION_NON_PORTABLE_CLUSTER = 14,
};

#define ENTRY_LENGTH 64

/* An entry of the image and its settings. */
struct function {
    char entry[ENTRY_LENGTH];
    void *handle;
    int max_threads, static_shared, local_bytes, registers;
    int dynamic_shared; /* the limit that is set */
};

/* A tensor map that the driver made, for one address: programs ask for the same operands again.
 * Encoding takes 84 ns a map on an H200 host, against 3.5 us for a launch; a kept map is copied.
 * (To keep maps and replace their address with cuTensorMapReplaceAddress does not give the same
 * bytes.)  Any thread writes and reads without a lock: `turn` is odd while a thread writes, and
 * a reader whose copy has another turn behind it than before it encodes. */
struct kept {
    _Atomic uint64_t turn; /* 0: nothing was written yet */
    _Atomic uint64_t address, word[sizeof(struct gt_map) / sizeof(uint64_t)];
};

#define KEPT_BITS 5 /* 32 addresses of each map: a slot is 144 bytes */

struct gt_module {
    struct gt_gpu *gpu;
    void *handle;
    struct function function[GT_MAX_LAUNCHES];
    size_t functions;
    struct launch {
        struct gt_launch_geometry is; /* the launch, but its entry, which the geometry owns */
        size_t function;
    } launch[GT_MAX_LAUNCHES];
    size_t launches;
    struct gt_map_geometry map[GT_MAX_MAPS];
    size_t maps;
    struct kept *kept; /* 2^KEPT_BITS for each map */
};

/* Whether a load or launch was refused because of its arguments, with the context unharmed: invalid
 * value, image, PTX or kernel, no entry, too many resources, cluster too large. */
static bool is_refusal(int result)
{
    static const int refusals[] = {1, 200, 209, 218, 222, 400, 500, 701, 720, 912};

    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
        if (result == refusals[i])
            return true;
    return false;
}

int gt_gpu_refuse(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err)
{
    int code = gt_gpu_fail(gpu, result, call, err);

    if (!is_refusal(result))
        return code;
    if (err)
        err->code = GT_ERANGE;
    return GT_ERANGE;
}

/* Loads an image; the sentence of an error quotes the driver's linker. */
static int load_image(struct gt_gpu *gpu, void **handle, const void *image, struct gt_err *err)
{
    enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 }; /* CUjit_option */
    char log[512] = "";
    int option[] = {ERROR_LOG, ERROR_LOG_SIZE};
    void *value[] = {log, (void *)(uintptr_t)sizeof(log)};
    int result = gpu->cu.ModuleLoadDataEx(handle, image, 2, option, value), code;

    if (!result)
        return GT_OK;
    code = gt_gpu_accept(gpu, result, "cuModuleLoadDataEx", err);
    log[sizeof(log) - 1] = '\0';
    log[strcspn(log, "\n")] = '\0';
    return *log ? gt_err_prefix(err, code, "%s", log) : code;
}

static int function_attribute(const struct gt_gpu *gpu, int id, void *function)
{
    int value = 0;

    return gpu->cu.FuncGetAttribute(&value, id, function) ? 0 : value;
}

/* Finds the module's function of this name; each name is looked up once. */
static int find_function(struct gt_module *module, const char *entry, size_t *index,
                         struct gt_err *err)
{
    struct gt_gpu *gpu = module->gpu;
    struct function *function;
    int rc;

    for (size_t i = 0; i < module->functions; i++)
        if (strcmp(module->function[i].entry, entry) == 0) {
            *index = i;
            return GT_OK;
        }
    if (module->functions == GT_MAX_LAUNCHES || strlen(entry) >= ENTRY_LENGTH)
        return gt_err_set(err, GT_ERANGE, "entry \"%s\": at most %d entries of %d characters",
                          entry, GT_MAX_LAUNCHES, ENTRY_LENGTH - 1);
    function = &module->function[module->functions];
    rc = gt_gpu_accept(gpu, gpu->cu.ModuleGetFunction(&function->handle, module->handle, entry),
                       "cuModuleGetFunction", err);
    if (rc)
        return gt_err_prefix(err, rc, "entry \"%s\"", entry);
    snprintf(function->entry, sizeof(function->entry), "%s", entry);
    function->max_threads = function_attribute(gpu, FUNCTION_MAX_THREADS, function->handle);
    function->static_shared = function_attribute(gpu, FUNCTION_STATIC_SHARED, function->handle);
    function->local_bytes = function_attribute(gpu, FUNCTION_LOCAL, function->handle);
    function->registers = function_attribute(gpu, FUNCTION_REGISTERS, function->handle);
    *index = module->functions++;
    return GT_OK;
}

/* Checks a launch against the limits; the sentence names the limit that the launch exceeds. */
static int check_launch(const struct gt_gpu *gpu, const struct function *function,
                        const struct gt_launch_geometry *want, struct gt_err *err)
{
    static const unsigned grid_limit[] = {0x7fffffffu, 65535, 65535};
    static const unsigned block_limit[] = {1024, 1024, 64};
    uint64_t threads = (uint64_t)want->block[0] * want->block[1] * want->block[2];
    int64_t shared = (int64_t)want->shared_bytes + function->static_shared;

    for (int i = 0; i < 3; i++) {
        if (want->grid[i] > grid_limit[i])
            return gt_err_set(err, GT_ERANGE, "%s: grid[%d] is %u, at most %u are allowed",
                              function->entry, i, want->grid[i], grid_limit[i]);
        if (want->block[i] < 1 || want->block[i] > block_limit[i])
            return gt_err_set(err, GT_ERANGE, "%s: block[%d] is %u, allowed are 1 to %u",
                              function->entry, i, want->block[i], block_limit[i]);
    }
    if (function->max_threads && threads > (uint64_t)function->max_threads)
        return gt_err_set(err, GT_ERANGE,
                          "%s: %llu threads in a block, its registers and bounds allow %d",
                          function->entry, (unsigned long long)threads, function->max_threads);
    if (shared > gpu->device.smem_block)
        return gt_err_set(err, GT_ERANGE,
                          "%s: %lld bytes of shared memory in a block, the device allows %lld",
                          function->entry, (long long)shared, (long long)gpu->device.smem_block);
    return GT_OK;
}

/* Sets the attributes that the function needs before such a launch. */
static int prepare_function(struct gt_gpu *gpu, struct function *function,
                            const struct gt_launch_geometry *want, struct gt_err *err)
{
    unsigned blocks = want->cluster[0] * want->cluster[1] * want->cluster[2];
    int result = 0;

    if ((int)want->shared_bytes > function->dynamic_shared) {
        result = gpu->cu.FuncSetAttribute(function->handle, FUNCTION_MAX_DYNAMIC_SHARED,
                                          (int)want->shared_bytes);
        if (!result)
            function->dynamic_shared = (int)want->shared_bytes;
    }
    if (!result && want->carveout >= 0)
        result = gpu->cu.FuncSetAttribute(function->handle, FUNCTION_CARVEOUT, want->carveout);
    if (!result && blocks > 8)
        result = gpu->cu.FuncSetAttribute(function->handle, FUNCTION_NON_PORTABLE_CLUSTER, 1);
    if (result)
        return gt_err_prefix(err, gt_gpu_accept(gpu, result, "cuFuncSetAttribute", err),
                             "entry \"%s\"", function->entry);
    if ((blocks > 1 || want->pdl) && !gpu->cu.LaunchKernelEx)
        return gt_err_set(err, GT_ERANGE,
                          "%s: the driver is too old to launch %s (cuLaunchKernelEx)",
                          function->entry, blocks > 1 ? "clusters" : "programmatically");
    return GT_OK;
}

/* 0, 1, 2, 3 for 0, 1, 2, 4 times `least` bytes: CUtensorMapSwizzle, CUtensorMapL2promotion. */
static int doublings(int bytes, int least)
{
    int code = 0;

    for (; bytes >= least; bytes /= 2)
        code++;
    return code;
}

static int encode(struct gt_gpu *gpu, struct gt_map *to, const struct gt_map_geometry *map,
                  uintptr_t address, size_t index, struct gt_err *err)
{
    static const uint32_t every[] = {1, 1, 1, 1, 1}; /* element along each dimension */
    const int result = gpu->cu.TensorMapEncodeTiled(
        to, gt_type_of(map->element)->tma, (unsigned)map->rank, (void *)address, map->dims,
        map->strides + 1, map->box, every, 0 /* not interleaved */, doublings(map->swizzle, 32),
        doublings(map->promotion, 64), 0 /* outside reads as 0 */);
    const int rc = gt_gpu_accept(gpu, result, "cuTensorMapEncodeTiled", err);

    _Static_assert(sizeof(every) / sizeof(*every) == GT_MAX_MAP_RANK, "one for each dimension");
    return rc ? gt_err_prefix(err, rc, "tensor_maps[%zu]", index) : GT_OK;
}

/* Takes over the geometry's maps.  GT_ERANGE: the driver refuses a map, or is too old to have
 * maps. */
static int set_maps(struct gt_module *module, const struct gt_geometry *geometry,
                    struct gt_err *err)
{
    struct gt_gpu *gpu = module->gpu;
    const uintptr_t anywhere = 4096; /* only the address of a launch's own map matters */

    module->maps = 0;
    free(module->kept);
    module->kept = calloc((geometry->maps << KEPT_BITS) + 1, sizeof(*module->kept));
    if (!module->kept)
        return gt_err_nomem(err);
    for (size_t i = 0; i < geometry->maps; i++) {
        struct gt_map encoded;
        int rc;

        module->map[i] = geometry->map[i];
        if (!geometry->map[i].used)
            continue;
        if (!gpu->cu.TensorMapEncodeTiled)
            return gt_err_set(err, GT_ERANGE,
                              "the driver is too old for tensor maps (cuTensorMapEncodeTiled)");
        rc = encode(gpu, &encoded, &geometry->map[i], anywhere, i, err);
        if (rc)
            return rc;
    }
    module->maps = geometry->maps;
    return GT_OK;
}

static int set_geometry(struct gt_module *module, const struct gt_geometry *geometry,
                        struct gt_err *err)
{
    module->launches = 0;
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *want = &geometry->launch[i];
        struct launch *launch = &module->launch[i];
        int rc = find_function(module, want->entry, &launch->function, err);

        GT_STEP(rc, check_launch(module->gpu, &module->function[launch->function], want, err));
        GT_STEP(rc, prepare_function(module->gpu, &module->function[launch->function], want, err));
        if (rc)
            return rc;
        launch->is = *want;
        launch->is.entry = NULL;
    }
    module->launches = geometry->launches;
    return set_maps(module, geometry, err);
}

int gt_module_geometry(struct gt_module *module, const struct gt_geometry *geometry,
                       struct gt_err *err)
{
    bool pushed;
    int rc = gt_gpu_enter(module->gpu, &pushed, err);

    if (rc)
        return rc;
    rc = set_geometry(module, geometry, err);
    gt_gpu_leave(module->gpu, pushed);
    return rc;
}

int gt_module_load(struct gt_module **module, struct gt_gpu *gpu, const void *image, size_t size,
                   const struct gt_geometry *geometry, struct gt_err *err)
{
    struct gt_module *loaded;
    bool pushed;
    int rc;

    *module = NULL;
    if (!image || !size)
        return gt_err_set(err, GT_ERANGE, "the image to be loaded is empty");
    loaded = calloc(1, sizeof(*loaded));
    if (!loaded)
        return gt_err_nomem(err);
    loaded->gpu = gpu;
    rc = gt_gpu_enter(gpu, &pushed, err);
    if (!rc) {
        rc = load_image(gpu, &loaded->handle, image, err);
        GT_STEP(rc, set_geometry(loaded, geometry, err));
        gt_gpu_leave(gpu, pushed);
    }
    if (rc) {
        gt_module_free(loaded);
        return rc;
    }
    *module = loaded;
    return GT_OK;
}

void gt_module_free(struct gt_module *module)
{
    bool pushed;

    if (!module)
        return;
    if (module->handle && gt_gpu_alive(module->gpu) &&
        gt_gpu_enter(module->gpu, &pushed, NULL) == GT_OK) {
        module->gpu->cu.ModuleUnload(module->handle);
        gt_gpu_leave(module->gpu, pushed);
    }
    free(module->kept);
    free(module);
}

void gt_module_facts(const struct gt_module *module, struct gt_module_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    for (size_t i = 0; i < module->launches; i++) {
        const struct launch *launch = &module->launch[i];
        const struct function *function = &module->function[launch->function];
        unsigned shared = launch->is.shared_bytes + (unsigned)function->static_shared;

        if (function->registers > facts->registers)
            facts->registers = function->registers;
        if (function->local_bytes > facts->local_bytes)
            facts->local_bytes = function->local_bytes;
        if (function->static_shared > facts->static_shared)
            facts->static_shared = function->static_shared;
        if (shared > facts->shared_bytes)
            facts->shared_bytes = shared;
    }
}

void gt_module_args(struct gt_args *args, const struct gt_problem *problem)
{
    *args = (struct gt_args){.m = problem->m,
                             .n = problem->n,
                             .k = problem->k,
                             .lda = problem->lda,
                             .ldb = problem->ldb,
                             .ldc = problem->ldc,
                             .stride_a = problem->stride_a,
                             .stride_b = problem->stride_b,
                             .stride_c = problem->stride_c,
                             .batch = problem->batch,
                             .alpha = (float)problem->alpha,
                             .beta = (float)problem->beta};
}

void gt_module_more(struct gt_more *more, const struct gt_problem *problem)
{
    *more = (struct gt_more){.lsa = problem->lsa,
                             .lsb = problem->lsb,
                             .groups = problem->groups,
                             .alpha = problem->alpha,
                             .alpha_im = problem->alpha_im,
                             .beta = problem->beta,
                             .beta_im = problem->beta_im};
}

/* Sets the attributes of a launch and returns their number; 0 if it needs none. */
static unsigned set_attributes(const struct launch *launch, struct gt_cu_attribute attribute[2])
{
    unsigned count = 0;

    if (launch->is.cluster[0] * launch->is.cluster[1] * launch->is.cluster[2] > 1) {
        memset(&attribute[count], 0, sizeof(attribute[count]));
        attribute[count].id = GT_CU_ATTRIBUTE_CLUSTER;
        memcpy(attribute[count++].value.cluster, launch->is.cluster, sizeof(launch->is.cluster));
    }
    if (launch->is.pdl) {
        memset(&attribute[count], 0, sizeof(attribute[count]));
        attribute[count].id = GT_CU_ATTRIBUTE_PDL;
        attribute[count++].value.flag = 1;
    }
    return count;
}

static int launch_one(const struct gt_module *module, const struct launch *launch, void *stream,
                      void **parameters)
{
    const struct gt_driver_api *cu = &module->gpu->cu;
    void *function = module->function[launch->function].handle;
    struct gt_cu_attribute attribute[2];
    struct gt_cu_config config;
    unsigned attributes = set_attributes(launch, attribute);

    if (!attributes)
        return cu->LaunchKernel(function, launch->is.grid[0], launch->is.grid[1],
                                launch->is.grid[2], launch->is.block[0], launch->is.block[1],
                                launch->is.block[2], launch->is.shared_bytes, stream, parameters,
                                NULL);
    memset(&config, 0, sizeof(config));
    memcpy(config.grid, launch->is.grid, sizeof(launch->is.grid));
    memcpy(config.block, launch->is.block, sizeof(launch->is.block));
    config.shared_bytes = launch->is.shared_bytes;
    config.stream = stream;
    config.attribute = attribute;
    config.attributes = attributes;
    return cu->LaunchKernelEx(&config, function, parameters, NULL);
}

/* Copies the kept map of this address; false if there is none. */
static bool recall(struct gt_map *to, struct kept *kept, uintptr_t address)
{
    const uint64_t turn = atomic_load_explicit(&kept->turn, memory_order_acquire);

    if (!turn || turn & 1 ||
        atomic_load_explicit(&kept->address, memory_order_acquire) != (uint64_t)address)
        return false;
    for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++) {
        const uint64_t word = atomic_load_explicit(&kept->word[i], memory_order_acquire);

        memcpy(to->opaque + i * sizeof(word), &word, sizeof(word));
    }
    return atomic_load_explicit(&kept->turn, memory_order_relaxed) == turn;
}

/* Keeps a map, unless another thread writes there. */
static void keep(struct kept *kept, const struct gt_map *map, uintptr_t address)
{
    uint64_t turn = atomic_load_explicit(&kept->turn, memory_order_relaxed);

    if (turn & 1 || !atomic_compare_exchange_strong(&kept->turn, &turn, turn + 1))
        return;
    atomic_store_explicit(&kept->address, address, memory_order_release);
    for (size_t i = 0; i < sizeof(*map) / sizeof(uint64_t); i++) {
        uint64_t word;

        memcpy(&word, map->opaque + i * sizeof(word), sizeof(word));
        atomic_store_explicit(&kept->word[i], word, memory_order_release);
    }
    atomic_store_explicit(&kept->turn, turn + 2, memory_order_release);
}

/* Recalls or encodes the maps for these operands; unused maps are left undefined.  A context must
 * be current. */
static int encode_maps(struct gt_maps *to, const struct gt_module *module,
                       const struct gt_args *args, struct gt_err *err)
{
    const void *const base[] = {[GT_MAP_A] = args->a,
                                [GT_MAP_B] = args->b,
                                [GT_MAP_C] = args->c ? args->c : args->d, /* beta may be 0 */
                                [GT_MAP_D] = args->d,
                                [GT_MAP_WORKSPACE] = args->workspace};

    for (size_t i = 0; i < module->maps; i++) {
        const struct gt_map_geometry *map = &module->map[i];
        const uintptr_t address = (uintptr_t)base[map->operand] + (uintptr_t)map->offset;
        const uint64_t mixed = (uint64_t)address * 0x9e3779b97f4a7c15u;
        struct kept *kept = &module->kept[(i << KEPT_BITS) + (mixed >> (64 - KEPT_BITS))];
        int rc;

        if (!map->used || recall(&to->map[i], kept, address))
            continue;
        rc = encode(module->gpu, &to->map[i], map, address, i, err);
        if (rc)
            return rc;
        keep(kept, &to->map[i], address);
    }
    return GT_OK;
}

int gt_module_run(const struct gt_module *module, void *stream, const struct gt_args *args,
                  const struct gt_more *more, struct gt_err *err)
{
    /* The driver copies, it does not write. */
    void *const first = (void *)(uintptr_t)args, *const last = (void *)(uintptr_t)more;
    struct gt_maps maps;
    bool pushed;
    int rc = gt_gpu_enter(module->gpu, &pushed, err);

    if (rc)
        return rc;
    rc = encode_maps(&maps, module, args, err);
    for (size_t i = 0; i < module->launches && !rc; i++) {
        const struct launch *launch = &module->launch[i];
        /* An entry takes as many of the parameters as it has. */
        void *parameters[] = {first, launch->is.maps ? &maps : last, last};

        if (!launch->is.grid[0] || !launch->is.grid[1] || !launch->is.grid[2])
            continue; /* an empty product has nothing to launch */
        rc = gt_gpu_accept(
            module->gpu,
            launch_one(module, launch, stream ? stream : module->gpu->stream, parameters),
            "cuLaunchKernel", err);
        if (rc)
            gt_err_prefix(err, rc, "entry \"%s\"", module->function[launch->function].entry);
    }
    gt_gpu_leave(module->gpu, pushed);
    return rc;
}

/* ---- the project's own kernels ---- */

struct gt_program {
    struct gt_gpu *gpu;
    void *handle;
    size_t entries;
    void *function[];
};

int gt_program_load(struct gt_program **program, struct gt_gpu *gpu, const void *image,
                    const char *const *entry, size_t entries, struct gt_err *err)
{
    struct gt_program *loaded = calloc(1, sizeof(*loaded) + entries * sizeof(void *));
    int rc;

    *program = NULL;
    if (!loaded)
        return gt_err_nomem(err);
    loaded->gpu = gpu;
    loaded->entries = entries;
    rc = load_image(gpu, &loaded->handle, image, err);
    for (size_t i = 0; i < entries && !rc; i++) {
        rc = gt_gpu_check(gpu,
                          gpu->cu.ModuleGetFunction(&loaded->function[i], loaded->handle, entry[i]),
                          "cuModuleGetFunction", err);
        if (rc)
            gt_err_prefix(err, rc, "entry \"%s\"", entry[i]);
    }
    if (rc) {
        gt_program_free(loaded);
        return rc;
    }
    *program = loaded;
    return GT_OK;
}

void gt_program_free(struct gt_program *program)
{
    if (!program)
        return;
    if (program->handle)
        program->gpu->cu.ModuleUnload(program->handle);
    free(program);
}

int gt_program_run(const struct gt_program *program, size_t entry, const unsigned grid[3],
                   unsigned threads, const void *args, struct gt_err *err)
{
    struct gt_gpu *gpu = program->gpu;
    void *parameters[] = {(void *)(uintptr_t)args}; /* the driver copies, it does not write */

    return gt_gpu_check(gpu,
                        gpu->cu.LaunchKernel(program->function[entry], grid[0], grid[1], grid[2],
                                             threads, 1, 1, 0, gpu->stream, parameters, NULL),
                        "cuLaunchKernel", err);
}

/* real.c - finds cuBLAS's own functions in the copy of cuBLAS that the caller would have called.
 *
 * A process may hold several copies of one version: wheels bring renamed copies beside the usual
 * one, and libraries have cuBLAS linked into them.  A handle of one copy means nothing to another
 * copy.  So the copy is found for each place in the program that calls, as the loader would have
 * found it had this library not been preloaded. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/real.h"

enum layer { CUBLAS, CUBLASLT, LAYERS };

#define MOST_COPIES 32  /* most copies of cuBLAS in a process */
#define SITES       512 /* places that call functions of one version; a power of two */
#define PROBES      8   /* slots in which a place may be found */

/* Versions of the symbols, and names of the usual files. */
#define CUBLAS_FILE(v)   "libcublas.so." #v,
#define CUBLASLT_FILE(v) "libcublasLt.so." #v,
static const char *const file[LAYERS][GT_BLAS_VERSION_COUNT] = {{GT_BLAS_VERSIONS(CUBLAS_FILE)},
                                                                {GT_BLAS_VERSIONS(CUBLASLT_FILE)}};
/* Functions by which a copy is found: no tool has a reason to stand in for them. */
static const char *const first_symbol[LAYERS] = {"cublasGetStream_v2",
                                                 "cublasLtMatmulDescGetAttribute"};

/* A copy of a layer, identified by its address in memory, and by the library that calls it if that
 * library stands in for some of its functions (NULL: all other callers). */
struct copy {
    const void *base, *wrapper;
    union {
        struct gt_real cublas;
        struct gt_real_lt cublaslt;
    } table;
};

/* A place in the program that calls, and the copy that it calls. */
struct site {
    const void *caller;
    const struct copy *copy;
};

static struct copy copies[LAYERS][MOST_COPIES];
static struct site pool[LAYERS * SITES];
static size_t pool_used;
static _Atomic(const struct site *) sites[LAYERS][GT_BLAS_VERSION_COUNT][SITES];
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER; /* no library is loaded under it */

/* Returns the address, or NULL if it is one of this library's own hooks. */
static void *foreign(void *address)
{
    Dl_info there, here;

    if (!address || !dladdr(address, &there) || !dladdr((void *)&copies, &here) ||
        there.dli_fbase == here.dli_fbase)
        return NULL;
    return address;
}

/* The address of the layer's first symbol, of that version, in a library or its dependencies. */
static void *find_versioned(void *library, enum layer layer, enum gt_blas_version version)
{
    return foreign(gt_find_name(library, first_symbol[layer], file[layer][version]));
}

/* The address of the layer's first symbol without a version, as in a library that cuBLAS is linked
 * into.  Without this library, the caller would see the symbols of the whole process first.  Such
 * callers are bound to the oldest version of this library's hooks. */
static void *find_unversioned(void *library, enum layer layer)
{
    void *address = foreign(gt_find_name(library, first_symbol[layer], NULL)), *everybody;

    for (int v = 0; address && v < GT_BLAS_VERSION_COUNT; v++)
        if (find_versioned(library, layer, (enum gt_blas_version)v) == address)
            address = NULL;
    everybody = address ? foreign(gt_find_name(RTLD_NEXT, first_symbol[layer], NULL)) : NULL;
    return everybody ? everybody : address;
}

static void *find_in(void *library, enum layer layer, enum gt_blas_version version)
{
    void *address = find_versioned(library, layer, version);

    return address ? address : find_unversioned(library, layer);
}

/* The address of the layer's first symbol in the caller's library or its dependencies. */
static void *find_around(const void *caller, enum layer layer, enum gt_blas_version version)
{
    void *library, *address;
    Dl_info info;

    if (!dladdr(caller, &info) || !info.dli_fname)
        return NULL;
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    address = find_in(library, layer, version);
    dlclose(library);
    return address;
}

static void *find_usual(enum layer layer, enum gt_blas_version version)
{
    void *library = dlopen(file[layer][version], RTLD_LAZY | RTLD_NOLOAD), *address;

    if (!library)
        return NULL;
    address = find_versioned(library, layer, version);
    if (!address)
        address = foreign(gt_find_name(library, first_symbol[layer], NULL));
    dlclose(library);
    return address;
}

/* The names of the libraries that are loaded, each with its NUL. */
struct names {
    char *text;
    size_t length;
};

static int add_name(struct dl_phdr_info *info, size_t size, void *context)
{
    struct names *names = context;
    const size_t length = strlen(info->dlpi_name) + 1;
    char *text = length > 1 ? realloc(names->text, names->length + length) : NULL;

    (void)size;
    if (text) {
        memcpy(text + names->length, info->dlpi_name, length);
        names->text = text;
        names->length += length;
    }
    return 0;
}

/* The address of the layer's first symbol in any library.  The caller's library is not known if its
 * function ends by calling cuBLAS, because then the return address is that of the function's
 * caller. */
static void *find_anywhere(enum layer layer, enum gt_blas_version version)
{
    struct names names = {NULL, 0};
    void *address = NULL;

    dl_iterate_phdr(add_name, &names);
    for (size_t at = 0; !address && at < names.length; at += strlen(names.text + at) + 1) {
        void *library = dlopen(names.text + at, RTLD_LAZY | RTLD_NOLOAD);

        if (!library)
            continue;
        address = find_in(library, layer, version);
        dlclose(library);
    }
    free(names.text);
    return address;
}

/* The circumstances of reading a copy. */
struct reading {
    struct copy *copy;
    void *library; /* the copy's library */
    enum layer layer;
    const void *caller; /* address of the caller's library */
    bool returns;       /* the caller is this library: a wrapper has ended by calling a hook */
};

/* The function of that name in a library behind this one that stands in for cuBLAS.  Such a library
 * has no versions, so the loader takes its symbols for any version.  NULL: there is none. */
static void *find_wrapper(enum layer layer, const char *name)
{
    void *address = gt_find_name(RTLD_NEXT, name, NULL);

    for (int v = 0; address && v < GT_BLAS_VERSION_COUNT; v++)
        if (gt_find_name(RTLD_NEXT, name, file[layer][v]) == address)
            return NULL;
    return address;
}

/* Sets a function's address: the wrapper's, as the loader would choose it, or else the copy's.  If
 * the wrapper itself calls, the address is the copy's, because otherwise the wrapper would call
 * itself. */
static void fill(const struct reading *from, const char *name, void *field)
{
    void *address = foreign(gt_find_name(from->library, name, NULL));
    void *wrapper = address ? find_wrapper(from->layer, name) : NULL;
    Dl_info info;

    if (wrapper && dladdr(wrapper, &info)) {
        if (from->returns || info.dli_fbase == from->caller)
            from->copy->wrapper = from->caller;
        else
            address = wrapper;
    }
    memcpy(field, &address, sizeof(address));
}

static void fill_cublas(struct gt_real *real, const struct reading *from)
{
#define FILL(symbol)                             fill(from, #symbol, &real->symbol);
#define FILL_GEMM(symbol, kind, I, type, sums)   FILL(symbol)
#define FILL_ARRAYS(symbol, kind, I)             FILL(symbol)
#define FILL_OBSERVED(symbol, parameters, names) FILL(symbol)
#define FILL_GETTER(field, symbol, parameters)   fill(from, symbol, &real->field);
    GT_GEMM_MAP(FILL_GEMM)
    GT_ARRAYS_MAP(FILL_ARRAYS)
    GT_OBSERVED_MAP(FILL_OBSERVED)
    GT_CREATE_MAP(FILL)
    GT_DESTROY_MAP(FILL)
    GT_GETTER_MAP(FILL_GETTER)
}

static void fill_cublaslt(struct gt_real_lt *real, const struct reading *from)
{
    FILL(cublasLtMatmul)
    GT_LT_CREATE_MAP(FILL)
    GT_LT_GETTER_MAP(FILL_GETTER)
}

/* Makes the table of the copy that has this address, for this caller.  The library stays open, so
 * that the functions stay loaded. */
static bool read_copy(struct copy *copy, void *address, enum layer layer,
                      enum gt_blas_version version, const void *caller)
{
    struct reading from = {.copy = copy, .layer = layer};
    Dl_info info, here;
    void *library = address && dladdr(address, &info) && info.dli_fname
                        ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;

    if (!library)
        return false;
    memset(copy, 0, sizeof(*copy));
    copy->base = info.dli_fbase;
    from.library = library;
    from.caller = dladdr(caller, &info) ? info.dli_fbase : NULL;
    from.returns = dladdr((void *)&copies, &here) && here.dli_fbase == from.caller;
    if (layer == CUBLAS) {
        fill_cublas(&copy->table.cublas, &from);
    } else {
        fill_cublaslt(&copy->table.cublaslt, &from);
        copy->table.cublaslt.version = version;
    }
    return true;
}

/* The kept entry of that copy, which is made from `from` if there is none; NULL: no room. */
static struct copy *keep_copy(enum layer layer, const struct copy *from)
{
    for (int i = 0; i < MOST_COPIES; i++) {
        struct copy *copy = &copies[layer][i];

        if (!copy->base)
            *copy = *from;
        if (copy->base == from->base && copy->wrapper == from->wrapper)
            return copy;
    }
    return NULL;
}

static size_t place_of(const void *caller)
{
    return (size_t)(((uint64_t)(uintptr_t)caller * 0x9e3779b97f4a7c15u) >> 32);
}

/* Keeps the copy that the place calls.  If there is no room, the copy is found again at every
 * call. */
static void keep_site(_Atomic(const struct site *) *slots, const void *caller,
                      const struct copy *copy)
{
    for (size_t i = 0; i < PROBES && pool_used < sizeof(pool) / sizeof(*pool); i++) {
        _Atomic(const struct site *) *slot = &slots[(place_of(caller) + i) & (SITES - 1)];

        if (atomic_load(slot))
            continue;
        pool[pool_used] = (struct site){caller, copy};
        atomic_store_explicit(slot, &pool[pool_used++], memory_order_release);
        return;
    }
}

static void *find_version(enum layer layer, enum gt_blas_version version, const void *caller)
{
    void *address = find_versioned(RTLD_NEXT, layer, version);

    if (!address)
        address = find_around(caller, layer, version);
    if (!address)
        address = find_usual(layer, version);
    return address ? address : find_anywhere(layer, version);
}

/* Finds the copy for a place that calls for the first time.  A library before this one that asks
 * for the next definition gets the hook of the newest version, whatever version is loaded. */
static const struct copy *find(enum layer layer, enum gt_blas_version hook, const void *caller)
{
    enum gt_blas_version version = hook;
    void *address = NULL;
    struct copy read, *copy;

    for (int i = 0; !address && i < GT_BLAS_VERSION_COUNT; i++) {
        version = (enum gt_blas_version)((hook + i) % GT_BLAS_VERSION_COUNT);
        address = find_version(layer, version, caller);
    }
    if (!read_copy(&read, address, layer, version, caller))
        return NULL;
    pthread_mutex_lock(&adding);
    copy = keep_copy(layer, &read);
    if (copy)
        keep_site(sites[layer][hook], caller, copy);
    pthread_mutex_unlock(&adding);
    return copy;
}

void gt_real_forked(void)
{
    pthread_mutex_init(&adding, NULL);
}

static const struct copy *copy_for(enum layer layer, enum gt_blas_version version,
                                   const void *caller)
{
    for (size_t i = 0; i < PROBES; i++) {
        const struct site *site = atomic_load_explicit(
            &sites[layer][version][(place_of(caller) + i) & (SITES - 1)], memory_order_acquire);

        if (!site)
            break;
        if (site->caller == caller)
            return site->copy;
    }
    return find(layer, version, caller);
}

const struct gt_real *gt_real(enum gt_blas_version version, const void *caller)
{
    const struct copy *copy = copy_for(CUBLAS, version, caller);

    return copy ? &copy->table.cublas : NULL;
}

const struct gt_real_lt *gt_real_lt(enum gt_blas_version version, const void *caller)
{
    const struct copy *copy = copy_for(CUBLASLT, version, caller);

    return copy ? &copy->table.cublaslt : NULL;
}

int gt_real_is(enum gt_blas_version version, const char *name, const void *address)
{
    const bool lt = strncmp(name, "cublasLt", strlen("cublasLt")) == 0;
    void *handle = dlopen(file[lt ? CUBLASLT : CUBLAS][version], RTLD_LAZY | RTLD_NOLOAD);
    int same = 0;

    if (handle) {
        same = gt_find_name(handle, name, NULL) == address;
        dlclose(handle);
    }
    return same;
}

/* ---- the C library's dlsym and dlvsym ----
 *
 * This library defines both names itself, so neither function can be used to find the other.  Both
 * are read out of the symbol tables of the loaded libraries. */

/* The hash of names in DT_GNU_HASH. */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* An address of the dynamic section.  The loader adds the library's base to most of these
 * addresses; where it has not, the base is added here. */
static const void *place(const struct link_map *map, ElfW(Addr) address)
{
    return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

/* A function that the library defines, in any version; NULL: it defines none of that name. */
static void *defined_in(const struct link_map *map, const char *name)
{
    const uint32_t hash = hash_of(name), *table = NULL, *bucket, *chain;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    uint32_t i;

    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = place(map, entry->d_un.d_ptr);

        if (entry->d_tag == DT_SYMTAB)
            symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            names = at;
        else if (entry->d_tag == DT_GNU_HASH)
            table = at;
    }
    if (!symbols || !names || !table || !table[0])
        return NULL;
    /* The table: numbers of buckets, first symbol, words of the filter, shift of the filter; then
     * the filter, the buckets and the chains. */
    bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(*table));
    chain = bucket + table[0];
    i = bucket[hash % table[0]];
    for (; i >= table[1]; i++) {
        const ElfW(Sym) *symbol = &symbols[i];

        if (symbol->st_shndx != SHN_UNDEF && !strcmp(names + symbol->st_name, name))
            return (void *)(map->l_addr + symbol->st_value);
        if (chain[i - table[1]] & 1) /* the last symbol of its bucket */
            break;
    }
    return NULL;
}

/* The function in the first library behind this one, or else in the first one before it. */
static void *find_behind(const char *name)
{
    const struct link_map *here = NULL, *map;
    void *address = NULL, *extra = NULL;
    Dl_info info;

    if (!dladdr1((void *)&hash_of, &info, &extra, RTLD_DL_LINKMAP))
        return NULL;
    here = extra;
    for (map = here->l_next; map && !address; map = map->l_next)
        address = defined_in(map, name);
    for (map = here; map->l_prev;)
        map = map->l_prev;
    for (; map != here && !address; map = map->l_next)
        address = defined_in(map, name);
    return address;
}

static void *known(_Atomic(void *) *address, const char *name)
{
    void *found = atomic_load_explicit(address, memory_order_acquire);

    if (!found) {
        found = find_behind(name);
        atomic_store_explicit(address, found, memory_order_release);
    }
    return found;
}

#define DEFINE_REAL(real, type, name)                \
    type *real(void)                                 \
    {                                                \
        static _Atomic(void *) address;              \
        void *found = known(&address, name);         \
        type *function;                              \
                                                     \
        memcpy(&function, &found, sizeof(function)); \
        return function;                             \
    }
DEFINE_REAL(gt_real_dlsym, gt_dlsym, "dlsym")
DEFINE_REAL(gt_real_dlvsym, gt_dlvsym, "dlvsym")

void *gt_find_name(void *library, const char *name, const char *version)
{
    return version ? gt_real_dlvsym()(library, name, version) : gt_real_dlsym()(library, name);
}

void *gt_find_around(const void *caller, const char *name, const char *version)
{
    void *library = NULL;
    Dl_info info;

    if (dladdr(caller, &info) && info.dli_fname)
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library); /* the library stays loaded, since its code is running */
    return gt_find_name(library ? library : RTLD_NEXT, name, version);
}

/* ---- the driver, in the copy that the program has loaded ---- */

bool gt_serve_driver_load(struct gt_serve_driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *address;

    if (!library)
        return false;
#define FIND(field, symbol, parameters)            \
    address = gt_find_name(library, symbol, NULL); \
    if (!address)                                  \
        return false;                              \
    memcpy(&driver->field, &address, sizeof(address));
    GT_SERVE_DRIVER_MAP(FIND)
#undef FIND
    address = gt_find_name(library, "cuCtxGetId", NULL);
    memcpy(&driver->CtxGetId, &address, sizeof(address));
    return true;
}

uint64_t gt_serve_context_id(const struct gt_serve_driver *driver, void *context)
{
    uint64_t id = 0;

    return driver->CtxGetId && driver->CtxGetId(context, &id) == 0 ? id : 0;
}

bool gt_serve_capturing(const struct gt_serve_driver *driver, void *stream)
{
    int status = 0;

    return driver->StreamIsCapturing(stream, &status) || status != 0;
}

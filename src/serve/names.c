/* names.c - finds the C library's dlsym and dlvsym; see names.h.
 *
 * Since this library has both names itself, they cannot be asked for each other: they are read out
 * of the symbol tables of the libraries that are loaded. */
#include "serve/names.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hash of names in DT_GNU_HASH. */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* An address in the dynamic section; the loader adds where the library lies, but for some. */
static const void *place(const struct link_map *map, ElfW(Addr) address)
{
    return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

/* A function that the library defines, in any version; NULL: it does not. */
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
    /* Buckets, first symbol, words of the filter, its shift; the filter, the buckets, the chains.
     */
    bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(*table));
    chain = bucket + table[0];
    i = bucket[hash % table[0]];
    for (; i >= table[1]; i++) {
        const ElfW(Sym) *symbol = &symbols[i];

        if (symbol->st_shndx != SHN_UNDEF && !strcmp(names + symbol->st_name, name))
            return (void *)(map->l_addr + symbol->st_value);
        if (chain[i - table[1]] & 1) /* the last one of its bucket */
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

gt_dlsym *gt_real_dlsym(void)
{
    static _Atomic(void *) address;
    void *found = known(&address, "dlsym");
    gt_dlsym *function;

    memcpy(&function, &found, sizeof(function));
    return function;
}

gt_dlvsym *gt_real_dlvsym(void)
{
    static _Atomic(void *) address;
    void *found = known(&address, "dlvsym");
    gt_dlvsym *function;

    memcpy(&function, &found, sizeof(function));
    return function;
}

void *gt_find_name(void *library, const char *name, const char *version)
{
    void *found =
        version ? gt_real_dlvsym()(library, name, version) : gt_real_dlsym()(library, name);

    return found;
}

void *gt_find_around(const void *caller, const char *name, const char *version)
{
    void *library = NULL;
    Dl_info info;

    if (dladdr(caller, &info) && info.dli_fname)
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library); /* it stays, since its code is running */
    return gt_find_name(library ? library : RTLD_NEXT, name, version);
}

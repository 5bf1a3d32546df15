/* auditor.c - a library for LD_AUDIT, as latrace has one: the loader tells it of every symbol that
 * it binds, and calls functions of cuBLAS through itself, so that they see the loader as their
 * caller.  It says that it has seen a product. */
#include <link.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>

static int products;

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name);

unsigned la_version(unsigned version)
{
    return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map, (void)space, (void)cookie;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name)
{
    (void)index, (void)from, (void)to;
    if (strcmp(name, "cublasGemmEx") != 0)
        *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    return symbol->st_value;
}

#ifdef __x86_64__
/* The frame is copied (256 bytes: the arguments on the stack), so that the loader sees the end of
 * the call. */
ElfW(Addr) la_x86_64_gnu_pltenter(ElfW(Sym) * symbol, unsigned index, uintptr_t *from,
                                  uintptr_t *to, La_x86_64_regs *registers, unsigned *flags,
                                  const char *name, long *frame);
unsigned la_x86_64_gnu_pltexit(ElfW(Sym) * symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                               const La_x86_64_regs *in, La_x86_64_retval *out, const char *name);

ElfW(Addr) la_x86_64_gnu_pltenter(ElfW(Sym) * symbol, unsigned index, uintptr_t *from,
                                  uintptr_t *to, La_x86_64_regs *registers, unsigned *flags,
                                  const char *name, long *frame)
{
    (void)index, (void)from, (void)to, (void)registers, (void)flags, (void)name;
    *frame = 256;
    return symbol->st_value;
}

unsigned la_x86_64_gnu_pltexit(ElfW(Sym) * symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                               const La_x86_64_regs *in, La_x86_64_retval *out, const char *name)
{
    (void)symbol, (void)index, (void)from, (void)to, (void)in, (void)out, (void)name;
    if (products++ == 0)
        dprintf(1, "the auditor sees products\n"); /* nobody flushes this C library of its own */
    return 0;
}
#endif

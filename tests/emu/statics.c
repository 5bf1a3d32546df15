/* statics.c - test: the size of plain __shared__ arrays, out of the object's symbols (statics.h).
 */
#include "statics.h"

#include <ctype.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Length of the function's part of the name of a variable in it, "_ZZ4gemm" of "_ZZ4gemmE4tile_0";
 * 0: it is none. */
static size_t function_of(const char *name)
{
    const char *end = name + strlen(name);

    if (strncmp(name, "_ZZ", 3) != 0)
        return 0;
    for (const char *at = end; at > name + 3; at--) {
        char *variable;
        unsigned long length;

        if (at[-1] != 'E' || !isdigit((unsigned char)*at))
            continue;
        length = strtoul(at, &variable, 10);
        if (length <= (size_t)(end - variable) && (variable[length] == '_' || !variable[length]))
            return (size_t)(at - 1 - name);
    }
    return 0;
}

/* A table of symbols and what it needs of the file. */
struct symbols {
    const Elf64_Shdr *section;
    size_t sections, count;
    const Elf64_Sym *symbol;
    const char *names;
};

static bool find_symbols(struct symbols *symbols, const char *file, size_t size)
{
    const Elf64_Ehdr *header = (const void *)file;

    if (size < sizeof(*header) || memcmp(file, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr) > size)
        return false;
    symbols->section = (const void *)(file + header->e_shoff);
    symbols->sections = header->e_shnum;
    for (size_t i = 0; i < symbols->sections; i++) {
        const Elf64_Shdr *section = &symbols->section[i];

        if (section->sh_type != SHT_SYMTAB)
            continue;
        symbols->symbol = (const void *)(file + section->sh_offset);
        symbols->count = section->sh_size / sizeof(Elf64_Sym);
        symbols->names = file + symbols->section[section->sh_link].sh_offset;
        return true;
    }
    return false;
}

/* Whether it is a variable that a function of the kernel may write. */
static bool is_array(const struct symbols *symbols, const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx < symbols->sections &&
           symbols->section[symbol->st_shndx].sh_flags & SHF_WRITE &&
           function_of(symbols->names + symbol->st_name);
}

/* Bytes of all arrays of the function that `of` belongs to. */
static size_t total(const struct symbols *symbols, const Elf64_Sym *of)
{
    const char *name = symbols->names + of->st_name;
    const size_t length = function_of(name);
    size_t bytes = 0;

    for (size_t i = 0; i < symbols->count; i++) {
        const char *other = symbols->names + symbols->symbol[i].st_name;

        if (is_array(symbols, &symbols->symbol[i]) && function_of(other) == length &&
            memcmp(other, name, length) == 0)
            bytes += symbols->symbol[i].st_size;
    }
    return bytes;
}

int gt_emu_check_statics(const char *path, struct gt_err *err)
{
    struct gt_strbuf file = GT_STRBUF_INIT;
    struct symbols symbols = {.count = 0};
    int rc = gt_strbuf_add_file(&file, path, err);
    size_t most = 0;

    if (!rc && find_symbols(&symbols, file.text, file.length))
        for (size_t i = 0; i < symbols.count; i++)
            if (is_array(&symbols, &symbols.symbol[i]) &&
                total(&symbols, &symbols.symbol[i]) > most)
                most = total(&symbols, &symbols.symbol[i]);
    /* AddressSanitizer's red zones, a quarter of an array or less, are part of clang's sizes. */
    if (!rc && memmem(file.text, file.length, "clang version", 13))
        most = most * 4 / 5;
    if (most > GT_EMU_STATIC_MOST) {
        printf("error: %zu bytes of __shared__ arrays, and a block may have %d; what is more must "
               "be dynamic (GT_DYNAMIC_SHARED, \"shared\" of the launch)\n",
               most, GT_EMU_STATIC_MOST);
        rc = gt_err_set(err, GT_ENVRTC, "too much static shared memory");
    }
    gt_strbuf_release(&file);
    return rc;
}

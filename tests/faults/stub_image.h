/* stub_image.h - what the stub compiler (stub_nvrtc.c) hands to the stub driver (stub_cuda.c): the
 * source itself behind a few words, so that the driver knows layout, parameters and planted faults.
 *
 * A fault is planted by a comment, which may stand between "#if NAME == 3" and "#endif":
 *     // gt-fault: oob_write
 * The faults of the compiler are compile_error, compile_endless, compile_memory and compile_crash;
 * those of the device are listed in stub_gemm.c. */
#ifndef STUB_IMAGE_H
#define STUB_IMAGE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STUB_MAGIC   "gtstub1\n"
#define STUB_MADE_BY "// made by NVRTC " /* and the version, where STUB_NVRTC gives it */

/* Value of "#define NAME 3" in the source, or `absent`. */
static inline long stub_define(const char *source, const char *name, long absent)
{
    size_t length = strlen(name);

    for (const char *at = source; (at = strstr(at, "#define ")); at += 8)
        if (strncmp(at + 8, name, length) == 0 && at[8 + length] == ' ')
            return strtol(at + 8 + length, NULL, 0);
    return absent;
}

/* Finds the planted faults that the preprocessor would not remove. */
struct stub_faults {
    char name[8][32];
    int count;
};

static inline bool stub_has(const struct stub_faults *faults, const char *name)
{
    for (int i = 0; i < faults->count; i++)
        if (strcmp(faults->name[i], name) == 0)
            return true;
    return false;
}

/* Evaluates "#if NAME == 3" and "#elif NAME == 3"; every other condition counts as true. */
static inline bool stub_condition(const char *source, const char *line)
{
    char name[64];
    long value;

    if (sscanf(line, "#%*[elif] %63[A-Za-z0-9_] == %ld", name, &value) != 2)
        return true;
    return stub_define(source, name, value + 1) == value;
}

static inline void stub_faults_read(const char *source, struct stub_faults *faults)
{
    bool active[32] = {true};
    int depth = 0;

    faults->count = 0;
    for (const char *line = source; line; line = strchr(line, '\n')) {
        const char *mark = strstr((line += *line == '\n'), "gt-fault: ");

        if (strncmp(line, "#if", 3) == 0 && depth < 31)
            active[++depth] = stub_condition(source, line);
        else if (strncmp(line, "#el", 3) == 0 && depth)
            active[depth] = stub_condition(source, line);
        else if (strncmp(line, "#endif", 6) == 0 && depth)
            depth--;
        if (!mark)
            return;
        if (mark > line + strcspn(line, "\n") || faults->count == 8)
            continue;
        for (int i = 0; mark && i <= depth; i++)
            mark = active[i] ? mark : NULL;
        if (mark && sscanf(mark + 10, "%31[a-z0-9_]", faults->name[faults->count]) == 1)
            faults->count++;
    }
}

/* FNV-1a. */
static inline uint64_t stub_hash(const void *bytes, size_t count, uint64_t hash)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

#endif

/* proof_fixture.h - shared by the tests of templates/proof: opens the kernels for the CPU, launches
 * them and makes poisoned matrices. */
#ifndef GT_PROOF_FIXTURE_H
#define GT_PROOF_FIXTURE_H

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "build.h"
#include "kernel/kernel.h"
#include "machine.h"
#include "problem/problem.h"
#include "proof/proof.h"
#include "templates/proof/args.h"

struct proof {
    void *fill, *reference, *reference_double, *check, *clock; /* of dlopen */
    char *data_dir;
    const char *program; /* two of them may run at once, each with objects of its own */
    int tests, failed;
};

static inline void test(struct proof *proof, bool ok, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("%s %d - ", ok ? "ok" : "not ok", ++proof->tests);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    proof->failed += !ok;
}

/* How each kernel is called: by value, with its own type. */
#define GT_PROOF_CALL(name, symbol, type)                                \
    static inline void call_##symbol(const struct gt_emu_launch *launch) \
    {                                                                    \
        void (*function)(type);                                          \
        *(void **)&function = launch->entry;                             \
        function(*(const type *)launch->args);                           \
    }
GT_PROOF_MAP(GT_PROOF_CALL)
#undef GT_PROOF_CALL

#define RUN(object, kernel, args, x, y, z) \
    run(object, #kernel, call_##kernel, args, (unsigned[]){x, y, z})

static inline void run(void *object, const char *name, void (*call)(const struct gt_emu_launch *),
                       const void *args, const unsigned grid[3])
{
    struct gt_err err;
    struct gt_emu_launch launch = {.call = call,
                                   .entry = dlsym(object, name),
                                   .args = args,
                                   .block = {256, 1, 1},
                                   .cluster = {1, 1, 1}};
    memcpy(launch.grid, grid, sizeof launch.grid);
    if (!launch.entry || gt_emu_run(&launch, &err)) {
        printf("Bail out! %s: %s\n", name, launch.entry ? err.msg : "no such entry");
        exit(1);
    }
}

static inline void open_file(struct proof *proof, void **object, const char *folder,
                             const char *name)
{
    char include[4096], source[4200], path[4200];
    struct gt_err err;
    snprintf(include, sizeof include, "%s/templates", proof->data_dir);
    snprintf(source, sizeof source, "%s/templates/proof/%s.cu", proof->data_dir, name);
    snprintf(path, sizeof path, "%s/%s-%s.so", folder, proof->program, name);
    if (gt_emu_open(object, include, source, path, true, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

/* A batch of matrices in a line of poison: `before` bytes in front, as many words behind. */
struct matrix {
    unsigned *base;
    size_t words, before;
    struct gt_span span;
};

static inline struct matrix typed(enum gt_dtype type, long long rows, long long cols, long long pad,
                                  long long batch, long long gap, size_t before)
{
    long long ld = cols + pad, stride = rows * ld + gap;
    size_t elements = (size_t)((batch - 1) * stride + (rows - 1) * ld + cols);
    struct matrix m = {.before = before};
    m.words = 2 * before + (elements * (size_t)gt_dtype_size(type) + 3) / 4;
    m.base = malloc(m.words * sizeof *m.base);
    if (!m.base)
        abort();
    for (size_t i = 0; i < m.words; i++)
        m.base[i] = gt_proof_poison(type);
    m.span = (struct gt_span){(char *)m.base + before, rows, cols, ld, batch, stride, (int)type};
    return m;
}

static inline struct matrix matrix(long long rows, long long cols, long long pad, long long batch,
                                   long long gap, size_t before)
{
    return typed(GT_F32, rows, cols, pad, batch, gap, before);
}

static inline struct matrix filled(const struct proof *proof, struct matrix m, enum gt_fill kind,
                                   int range, unsigned seed)
{
    struct gt_fill_args args = {.to = m.span, .seed = seed, .kind = kind, .range = range};
    RUN(proof->fill, proof_fill, &args, 2, 3, 1);
    return m;
}

static inline struct gt_proof_result guard(const struct proof *proof, const struct matrix *m)
{
    struct gt_proof_result result = {0};
    struct gt_guard_args args = {.base = m->base,
                                 .poison = gt_proof_poison((enum gt_dtype)m->span.type),
                                 .words = (long long)m->words,
                                 .offset = (long long)m->before,
                                 .inside = m->span,
                                 .result = &result};
    RUN(proof->check, proof_guard, &args, 3, 1, 1);
    return result;
}

/* Opens all kernels as shared objects in build/emu, or ends the program. */
static inline void proof_begin(struct proof *proof, const char *program)
{
    const char *build = getenv("BUILD");
    struct gt_err err;
    char folder[256];

    proof->program = program;
    if (gt_data_dir(&proof->data_dir, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    snprintf(folder, sizeof folder, "%s/emu", build ? build : "build");
    mkdir(folder, 0777);
    open_file(proof, &proof->fill, folder, "fill");
    open_file(proof, &proof->reference, folder, "reference");
    open_file(proof, &proof->reference_double, folder, "reference_double");
    open_file(proof, &proof->check, folder, "check");
    open_file(proof, &proof->clock, folder, "clock");
}

/* The plan, and what main returns. */
static inline int proof_end(struct proof *proof)
{
    printf("1..%d\n# %d passed, %d failed\n", proof->tests, proof->tests - proof->failed,
           proof->failed);
    dlclose(proof->fill);
    dlclose(proof->reference);
    dlclose(proof->reference_double);
    dlclose(proof->check);
    dlclose(proof->clock);
    free(proof->data_dir);
    return proof->failed != 0;
}

#endif

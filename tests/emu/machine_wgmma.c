/* machine_wgmma.c - test: the emulated GPU's products of warpgroups (templates/common/wgmma.cuh).
 *
 * A product is computed for all 128 threads together, from the shared memory that the descriptors
 * name.  Under the lazy schedule this happens when the first thread waits for it, under the eager
 * one when the last thread has issued it.  An operand in registers is read at the same moment, so
 * that a kernel that changes the registers before gets wrong results. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_internal.h"
#include "numbers.h"
#include "problem/problem.h"

#define SHARED_BASE 1024 /* shared address of the first byte of dynamic shared memory */
#define MOST_K      32   /* of a product, elements */

struct wgmma_product {
    int type, n, along_mn[2], scale_d;
    uint64_t operand[2];
    void *sums[WARPGROUP];                /* each thread's d[] */
    bool in_registers;                    /* A, instead of operand[0] */
    const uint32_t *registers[WARPGROUP]; /* each thread's part of it */
    unsigned asked;                       /* threads */
    unsigned long group;
    bool done;
    const char *file;
    int line;
};

/* A descriptor's fields. */
struct operand {
    const unsigned char *first;
    uint32_t start, apart, next;
    unsigned swizzle;
};

unsigned gt_emu_shared_address(const void *pointer, const char *file, int line);
void gt_emu_wgmma(int type, int n, int a_along_mn, int b_along_mn, void *sums, unsigned long long a,
                  unsigned long long b, int scale_d, const char *file, int line);
void gt_emu_wgmma_rs(int type, int n, int b_along_mn, void *sums, const unsigned *a,
                     unsigned long long b, int scale_d, const char *file, int line);
void gt_emu_wgmma_fence(void);
void gt_emu_wgmma_commit(void);
void gt_emu_wgmma_wait(int pending, const char *file, int line);

unsigned gt_emu_shared_address(const void *pointer, const char *file, int line)
{
    const char *first = machine.block[gt_emu_now.rank].dynamic_shared;
    gt_machine_check_dynamic(gt_emu_now.rank, pointer, 0, 1, "an address", file, line);
    return SHARED_BASE + (unsigned)((const char *)pointer - first);
}

static unsigned within_block(const struct thread *thread)
{
    return (unsigned)(thread - machine.thread) % machine.threads;
}

static struct wgmma_group *group_of(const struct thread *thread)
{
    struct block *block = &machine.block[(unsigned)(thread - machine.thread) / machine.threads];
    return &block->group[within_block(thread) / WARPGROUP];
}

static struct wgmma_product *product(struct wgmma_group *group, unsigned long number)
{
    return &group->products[number - group->first];
}

/* ---- operands ---- */

static struct operand decode(const struct wgmma_product *product, int which)
{
    static const unsigned width[4] = {0, 128, 64, 32};
    uint64_t bits = product->operand[which];
    const struct block *block = &machine.block[gt_emu_now.rank];
    struct operand operand = {
        .start = (uint32_t)(bits & 0x3fff) << 4,
        .apart = (uint32_t)(bits >> 16 & 0x3fff) << 4,
        .next = (uint32_t)(bits >> 32 & 0x3fff) << 4,
        .swizzle = width[bits >> 62],
    };
    operand.first = (const unsigned char *)block->dynamic_shared + operand.start - SHARED_BASE;
    if (bits & ~0xc0003fff3fff3fffULL)
        ABANDON("%s:%d: operand %c has bits 0x%llx outside of its fields", product->file,
                product->line, 'A' + which, (unsigned long long)bits);
    if (operand.swizzle && operand.start % (8 * operand.swizzle) >= operand.swizzle)
        ABANDON("%s:%d: operand %c begins at %u, not in the first row of a pattern of %u bytes",
                product->file, product->line, 'A' + which, operand.start, 8 * operand.swizzle);
    return operand;
}

/* Distance in bytes, before swizzling, of element (x along m or n, k). */
static uint32_t distance(const struct operand *operand, bool along_mn, unsigned size, unsigned x,
                         unsigned k)
{
    unsigned row = along_mn ? k : x, byte = (along_mn ? x : k) * size;
    unsigned width = operand->swizzle ? operand->swizzle : 16; /* of a row */
    return row / 8 * operand->next + row % 8 * width + byte / width * operand->apart + byte % width;
}

/* The hardware reads the upper 19 bits. */
static double tf32_value(uint32_t bits)
{
    float value;
    bits &= 0xffffe000u;
    memcpy(&value, &bits, 4);
    return (double)value;
}

static double element(const struct wgmma_product *product, const struct operand *operand, int which,
                      unsigned x, unsigned k)
{
    unsigned size = (unsigned)gt_dtype_size((enum gt_dtype)product->type);
    uint32_t far = distance(operand, product->along_mn[which], size, x, k);
    uint32_t address = operand->start + far;
    if (operand->swizzle)
        address ^= address >> 3 & (operand->swizzle - 16) & 0x70;
    const unsigned char *at = operand->first + (int64_t)address - operand->start;
    gt_machine_check_dynamic(gt_emu_now.rank, at, size, size, "an element of wgmma", product->file,
                             product->line);
    if (address % 16 == 0) /* others are within 16 bytes that begin with an element */
        gt_proxies_read(gt_emu_now.rank, at, 16, "product", product->file, product->line);
    if (product->type == GT_TF32) {
        uint32_t bits;
        memcpy(&bits, at, 4);
        return tf32_value(bits);
    }
    return gt_emu_get((enum gt_dtype)product->type, at, 0);
}

/* Element (x, k) of an operand A in registers: one of TF32 in each, or two of 16 bits. */
static double held(const struct wgmma_product *product, unsigned x, unsigned k)
{
    unsigned each = product->type == GT_TF32 ? 1 : 2, piece = k / each;
    unsigned thread = x / 16 * 32 + x % 8 * 4 + piece % 4;
    uint32_t bits = product->registers[thread][x % 16 / 8 + piece / 4 * 2];
    if (product->type == GT_TF32)
        return tf32_value(bits);
    uint16_t one = (uint16_t)(bits >> 16 * (k % 2));
    return gt_emu_get((enum gt_dtype)product->type, &one, 0);
}

/* ---- products ---- */

/* Adds products of a row and a column to element i of a thread's sums. */
static void add(const struct wgmma_product *product, unsigned thread, unsigned i,
                const double *products, unsigned depth)
{
    float *sum = (float *)product->sums[thread] + i;
    int *whole = (int *)product->sums[thread] + i;
    double all = 0;

    for (unsigned k = 0; k < depth; k++)
        all += products[k];
    if (product->type == GT_S8)
        *whole = (product->scale_d ? *whole : 0) + (int)all;
    else if (gt_type_f8((enum gt_dtype)product->type))
        *sum = gt_emu_f8_sum(product->scale_d ? *sum : 0.0f, products, (int)depth);
    else
        *sum = (product->scale_d ? *sum : 0.0f) + (float)all;
}

static void perform(struct wgmma_product *product)
{
    static double a[64][MOST_K], b[256][MOST_K];
    unsigned depth = 32 / (unsigned)gt_dtype_size((enum gt_dtype)product->type);
    struct operand operand_a = product->in_registers ? (struct operand){0} : decode(product, 0);
    struct operand operand_b = decode(product, 1);

    for (unsigned k = 0; k < depth; k++) {
        for (unsigned x = 0; x < 64; x++)
            a[x][k] =
                product->in_registers ? held(product, x, k) : element(product, &operand_a, 0, x, k);
        for (unsigned x = 0; x < (unsigned)product->n; x++)
            b[x][k] = element(product, &operand_b, 1, x, k);
    }
    for (unsigned thread = 0; thread < WARPGROUP; thread++)
        for (unsigned i = 0; i < (unsigned)product->n / 2; i++) {
            unsigned row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
            unsigned column = i / 4 * 8 + thread % 4 * 2 + i % 2;
            double products[MOST_K];
            for (unsigned k = 0; k < depth; k++)
                products[k] = a[row][k] * b[column][k];
            add(product, thread, i, products, depth);
        }
    product->done = true;
}

/* Removes the products at the front that are done. */
static void forget(struct wgmma_group *group)
{
    unsigned long first = group->first;
    while (first < group->end && product(group, first)->done)
        first++;
    memmove(group->products, product(group, first), (group->end - first) * sizeof *group->products);
    group->first = first;
}

static struct wgmma_product *add_product(struct wgmma_group *group)
{
    if (group->end - group->first == group->room) {
        group->room = group->room ? 2 * group->room : 16;
        group->products = realloc(group->products, group->room * sizeof *group->products);
        if (!group->products)
            abort();
    }
    return product(group, group->end++);
}

static bool same(const struct wgmma_product *one, const struct wgmma_product *two)
{
    return one->type == two->type && one->n == two->n && one->along_mn[0] == two->along_mn[0] &&
           one->along_mn[1] == two->along_mn[1] && !one->scale_d == !two->scale_d &&
           one->operand[0] == two->operand[0] && one->operand[1] == two->operand[1] &&
           one->in_registers == two->in_registers && one->group == two->group;
}

static void check(const struct wgmma_product *asked)
{
    bool narrow = asked->type != GT_F16 && asked->type != GT_BF16;
    unsigned first = within_block(machine.running) / WARPGROUP * WARPGROUP;
    if (asked->n % 8 || asked->n < 8 || asked->n > 256)
        ABANDON("%s:%d: wgmma of %d columns", asked->file, asked->line, asked->n);
    if (narrow && (asked->along_mn[0] || asked->along_mn[1]))
        ABANDON("%s:%d: only 16-bit operands may lie along m or n", asked->file, asked->line);
    if (first + WARPGROUP > machine.threads)
        ABANDON("%s:%d: wgmma by a warpgroup of fewer than 128 threads", asked->file, asked->line);
    if (!machine.running->wgmma.begun)
        ABANDON("%s:%d: wgmma without gt_wgmma_fence since the sums could be touched", asked->file,
                asked->line);
}

/* The running thread asks for the product, with its sums and, if A is in registers, its part. */
static void ask(struct wgmma_product asked, void *sums, const unsigned *registers)
{
    struct thread *self = machine.running;
    struct wgmma_group *group = group_of(self);
    unsigned long number = self->wgmma.issued++;

    asked.group = self->wgmma.committed;
    check(&asked);
    if (number == group->end)
        *add_product(group) = asked;
    struct wgmma_product *shared = product(group, number);
    if (!same(shared, &asked))
        ABANDON("%s:%d: the threads of a warpgroup ask for different products", asked.file,
                asked.line);
    shared->sums[within_block(self) % WARPGROUP] = sums;
    shared->registers[within_block(self) % WARPGROUP] = registers;
    if (++shared->asked == WARPGROUP && machine.launch->eager)
        perform(shared);
}

void gt_emu_wgmma(int type, int n, int a_along_mn, int b_along_mn, void *sums, unsigned long long a,
                  unsigned long long b, int scale_d, const char *file, int line)
{
    struct wgmma_product asked = {.type = type,
                                  .n = n,
                                  .along_mn = {a_along_mn, b_along_mn},
                                  .scale_d = scale_d,
                                  .operand = {a, b},
                                  .file = file,
                                  .line = line};
    ask(asked, sums, NULL);
}

void gt_emu_wgmma_rs(int type, int n, int b_along_mn, void *sums, const unsigned *a,
                     unsigned long long b, int scale_d, const char *file, int line)
{
    struct wgmma_product asked = {.type = type,
                                  .n = n,
                                  .along_mn = {0, b_along_mn},
                                  .in_registers = true,
                                  .scale_d = scale_d,
                                  .operand = {0, b},
                                  .file = file,
                                  .line = line};
    ask(asked, sums, a);
}

void gt_emu_wgmma_fence(void)
{
    machine.running->wgmma.begun = true;
}

void gt_emu_wgmma_commit(void)
{
    machine.running->wgmma.committed++;
}

static bool all_asked(struct thread *thread)
{
    struct wgmma_group *group = group_of(thread);
    for (unsigned long i = group->first; i < thread->wgmma.wanted; i++)
        if (product(group, i)->asked < WARPGROUP)
            return false;
    return true;
}

static void explain_products(char *text, size_t size, const struct thread *thread)
{
    struct wgmma_group *group = group_of(thread);
    unsigned long i = group->first;
    while (product(group, i)->asked == WARPGROUP)
        i++;
    snprintf(text, size, " for a product that %u of the warpgroup's 128 threads asked for",
             product(group, i)->asked);
}

void gt_emu_wgmma_wait(int pending, const char *file, int line)
{
    struct thread *self = machine.running;
    struct wgmma_group *group = group_of(self);

    self->wgmma.begun = false;
    self->wgmma.wanted = group->first;
    while (self->wgmma.wanted < self->wgmma.issued &&
           product(group, self->wgmma.wanted)->group + (unsigned long)pending <
               self->wgmma.committed)
        self->wgmma.wanted++;
    gt_machine_wait_for(all_asked, explain_products, file, line);
    for (unsigned long i = group->first; i < self->wgmma.wanted; i++)
        if (!product(group, i)->done)
            perform(product(group, i));
    forget(group);
}

void gt_wgmma_begin(void)
{
    for (unsigned i = 0; i < machine.blocks; i++)
        for (unsigned j = 0; j < MAX_THREADS / WARPGROUP; j++)
            machine.block[i].group[j].first = machine.block[i].group[j].end = 0;
}

void gt_wgmma_release(void)
{
    for (unsigned i = 0; i < machine.blocks; i++)
        for (unsigned j = 0; j < MAX_THREADS / WARPGROUP; j++)
            free(machine.block[i].group[j].products);
}

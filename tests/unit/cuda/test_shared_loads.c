/* test_shared_loads.c - test: machine code of sm_90 in which threads read what TMA brings to shared
 * memory waits for these loads before it frees their place.
 *
 * A thread frees a stage of a ring by an arrival at a barrier (or asks for the next box itself).
 * ptxas orders nothing between that and loads from shared memory that are under way, as it knows of
 * no write: TMA's next box may then come before a delayed load, which reads the wrong values, once
 * in thousands of launches. gt_tma_fence() in front of the arrival makes the code wait: for a
 * MEMBAR, which waits for the loads. No proof finds such a race for certain, but the code says it:
 * each load names one of six scoreboards, as the MEMBAR does, and each instruction the scoreboards
 * that it waits for. Instructions are taken in the order of their addresses, so a load in front of
 * a loop's last jump counts for what follows the loop, not for its beginning.
 *
 * Shipped points of the kernels concerned are compiled; one more is compiled without its fence, and
 * must be found. Without NVRTC the tests are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"
#include "kernel/render.h"
#include "lookup/table.h"

#define POINTS_OF_KERNEL 4 /* of each shipped table */

static const char *const readers[] = {"simt_tma", "thin_tma", "hopper_transposed", "f32acc_fused"};
#define READERS (sizeof readers / sizeof *readers)

struct world {
    struct gt_nvrtc *nvrtc; /* NULL: there is none */
    struct gt_kernels kernels;
    struct gt_device device;
    char folder[64]; /* of the templates whose fence is taken out */
    struct gt_err err;
};

#define OK(call)                                   \
    do {                                           \
        if (call)                                  \
            fail_msg("%s: %s", #call, w->err.msg); \
    } while (0)

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(w);
    OK(gt_kernels_load(&w->kernels, ".", NULL, NULL, &w->err));
    OK(gt_device_profile(&w->device, ".", 90, &w->err));
    snprintf(w->folder, sizeof(w->folder), "%.40s/loads-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(w->folder));
    if (gt_nvrtc_open(&w->nvrtc, &w->err))
        w->nvrtc = NULL;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    char command[96];

    snprintf(command, sizeof(command), "rm -rf '%s'", w->folder);
    assert_int_equal(system(command), 0);
    gt_nvrtc_close(w->nvrtc);
    gt_kernels_release(&w->kernels);
    free(w);
    return 0;
}

/* ---- machine code ---- */

/* An instruction is 128 bits: the operation in the lowest 12 bits; from bit 105 on stall (4 bits),
 * yield (1), the scoreboard that is set when the result is there (3; 7: none), the one that is set
 * when the operands are read (3), and those that are waited for (6). Read from what nvdisasm of
 * CUDA 13 prints. */
struct instruction {
    uint64_t low, high;
};

enum {
    LDS = 0x984,
    LDSM = 0x83b,
    ARRIVE = 0x9a7,  /* SYNCS.ARRIVE: at a barrier in shared memory */
    UTMALDG = 0x5b4, /* asks TMA for a box */
    BAR = 0x11d,     /* barriers of a block; three more bits say of what form */
    MEMBAR = 0x992,  /* the first half of a proxy fence: waits until loads have read */
    BRA = 0x947,     /* jumps */
    EXIT = 0x94d,
    ALWAYS = 7,       /* bits 12 to 15 of an instruction without a condition */
    NO_SCOREBOARD = 7 /* of six */
};

struct loads {
    int loads, releases; /* instructions */
    int outstanding;     /* releases while a load is under way */
    bool at_barrier;     /* a load is, at the last barrier of the block */
    /* A bit for each scoreboard: of loads under way; of those among them that are in front of the
     * last MEMBAR; of that MEMBAR. */
    unsigned under_way, fenced, fence;
};

static unsigned scoreboard(unsigned number)
{
    return (number & 7) == NO_SCOREBOARD ? 0 : 1u << (number & 7);
}

/* Behind a barrier of the block one thread asks for what all have read: the others' loads count. */
static void count_release(struct loads *counts, int operation)
{
    if (operation == ARRIVE || operation == UTMALDG) {
        counts->releases++;
        counts->outstanding += counts->under_way || (operation == UTMALDG && counts->at_barrier);
    } else if ((operation & 0x1ff) == BAR) {
        counts->at_barrier = counts->under_way != 0;
    }
}

static void count_instruction(struct loads *counts, const struct instruction *at)
{
    const unsigned control = (unsigned)(at->high >> 41), waits = control >> 11 & 63;
    const unsigned sets = scoreboard(control >> 5), reads = scoreboard(control >> 8);
    const int operation = (int)(at->low & 0xfff);

    counts->under_way &= ~(waits & counts->fence ? waits | counts->fenced : waits);
    counts->fence &= ~waits;
    count_release(counts, operation);
    if (operation == MEMBAR) {
        counts->fence = sets | reads;
        counts->fenced = counts->under_way;
    } else if (operation == LDS || operation == LDSM) {
        counts->loads++;
        counts->under_way |= sets;
        counts->fenced &= ~sets;
    } else if ((operation == BRA || operation == EXIT) && (at->low >> 12 & 15) == ALWAYS) {
        counts->under_way = 0; /* what follows is not reached from here */
    }
}

/* Counts in the code of the entry "gemm" of a cubin. */
static struct loads count_loads(const struct gt_binary *binary)
{
    const unsigned char *image = binary->image;
    struct loads counts = {0};
    Elf64_Ehdr header;
    Elf64_Shdr names, section;

    assert_true(binary->size > sizeof(header));
    memcpy(&header, image, sizeof(header));
    assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
    memcpy(&names, image + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
    for (int s = 0; s < header.e_shnum; s++) {
        memcpy(&section, image + header.e_shoff + (size_t)s * sizeof(section), sizeof(section));
        const char *name = (const char *)image + names.sh_offset + section.sh_name;
        if (strcmp(name, ".text.gemm") != 0)
            continue;
        assert_true(section.sh_offset + section.sh_size <= binary->size);
        for (size_t at = 0; at + 16 <= section.sh_size; at += 16) {
            struct instruction instruction;
            memcpy(&instruction, image + section.sh_offset + at, sizeof(instruction));
            count_instruction(&counts, &instruction);
        }
    }
    return counts;
}

/* ---- points ---- */

static void take_fences_out(char *source)
{
    static const char fence[] = "gt_tma_fence();";

    for (char *at = strstr(source, fence); at; at = strstr(at, fence))
        memset(at, ' ', sizeof(fence) - 2); /* the semicolon stays */
}

/* fenced: as it is; else without the fences of the template, and with the headers of w->folder. */
static struct loads loads_of(struct world *w, const char *name, const char *point,
                             const struct gt_problem *problem, bool fenced)
{
    struct gt_candidate candidate = {.problem = problem, .device = &w->device};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_binary binary = {0};
    struct gt_geometry geometry;

    candidate.kernel = gt_kernels_find(&w->kernels, name, &w->err);
    assert_non_null(candidate.kernel);
    OK(gt_point_parse(&candidate.point, candidate.kernel, point, &w->err));
    OK(gt_candidate_geometry(&candidate, &geometry, &w->err));
    OK(gt_render(&source, &candidate, &w->err));
    if (!fenced)
        take_fences_out(source.text);
    const struct gt_compile_request request = {
        .source = source.text,
        .name = name,
        .include_dirs = fenced ? candidate.kernel->include_dirs : w->folder,
        .arch = 90,
        .device_cc = 90,
        .max_registers = geometry.max_registers};
    OK(gt_compile(w->nvrtc, &request, &binary, &w->err));
    struct loads counts = count_loads(&binary);
    gt_binary_release(&binary);
    gt_strbuf_release(&source);
    return counts;
}

static void check_point(struct world *w, const struct gt_table_row *row)
{
    struct loads counts = loads_of(w, row->kernel, row->point, &row->problem, true);

    print_message("%s %s for %s: %d loads, %d releases\n", row->kernel, row->point, row->text,
                  counts.loads, counts.releases);
    assert_true(counts.loads > 0 && counts.releases > 0);
    if (counts.outstanding)
        fail_msg("%s %s for %s: %d of %d arrivals and loads of TMA while loads from "
                 "shared memory are under way",
                 row->kernel, row->point, row->text, counts.outstanding, counts.releases);
}

/* Evenly chosen rows of a kernel. */
static void check_kernel(struct world *w, const struct gt_table *table, const char *name)
{
    size_t rows = 0, seen = 0;

    for (size_t i = 0; i < table->rows; i++)
        rows += strcmp(table->row[i].kernel, name) == 0;
    const size_t step = rows / POINTS_OF_KERNEL + 1;
    for (size_t i = 0; i < table->rows; i++)
        if (strcmp(table->row[i].kernel, name) == 0 && seen++ % step == 0)
            check_point(w, &table->row[i]);
}

static void test_shipped_points(void **state)
{
    static const char *const paths[] = {"db/shipped/h100.csv", "db/shipped/h200.csv"};
    struct world *w = *state;

    if (!w->nvrtc)
        skip();
    for (size_t p = 0; p < sizeof(paths) / sizeof(*paths); p++) {
        struct gt_table table = {0};
        OK(gt_table_load(&table, paths[p], &w->err));
        for (size_t k = 0; k < READERS; k++)
            check_kernel(w, &table, readers[k]);
        gt_table_release(&table);
    }
}

/* ---- the check itself ---- */

/* Small tiles that sweeps of the program without the fence found wrong
 * (db/measured/tma-refused.csv), and a point that was shipped then. */
static const struct {
    const char *kernel, *problem, *point;
} unfenced[] = {
    {"simt_tma", "333x333x128:f32:nt:batch=56",
     "TM=6,TN=8,WM=48,WN=32,BM=48,BN=64,BK=16,STAGES=3,VEC_C=1,REG_DOUBLE=0,GROUP_M=1"},
    {"simt_tma", "5120x1280x2048:f32:tn",
     "SWAP_AB=1,TM=8,TN=8,WM=32,WN=64,BM=128,BN=64,BK=16,STAGES=3,PRODUCER=1,FMA_ORDER=1,"
     "MIN_BLOCKS=3,GROUP_M=16"},
    {"thin_tma", "16x4096x14336:bf16:nt",
     "ROWS=16,TILES=1,WARPS_N=2,WARPS_K=8,RING=2,DEPTH=2,MIN_BLOCKS=1,CLUSTER_K=1,PROMOTION=0"},
};

static void test_without_the_fence(void **state)
{
    struct world *w = *state;
    char command[256];

    if (!w->nvrtc)
        skip();
    snprintf(command, sizeof(command),
             "cp -r templates/. '%s' && sed -i '/gt_tma_fence/d' '%s/simt/tma_ring.cuh'", w->folder,
             w->folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof(unfenced) / sizeof(*unfenced); i++) {
        const char *kernel = unfenced[i].kernel, *point = unfenced[i].point;
        struct gt_problem problem;
        OK(gt_problem_parse(&problem, unfenced[i].problem, &w->err));
        assert_int_equal(loads_of(w, kernel, point, &problem, true).outstanding, 0);
        assert_true(loads_of(w, kernel, point, &problem, false).outstanding > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_points),
        cmocka_unit_test(test_without_the_fence),
    };

    return cmocka_run_group_tests_name("loads from shared memory", tests, setup, teardown);
}

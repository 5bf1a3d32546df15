/* test_shared_loads.c - test: machine code of sm_90 in which threads read what TMA brings to shared
 * memory waits for these loads before it frees their place.
 *
 * A thread frees a stage of a ring by an arrival at a barrier (or asks for the next box itself).
 * ptxas orders nothing between that and loads from shared memory that are under way, as it knows of
 * no write: TMA's next box may then come before a delayed load, which reads the wrong values, once
 * in thousands of launches. gt_tma_fence() in front of the arrival makes the code wait: for a
 * MEMBAR, which waits for the loads. No proof finds such a race for certain, but the code says it:
 * each load names one of six scoreboards, as the MEMBAR does, and each instruction the scoreboards
 * that it waits for. All ways through the code are followed.
 *
 * What is not seen: stores of threads in front of TMA's next box, and loads through addresses of no
 * known memory.
 *
 * Shipped points of the kernels concerned are compiled; three points are compiled without their
 * fences as well, and must be found. Without NVRTC the tests are skipped. */
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
#include "whole.h"

#define MOST_POINTS (size_t) gt_whole(8, 2) /* of a kernel */

/* Kernels whose threads read what TMA brings, and a part of the points that are chosen. */
static const struct reader {
    const char *kernel, *part;
} readers[] = {
    {"simt_tma", ""},        {"thin_tma", "WARPS_N=1,"}, {"thin_tma", "WARPS_N=2,"},
    {"thin_row_phases", ""}, {"hopper_transposed", ""},
};

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
    BRA = 0x947,
    BRA_UNIFORM = 0x547, /* on a predicate of the warp, in other bits */
    EXIT = 0x94d,
    ALWAYS = 7,       /* bits 12 to 15 of an instruction without a condition */
    NO_SCOREBOARD = 7 /* of six */
};

/* What is under way in front of an instruction, on one of the ways to it. A bit for each
 * scoreboard: of loads; of those among them that are in front of the last MEMBAR; of that MEMBAR.
 */
struct state {
    bool reached;
    unsigned under_way, fenced, fence;
    bool at_barrier; /* a load was under way at the last barrier of the block */
};

struct loads {
    int loads, releases; /* instructions */
    int outstanding;     /* releases while a load is under way */
};

static unsigned scoreboard(unsigned number)
{
    return (number & 7) == NO_SCOREBOARD ? 0 : 1u << (number & 7);
}

static unsigned control_of(const struct instruction *at)
{
    return (unsigned)(at->high >> 41);
}

static int operation_of(const struct instruction *at)
{
    return (int)(at->low & 0xfff);
}

static bool is_load(int operation)
{
    return operation == LDS || operation == LDSM;
}

static bool is_release(int operation)
{
    return operation == ARRIVE || operation == UTMALDG;
}

static bool is_jump(int operation)
{
    return operation == BRA || operation == BRA_UNIFORM;
}

/* The state when the instruction has what it waits for. */
static struct state waited(struct state state, const struct instruction *at)
{
    const unsigned waits = control_of(at) >> 11 & 63;

    state.under_way &= ~(waits & state.fence ? waits | state.fenced : waits);
    state.fence &= ~waits;
    return state;
}

static struct state behind(struct state state, const struct instruction *at)
{
    const unsigned sets = scoreboard(control_of(at) >> 5), reads = scoreboard(control_of(at) >> 8);
    const int operation = operation_of(at);

    state = waited(state, at);
    if ((operation & 0x1ff) == BAR) {
        state.at_barrier = state.under_way != 0;
    } else if (operation == MEMBAR) {
        state.fence = sets | reads;
        state.fenced = state.under_way;
    } else if (is_load(operation)) {
        state.under_way |= sets;
        state.fenced &= ~sets;
    }
    return state;
}

/* Adds a way to an instruction: what is under way on any counts, a fence only if it is on all.
 * Whether anything changed. */
static bool join(struct state *to, const struct state *way)
{
    const struct state before = *to;

    if (!to->reached) {
        *to = *way;
        return true;
    }
    to->under_way |= way->under_way;
    to->fenced &= way->fenced;
    to->fence &= way->fence;
    to->at_barrier |= way->at_barrier;
    return to->under_way != before.under_way || to->fenced != before.fenced ||
           to->fence != before.fence || to->at_barrier != before.at_barrier;
}

/* Where a jump goes to: its distance in units of four bytes from the next instruction is in bits 34
 * to 81, above those in bits 16 to 23. */
static int64_t target_of(size_t number, const struct instruction *at)
{
    const uint64_t upper = at->low >> 34 | (at->high & 0x3ffff) << 30;
    const int64_t distance = (int64_t)(upper << 16) >> 8 | (int64_t)(at->low >> 16 & 0xff);

    return (int64_t)number + 1 + distance / 4;
}

/* Follows all ways through the code until nothing changes. */
static void follow(const struct instruction *code, size_t count, struct state *state)
{
    bool changed = true;

    state[0].reached = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            const struct state next = behind(state[i], &code[i]);
            const bool always = (code[i].low >> 12 & 15) == ALWAYS;
            const int operation = operation_of(&code[i]);
            if (!state[i].reached)
                continue;
            if (is_jump(operation)) {
                const int64_t target = target_of(i, &code[i]);
                assert_true(target >= 0 && target < (int64_t)count);
                changed |= join(&state[target], &next);
            }
            if (!(always && (operation == BRA || operation == EXIT)) && i + 1 < count)
                changed |= join(&state[i + 1], &next);
        }
    }
}

static struct loads count_instructions(const struct instruction *code, size_t count)
{
    struct state *states = calloc(count, sizeof(*states));
    struct loads counts = {0};

    assert_non_null(states);
    follow(code, count, states);
    for (size_t i = 0; i < count; i++) {
        const struct state state = waited(states[i], &code[i]);
        counts.loads += is_load(operation_of(&code[i]));
        if (!is_release(operation_of(&code[i])))
            continue;
        assert_true(states[i].reached);
        counts.releases++;
        /* Behind a barrier of the block one thread frees what all have read. */
        counts.outstanding += state.under_way || state.at_barrier;
    }
    free(states);
    return counts;
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
        struct instruction *code = malloc(section.sh_size);
        assert_non_null(code);
        memcpy(code, image + section.sh_offset, section.sh_size);
        counts = count_instructions(code, section.sh_size / sizeof(*code));
        free(code);
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

static bool is_of(const struct gt_table_row *row, const struct reader *reader)
{
    return strcmp(row->kernel, reader->kernel) == 0 && strstr(row->point, reader->part);
}

/* Evenly chosen rows of a kernel. */
static void check_reader(struct world *w, const struct gt_table *table, const struct reader *reader)
{
    size_t rows = 0, seen = 0;

    for (size_t i = 0; i < table->rows; i++)
        rows += is_of(&table->row[i], reader);
    if (!rows)
        fail_msg("no table has a point of %s with %s", reader->kernel, reader->part);
    const size_t step = (rows + MOST_POINTS - 1) / MOST_POINTS;
    for (size_t i = 0; i < table->rows; i++)
        if (is_of(&table->row[i], reader) && seen++ % step == 0)
            check_point(w, &table->row[i]);
}

static void test_shipped_points(void **state)
{
    struct world *w = *state;
    struct gt_table table = {0};

    if (!w->nvrtc)
        skip();
    OK(gt_table_load(&table, "db/shipped", &w->err));
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        check_reader(w, &table, &readers[i]);
    gt_table_release(&table);
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
             "cp -r templates/. '%s' && chmod -R u+w '%s' && "
             "sed -i '/gt_tma_fence/d' '%s/simt/tma_ring.cuh'",
             w->folder, w->folder, w->folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof(unfenced) / sizeof(*unfenced); i++) {
        const char *kernel = unfenced[i].kernel, *point = unfenced[i].point;
        struct gt_problem problem;
        OK(gt_problem_parse(&problem, unfenced[i].problem, &w->err));
        const struct loads fenced = loads_of(w, kernel, point, &problem, true);
        assert_true(fenced.loads > 0 && fenced.releases > 0);
        assert_int_equal(fenced.outstanding, 0);
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

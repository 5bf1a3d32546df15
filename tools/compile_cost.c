/* compile_cost.c - where NVRTC's time goes: CPU seconds of its front end, its optimiser and its
 * assembler (ptxas) for candidates on sm_90a, the least of RUNS runs.  `make compile-cost` measures
 * one candidate of each production kernel:
 *
 *   compile-cost RUNS                                 prints a line of CSV for each
 *   compile-cost RUNS KERNEL POINT PROBLEM [OPTION]...  one candidate, with options for NVRTC
 *
 * Each run is a process of its own, so that none profits from the one before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cuda/cuda_api.h"
#include "kernel/render.h"
#include "problem/problem.h"

#define ARCH        90
#define MAX_OPTIONS 16

enum { FRONT_END, OPTIMISER, ASSEMBLER, PHASES };

static const char *const candidates[][3] = {
    {"hopper", "", "4096x4096x4096:bf16:nn"},
    {"hopper", "BM=64,BN=64,CONSUMERS=1,STORE=1,STAGES=5,DEPTH=2", "1024x1024x1024:f16:nn"},
    {"hopper", "STREAM=1,SPREAD=0", "5000x5000x5000:bf16:nn"},
    {"hopper", "PACK_A=1,PACK_B=1,STORE=1,STORE_ROWS=1", "4095x4095x4095:bf16:nn:align=2"},
    {"hopper_transposed", "", "4096x4096x4096:tf32:nn"},
    {"simt", "", "4096x4096x4096"},
    {"f32acc", "", "4096x4096x4096:f32:nn:accuracy=f32"},
    {"mma", "GROUP_M=8", "4096x4096x4096:s8:nn"},
    {"thin_mma", "ROWS=16", "16x4096x4096:bf16:nn"},
    {"thin_tma", "ROWS=16", "16x4096x4096:bf16:nt"},
    {"thin_f32", "ROWS=8", "8x4096x4096:f32:nn"},
    {"gemv", "ROWS=1", "1x4096x4096:f32:nn"},
};

struct measurement {
    struct gt_nvrtc_api api;
    const char *source, *include;
    char **option; /* more options, until a NULL */
    int runs;
};

static void fail(const char *what)
{
    fprintf(stderr, "compile-cost: %s\n", what);
    exit(1);
}

static double cpu(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Compiles as far as the phase; the CPU seconds that took. */
static double compile(const struct measurement *m, int last)
{
    const char *list[MAX_OPTIONS + 6] = {last == ASSEMBLER ? "--gpu-architecture=sm_90a"
                                                           : "--gpu-architecture=compute_90a",
                                         "--std=c++17", m->include, "--no-cache"};
    void *program = NULL;
    int count = 4;
    double begin;

    if (last == FRONT_END)
        list[count++] = "--fdevice-syntax-only";
    for (int i = 0; i < MAX_OPTIONS && m->option[i]; i++)
        list[count++] = m->option[i];
    if (m->api.CreateProgram(&program, m->source, "candidate", 0, NULL, NULL))
        fail("nvrtcCreateProgram failed");
    begin = cpu();
    if (m->api.CompileProgram(program, count, list))
        fail("the candidate does not compile; `tune try KERNEL POINT --problem P` says why");
    return cpu() - begin;
}

/* The same in a process of its own. */
static double compile_apart(const struct measurement *m, int last)
{
    double took = 0;
    int ends[2], status = 0;
    pid_t child;

    if (pipe(ends) || (child = fork()) < 0)
        fail("no process for a run");
    if (!child) {
        took = compile(m, last);
        _exit(write(ends[1], &took, sizeof(took)) != sizeof(took));
    }
    close(ends[1]);
    if (read(ends[0], &took, sizeof(took)) != sizeof(took))
        took = 0;
    close(ends[0]);
    if (waitpid(child, &status, 0) < 0 || status)
        exit(1);
    return took;
}

/* Each phase is what compiling takes longer with it than without it. */
static void measure(const struct measurement *m, double phase[PHASES])
{
    double least[PHASES];

    for (int run = 0; run < m->runs; run++)
        for (int i = 0; i < PHASES; i++) {
            double took = compile_apart(m, i);

            least[i] = run && least[i] < took ? least[i] : took;
        }
    for (int i = 0; i < PHASES; i++)
        phase[i] = least[i] - (i ? least[i - 1] : 0);
}

static void measure_candidate(struct measurement *m, const struct gt_kernels *kernels,
                              const struct gt_device *device, const char *const candidate[3])
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_candidate made = {.kernel = gt_kernels_find(kernels, candidate[0], NULL),
                                .device = device};
    struct gt_problem problem;
    struct gt_err err = {0};
    double phase[PHASES];

    made.problem = &problem;
    if (!made.kernel)
        fail("no such kernel; `tune list kernels` names them");
    if (gt_problem_parse(&problem, candidate[2], &err) ||
        gt_point_parse(&made.point, made.kernel, candidate[1], &err) ||
        gt_render(&source, &made, &err))
        fail(err.msg);
    m->source = source.text;
    measure(m, phase);
    printf("%s,\"%s\",%s,%.3f,%.3f,%.3f,%.3f\n", candidate[0], candidate[1], candidate[2],
           phase[FRONT_END], phase[OPTIMISER], phase[ASSEMBLER],
           phase[FRONT_END] + phase[OPTIMISER] + phase[ASSEMBLER]);
    fflush(stdout);
    gt_strbuf_release(&source);
}

int main(int argc, char **argv)
{
    struct measurement m = {.runs = argc > 1 ? atoi(argv[1]) : 5,
                            .option = argc > 5 ? argv + 5 : argv + argc};
    struct gt_kernels kernels = {0};
    struct gt_device device;
    struct gt_err err = {0};
    char *data_dir = NULL, include[4200];

    if (m.runs < 1 || (argc > 2 && argc < 5))
        fail("RUNS [KERNEL POINT PROBLEM [OPTION]...]");
    if (gt_data_dir(&data_dir, &err) || gt_kernels_load(&kernels, data_dir, NULL, NULL, &err) ||
        gt_device_profile(&device, data_dir, ARCH, &err) || gt_nvrtc_api_load(&m.api, &err))
        fail(err.msg);
    snprintf(include, sizeof(include), "-I%s/templates", data_dir);
    m.include = include;
    printf("kernel,point,problem,front_end_s,optimiser_s,assembler_s,all_s\n");
    if (argc > 2)
        measure_candidate(&m, &kernels, &device, (const char *const *)argv + 2);
    for (size_t i = 0; argc <= 2 && i < sizeof(candidates) / sizeof(*candidates); i++)
        measure_candidate(&m, &kernels, &device, candidates[i]);
    gt_kernels_release(&kernels);
    free(data_dir);
    return 0;
}

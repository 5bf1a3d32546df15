/* session_options.c - tables of the options that several commands share. */
#include "session/session_options.h"

#include <string.h>

#include "session/problemset.h"

enum gt_timing gt_session_timing(const struct gt_session_options *options)
{
    if (options->timing && strcmp(options->timing, "graph") == 0)
        return GT_TIMING_GRAPH;
    return options->l2 && strcmp(options->l2, "warm") == 0 ? GT_TIMING_WARM : GT_TIMING_COLD;
}

const struct gt_option gt_session_option_table[] = {
    GT_ARCH(gt_session_options, arch,
            "GPU architecture to tune for, e.g. sm_86, or a GPU such as h100; where no such GPU is "
            "present, times are "
            "predicted"),
    GT_TEXT(gt_session_options, device, "device", 'd', "DEVICE",
            "cuda or cuda:N measures on that GPU; predict:sm_86 only estimates, "
            "predict:FILE.json for a profile of your own; replay:FILE answers "
            "from a recorded space (default: cuda if there is a GPU of the --arch, else predict)"),
    GT_TEXT(gt_session_options, db, "db", 0, "FILE",
            "database that remembers every trial (default: $GEMMTUNE_DB, else gemmtune/gemmtune.db "
            "in your data folder, ~/.local/share)"),
    GT_KERNEL_DIRS(gt_session_options, "a folder with descriptions of your own kernels"),
    GT_INTEGER(gt_session_options, jobs, "jobs", 'j', "N", 1, 256,
               "compile workers (default: one per core)"),
    GT_INTEGER(
        gt_session_options, deadline, "deadline", 0, "SECONDS", 1, 3600,
        "a candidate is killed on the GPU after this time, more for large problems (default: 10)"),
    GT_INTEGER(gt_session_options, compile_cpu, "compile-cpu", 0, "SECONDS", 1, 86400,
               "CPU time after which compiling a candidate is given up (default: 60)"),
    GT_INTEGER(gt_session_options, compile_memory, "compile-memory", 0, "MIB", 256, 1048576,
               "memory that a compile worker may use (default: 2048)"),
    GT_INTEGER(gt_session_options, seed, "seed", 0, "N", 1, INT64_MAX,
               "seed of everything random: the operands' values, the search, what --random draws "
               "(default: 1)"),
    GT_CHOICE(
        gt_session_options, l2, "l2", 0, "MODE", "cold|warm",
        "cold (default): operands rotate through more than 3 x L2 while timing; warm: they stay"),
    GT_CHOICE(gt_session_options, timing, "timing", 0, "MODE", "single|graph",
              "single (default): launches timed one by one; graph: chains of launches in a CUDA "
              "graph, cold, as programs run short products"),
    GT_CHOICE(gt_session_options, dist, "dist", 0, "WHICH", "normal|uniform|integers|zeros",
              "numbers of the operands while timing: normal (default), uniform in [-1, 1), "
              "integers, zeros; a GPU's power depends on them, so all but the default are kept as "
              "times of another device, \"NAME [zeros]\"; the proof has its own numbers"),
    GT_OPTIONS_END,
};

const struct gt_option gt_search_option_table[] = {
    GT_TEXT(gt_session_options, strategy, "strategy", 0, "STRATEGY",
            "how the next points are chosen, NAME[:OPTION=VALUE,...]; see tune list strategies"),
    GT_OPTIONS_END,
};

/* The parts of a problem that --shape and --shapes leave open; also for commands that take one
 * problem. */
#define GT_PROBLEM_PARTS                                                                           \
    GT_TEXT(gt_problem_options, dtype, "dtype", 0, "TYPE",                                         \
            "type of A and B (default: f32), or fp8-tensor, fp8-vector, fp8-blocks, int8-vector: " \
            "8 bits with such factors"),                                                           \
        GT_CHOICE(gt_problem_options, layout, "layout", 0, "AB", "nn|nt|tn|tt",                    \
                  "nn (default), nt, tn or tt: t where an operand is stored transposed"),          \
        GT_CHOICE(gt_problem_options, accuracy, "accuracy", 0, "CLASS", "strict|f32|tf32|low",     \
                  "how exact the result must be: strict (default), f32, tf32, low"),               \
        GT_TEXT(gt_problem_options, beta, "beta", 0, "X",                                          \
                "factor of C (default: 0, C is not read)"),                                        \
        GT_CHOICE(gt_problem_options, epilogue, "epilogue", 0, "NAME",                             \
                  "none|bias|relu|gelu|bias+relu|bias+gelu",                                       \
                  "none (default), bias, relu, gelu, bias+relu, bias+gelu"),                       \
        GT_TEXT(gt_problem_options, batch, "batch", 0, "N",                                        \
                "matrices of a strided batch (default: 1)")

const struct gt_option gt_problem_part_table[] = {
    GT_PROBLEM_PARTS,
    GT_OPTIONS_END,
};

const struct gt_option gt_problem_option_table[] = {
    GT_TEXTS(
        gt_problem_options, shape, "shape", 's', "MxNxK",
        "problem: sizes, or a whole text such as 512x512x64:f32:nt:batch=8; a size may be a list "
        "or a range: 1,2,4x4096x4096, 1024:8192:1024x4096x4096, 64:4096:x2x512x512; may be "
        "repeated"),
    GT_TEXT(gt_problem_options, shapes, "shapes", 0, "FILE",
            "problems from a file (- is standard input), JSON or one problem text a line, or what "
            "TunableOp, cublasLt or a profiler wrote, or from a set of the data folder, such as "
            "bench or llm"),
    GT_TEXT(gt_problem_options, model, "model", 0, "NAME",
            "the layers of a model of configs/problems/models.json, such as llama-3.1-8b, in bf16 "
            "unless --dtype says otherwise"),
    GT_TEXT(gt_problem_options, rows, "rows", 0, "LIST",
            "rows of the activations with --model, a list or a range (default: 1:8192:x2)"),
    GT_PROBLEM_PARTS,
    GT_TEXT(
        gt_problem_options, shard, "shard", 0, "I/N",
        "part I of N of the problems (1/4 to 4/4), chosen by their texts: a part for each machine "
        "(default: of problems from a file, the task's part of a Slurm array; 1/1 is all of them)"),
    GT_OPTIONS_END,
};

const struct gt_option gt_draw_option_table[] = {
    GT_INTEGER(gt_problem_options, random, "random", 0, "N", 1, GT_RANDOM_MOST,
               "N problems as programs have them, drawn by --seed: the same on every machine"),
    GT_TEXT(
        gt_problem_options, family, "family", 0, "NAME",
        "what --random draws: plain (the default), scaled (FP8 with factors), blocks (FP8 with "
        "factors of blocks), int8, mxfp8, nvfp4 (8 and 4 bits with factors), update (C is read, "
        "added, activated), double"),
    GT_OPTIONS_END,
};

/* session_options.c - tables of the options that several commands share. */
#include "console/session_options.h"

#include "console/random_problems.h"

#define SESSION(field) offsetof(struct gt_session_options, field)
#define PROBLEM(field) offsetof(struct gt_problem_options, field)

const struct gt_option gt_session_option_table[] = {
    {"arch", 'a', GT_OPTION_TEXT, SESSION(arch), "ARCH",
     "GPU architecture to tune for, e.g. sm_86; where no such GPU is present, times are predicted",
     NULL, 0, 0},
    {"device", 'd', GT_OPTION_TEXT, SESSION(device), "DEVICE",
     "cuda or cuda:N measures on that GPU; predict:sm_86 only estimates; replay:FILE answers from "
     "a recorded space (default: cuda if there is a GPU of the --arch, else predict)",
     NULL, 0, 0},
    {"db", 0, GT_OPTION_TEXT, SESSION(db), "FILE",
     "database that remembers every trial (default: $GEMMTUNE_DB, else gemmtune/gemmtune.db in "
     "your data folder, ~/.local/share)",
     NULL, 0, 0},
    {"kernels-dir", 0, GT_OPTION_TEXT, SESSION(kernels_dir), "DIR",
     "a folder with descriptions of your own kernels", NULL, 0, 0},
    {"include-dir", 'I', GT_OPTION_TEXT, SESSION(include_dirs), "DIR",
     "where templates of --kernels-dir also find headers: DIR[:DIR...]", NULL, 0, 0},
    {"jobs", 'j', GT_OPTION_INTEGER, SESSION(jobs), "N", "compile workers (default: one per core)",
     NULL, 1, 256},
    {"deadline", 0, GT_OPTION_INTEGER, SESSION(deadline), "SECONDS",
     "a candidate is killed on the GPU after this time, more for large problems (default: 10)",
     NULL, 1, 3600},
    {"compile-cpu", 0, GT_OPTION_INTEGER, SESSION(compile_cpu), "SECONDS",
     "CPU time after which compiling a candidate is given up (default: 60)", NULL, 1, 86400},
    {"compile-memory", 0, GT_OPTION_INTEGER, SESSION(compile_memory), "MIB",
     "memory that a compile worker may use (default: 2048)", NULL, 256, 1048576},
    {"seed", 0, GT_OPTION_INTEGER, SESSION(seed), "N",
     "seed of everything random: the operands' values, the search, what --random draws (default: "
     "1)",
     NULL, 1, INT64_MAX},
    {"l2", 0, GT_OPTION_TEXT, SESSION(l2), "MODE",
     "cold (default): operands rotate through more than 3 x L2 while timing; warm: they stay",
     "cold|warm", 0, 0},
    GT_OPTIONS_END,
};

const struct gt_option gt_search_option_table[] = {
    {"strategy", 0, GT_OPTION_TEXT, SESSION(strategy), "STRATEGY",
     "how the next points are chosen, NAME[:OPTION=VALUE,...]; see tune list strategies", NULL, 0,
     0},
    GT_OPTIONS_END,
};

const struct gt_option gt_problem_option_table[] = {
    {"shape", 's', GT_OPTION_TEXTS, PROBLEM(shape), "MxNxK",
     "problem: sizes, or a whole text such as 512x512x64:f32:nt:batch=8; may be repeated", NULL, 0,
     0},
    {"shapes", 0, GT_OPTION_TEXT, PROBLEM(shapes), "FILE",
     "problems from a file (- is standard input), JSON or one problem text a line, or from a set "
     "of "
     "the data folder, such as bench or llm",
     NULL, 0, 0},
    {"dtype", 0, GT_OPTION_TEXT, PROBLEM(dtype), "TYPE", "type of A and B (default: f32)", NULL, 0,
     0},
    {"layout", 0, GT_OPTION_TEXT, PROBLEM(layout), "AB",
     "nn (default), nt, tn or tt: t where an operand is stored transposed", "nn|nt|tn|tt", 0, 0},
    {"accuracy", 0, GT_OPTION_TEXT, PROBLEM(accuracy), "CLASS",
     "how exact the result must be: strict (default), f32, tf32, low", "strict|f32|tf32|low", 0, 0},
    {"beta", 0, GT_OPTION_TEXT, PROBLEM(beta), "X", "factor of C (default: 0, C is not read)", NULL,
     0, 0},
    {"epilogue", 0, GT_OPTION_TEXT, PROBLEM(epilogue), "NAME",
     "none (default), bias, relu, gelu, bias+relu, bias+gelu",
     "none|bias|relu|gelu|bias+relu|bias+gelu", 0, 0},
    {"batch", 0, GT_OPTION_TEXT, PROBLEM(batch), "N", "matrices of a strided batch (default: 1)",
     NULL, 0, 0},
    {"shard", 0, GT_OPTION_TEXT, PROBLEM(shard), "I/N",
     "part I of N of the problems (1/4 to 4/4), chosen by their texts: a part for each machine "
     "(default: of problems from a file, the task's part of a Slurm array; 1/1 is all of them)",
     NULL, 0, 0},
    GT_OPTIONS_END,
};

const struct gt_option gt_draw_option_table[] = {
    {"random", 0, GT_OPTION_INTEGER, PROBLEM(random), "N",
     "N problems as programs have them, drawn by --seed: the same on every machine", NULL, 1,
     GT_RANDOM_MOST},
    GT_OPTIONS_END,
};

/* commands.h - the list of sub-commands, one cmd_<name>.c each, and the exit codes. */
#ifndef GT_COMMANDS_H
#define GT_COMMANDS_H

#include <stddef.h>

struct gt_command;
struct gt_err;

/* X(name): the object is gt_command_<name>.  The first command is the sweep, without a word. */
#define GT_COMMANDS(X) \
    X(tune)            \
    X(show)            \
    X(try)             \
    X(ladder)          \
    X(bench)           \
    X(energy)          \
    X(lookup)          \
    X(capture)         \
    X(serve)           \
    X(export)          \
    X(report)          \
    X(compare)         \
    X(merge)           \
    X(forget)          \
    X(queue)           \
    X(recheck)         \
    X(list)            \
    X(cache)           \
    X(doctor)          \
    X(help)

#define GT_DECLARE_COMMAND(name) extern const struct gt_command gt_command_##name;
GT_COMMANDS(GT_DECLARE_COMMAND)
#undef GT_DECLARE_COMMAND

extern const struct gt_command *const gt_commands[];
extern const size_t gt_command_count;

/* The command of that name; NULL with a sentence that may name a similar command. */
const struct gt_command *gt_command_find(const char *name, struct gt_err *err);

#define GT_EXIT_ERRORS 6 /* at most so many error codes per exit code */

struct gt_exit {
    int code;
    const char *meaning;
    int error[GT_EXIT_ERRORS]; /* error codes with this exit code; 0 ends the list */
};

/* All exit codes, ascending. */
extern const struct gt_exit gt_exits[];
extern const size_t gt_exit_count;

/* The exit code for what a command's `run` returned. */
int gt_exit_code(int rc);

#endif

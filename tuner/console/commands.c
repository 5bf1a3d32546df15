/* commands.c - the list of sub-commands and the table of exit codes; see commands.h. */
#include <string.h>

#include "base/err.h"
#include "console/commands.h"
#include "console/options.h"

#define GT_COMMAND_ADDRESS(name) &gt_command_##name,
const struct gt_command *const gt_commands[] = {GT_COMMANDS(GT_COMMAND_ADDRESS)};
#undef GT_COMMAND_ADDRESS
#define COMMANDS (sizeof(gt_commands) / sizeof(gt_commands[0]))
const size_t gt_command_count = COMMANDS;

const struct gt_exit gt_exits[] = {
    {0, "done", {GT_OK}},
    {1, "internal or input/output error", {GT_OK}},
    {2,
     "usage: unknown arch, kernel, parameter or value, malformed shape...",
     {GT_ESYNTAX, GT_ERANGE, GT_ENOTFOUND}},
    {3, "malformed configuration, or a template that does not compile", {GT_ECONFIG, GT_ENVRTC}},
    {GT_EXIT_NOTHING,
     "finished, but no candidate was valid, problems were left out (export --format deploy), or "
     "nothing could be compared (compare)",
     {GT_OK}},
    {5, "database", {GT_EDB, GT_ESTALE}},
    {6,
     "GPU, driver or a library of the CUDA toolkit missing or wrong",
     {GT_ECUDA, GT_ENOGPU, GT_ENOLIB, GT_ETOOBIG, GT_EBUSY}},
    {7, "the GPU stopped answering", {GT_ELOST}},
    {GT_EXIT_LOST,
     "a stored winner is not the fastest any more (recheck), or something is slower (compare)",
     {GT_OK}},
    {130, "interrupted; the same command resumes", {GT_EINTERRUPTED}},
};
const size_t gt_exit_count = sizeof(gt_exits) / sizeof(gt_exits[0]);

int gt_exit_code(int rc)
{
    if (rc >= 0)
        return rc;
    for (size_t i = 0; i < gt_exit_count; i++)
        for (size_t j = 0; gt_exits[i].error[j]; j++)
            if (gt_exits[i].error[j] == rc)
                return gt_exits[i].code;
    return 1;
}

/* Words that are no commands, and their meanings. */
static const struct {
    const char *word, *advice;
} other_words[] = {
    {"run",
     "tune try KERNEL --problem MxNxK runs one candidate, tune show KERNEL --keep DIR compiles "
     "one, and tune serve -- PROGRAM runs a program"},
    {"compile", "tune show KERNEL --problem MxNxK --keep DIR compiles a candidate"},
    {"tune", "a sweep has no word: tune --shape MxNxK"},
    {"sweep", "a sweep has no word: tune --shape MxNxK"},
    {"search", "a sweep has no word: tune --shape MxNxK"},
    {"benchmark", "tune bench times winners beside cuBLASLt"},
    {"profile", "tune try KERNEL --problem MxNxK times one candidate"},
};

const struct gt_command *gt_command_find(const char *name, struct gt_err *err)
{
    const char *names[COMMANDS];
    const char *near;

    for (size_t i = 0; i < COMMANDS; i++) {
        names[i] = gt_commands[i]->name;
        if (*names[i] && strcmp(name, names[i]) == 0)
            return gt_commands[i];
    }
    for (size_t i = 0; i < sizeof(other_words) / sizeof(other_words[0]); i++)
        if (strcmp(name, other_words[i].word) == 0) {
            gt_err_set(err, GT_ESYNTAX, "unknown command \"%s\": %s", name, other_words[i].advice);
            return NULL;
        }
    near = gt_near(name, strlen(name), names + 1, COMMANDS - 1);
    if (near)
        gt_err_set(err, GT_ESYNTAX, "unknown command \"%s\"; did you mean \"%s\"?", name, near);
    else
        gt_err_set(err, GT_ESYNTAX, "unknown command \"%s\"; tune --help lists them", name);
    return NULL;
}

/* cmd_help.c - tune help [COMMAND]: the text of --help; manual pages and completions. */
#include <string.h>

#include "base/err.h"
#include "console/commands.h"
#include "console/help.h"
#include "console/options.h"

struct options {
    const char *format;
};

static const struct gt_option option_table[] = {
    GT_CHOICE(options, format, "format", 'f', "FORMAT", "text|man|bash|zsh|fish",
              "text (default); man: a manual page; bash, zsh, fish: what the shell completes, of "
              "all commands"),
    GT_OPTIONS_END,
};

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *format = options->format ? options->format : "text";
    const struct gt_command *command = gt_commands[0];

    if (cli->arguments && !(command = gt_command_find(cli->argument[0], err)))
        return GT_ESYNTAX;
    if (strcmp(format, "man") == 0)
        gt_help_man(cli->out, command);
    else if (strcmp(format, "bash") == 0)
        gt_help_bash(cli->out);
    else if (strcmp(format, "zsh") == 0)
        gt_help_zsh(cli->out);
    else if (strcmp(format, "fish") == 0)
        gt_help_fish(cli->out);
    else
        gt_help_print(cli->out, command);
    return GT_OK;
}

const struct gt_command gt_command_help = {
    .name = "help",
    .doc = "what a command does and which options it takes",
    .usage = "help [COMMAND] [--format text|man|bash|zsh|fish]",
    .about =
        "Prints what `tune COMMAND --help` prints, or a manual page, or a file that makes a\n"
        "shell complete commands, options and names. `make install` installs pages and files.\n"
        "\n"
        "  tune help show\n"
        "  tune help show --format man | man -l -\n"
        "  source <(tune help --format bash)\n",
    .argument = "COMMAND",
    .group = {{option_table, 0}},
    .size = sizeof(struct options),
    .max_args = 1,
    .needs_no_data = true,
    .raw = true,
    .run = run,
};

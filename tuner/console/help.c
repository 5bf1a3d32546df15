/* help.c - the text of --help; see help.h. */
#include "console/help.h"

#include <string.h>

#include "console/commands.h"
#include "console/options.h"
#include "console/terminal.h"

#define DOC_COLUMN     28
#define HELP_COLUMNS   100
#define NARROW_COLUMNS 60 /* a terminal of fewer has what an option does below its name */
#define BELOW_COLUMN   6

static void print_options(FILE *out, const struct gt_option *table)
{
    const int terminal = gt_terminal_width();
    const int width = terminal && terminal < HELP_COLUMNS ? terminal : HELP_COLUMNS;
    const int column = width < NARROW_COLUMNS ? BELOW_COLUMN : DOC_COLUMN;

    for (const struct gt_option *option = table; option->name; option++) {
        char left[64];
        char letter[8] = "    ";

        if (option->letter)
            snprintf(letter, sizeof(letter), "-%c, ", option->letter);
        snprintf(left, sizeof(left), "  %s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        fprintf(out, "%-*s", column, left);
        if ((int)strlen(left) >= column)
            fprintf(out, "\n%*s", column, "");
        gt_terminal_wrap(out, option->doc, column, width);
    }
}

static void print_commands(FILE *out)
{
    fprintf(out, "Commands (tune COMMAND --help says more):\n");
    for (size_t i = 0; i < gt_command_count; i++)
        if (*gt_commands[i]->name)
            fprintf(out, "  %-8s %s\n", gt_commands[i]->name, gt_commands[i]->doc);
    fputc('\n', out);
}

void gt_help_print(FILE *out, const struct gt_command *command)
{
    const struct gt_option_group *group = command->group;
    bool sweep = !*command->name;

    fprintf(out, "Usage: tune %s\n", command->usage);
    if (sweep)
        fprintf(out, "       tune COMMAND [OPTION]...\n");
    fprintf(out, "\n%s\n", command->about);
    if (sweep)
        print_commands(out);
    if (group->table) {
        fprintf(out, "Options:\n");
        for (; group->table; group++)
            print_options(out, group->table);
        fputc('\n', out);
    }
    fprintf(out, "Options of every command:\n");
    print_options(out, gt_common_options);
    if (!sweep)
        return;
    fprintf(out, "\nExit codes:\n");
    for (size_t i = 0; i < gt_exit_count; i++)
        fprintf(out, "  %d  %s\n", gt_exits[i].code, gt_exits[i].meaning);
}

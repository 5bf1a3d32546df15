/* help.c - the text of --help; see help.h. */
#include "console/help.h"

#include <string.h>

#include "base/strbuf.h"
#include "console/commands.h"
#include "console/options.h"
#include "console/terminal.h"

#define DOC_COLUMN     28
#define PIPE_COLUMNS   80  /* of a file or a pipe */
#define HELP_COLUMNS   100 /* of a terminal that has more: longer lines are hard to read */
#define NARROW_COLUMNS 60  /* a terminal of fewer has what an option does below its name */
#define BELOW_COLUMN   6
#define COMMAND_COLUMN 11 /* what a command does begins behind its name, */
#define EXIT_COLUMN    7  /* what an exit code means behind its number, */
#define USAGE_COLUMN   12 /* and more of a usage below "Usage: tune " */

static int help_width(void)
{
    const int terminal = gt_terminal_width();

    if (!terminal)
        return PIPE_COLUMNS;
    return terminal < HELP_COLUMNS ? terminal : HELP_COLUMNS;
}

static void print_options(FILE *out, const struct gt_option *table)
{
    const int width = help_width();
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

/* A word or a number, and what it means, at column `column`. */
static void print_term(FILE *out, const char *term, const char *meaning, int column)
{
    fprintf(out, "  %-*s", column - 2, term);
    gt_terminal_wrap(out, meaning, column, help_width());
}

/* Ends the paragraph that was gathered, if there is one. */
static void end_paragraph(FILE *out, struct gt_strbuf *paragraph)
{
    if (paragraph->length)
        gt_terminal_wrap(out, paragraph->text, 0, help_width());
    gt_strbuf_release(paragraph);
}

/* Paragraphs are filled anew; indented lines are examples and stay as they are. */
static void print_about(FILE *out, const char *about)
{
    struct gt_strbuf paragraph = GT_STRBUF_INIT;

    for (const char *line = about, *next; *line; line = next) {
        const size_t length = strcspn(line, "\n");
        const bool example = !strncmp(line, "  ", 2);

        next = line + length + (line[length] == '\n');
        if (length && !example) {
            gt_strbuf_addf(&paragraph, "%s%.*s", paragraph.length ? " " : "", (int)length, line);
            continue;
        }
        end_paragraph(out, &paragraph);
        fprintf(out, "%.*s\n", (int)length, line);
    }
    end_paragraph(out, &paragraph);
}

static void print_commands(FILE *out)
{
    fprintf(out, "Commands (tune COMMAND --help says more):\n");
    for (size_t i = 0; i < gt_command_count; i++)
        if (*gt_commands[i]->name)
            print_term(out, gt_commands[i]->name, gt_commands[i]->doc, COMMAND_COLUMN);
    fputc('\n', out);
}

void gt_help_print(FILE *out, const struct gt_command *command)
{
    const struct gt_option_group *group = command->group;
    bool sweep = !*command->name;

    fprintf(out, "Usage: tune ");
    gt_terminal_wrap(out, command->usage, USAGE_COLUMN, help_width());
    if (sweep)
        fprintf(out, "       tune COMMAND [OPTION]...\n");
    fputc('\n', out);
    print_about(out, command->about);
    fputc('\n', out);
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
    for (size_t i = 0; i < gt_exit_count; i++) {
        char code[8];

        snprintf(code, sizeof(code), "%d", gt_exits[i].code);
        print_term(out, code, gt_exits[i].meaning, EXIT_COLUMN);
    }
}

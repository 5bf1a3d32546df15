/* help_man.c - a command's manual page; see help.h. */
#include <string.h>

#include "console/commands.h"
#include "console/help.h"
#include "console/options.h"

/* Prints text that groff takes literally: without escapes and requests, with hyphens that can be
 * copied. */
static void put(FILE *out, const char *text, size_t length)
{
    if (length && (*text == '.' || *text == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void put_text(FILE *out, const char *text)
{
    put(out, text, strlen(text));
}

/* Prints paragraphs; indented lines are examples and keep their line ends. */
static void put_about(FILE *out, const char *about)
{
    bool example = false;

    for (const char *line = about, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        bool indented = !strncmp(line, "  ", 2);

        next = line + length + (line[length] == '\n');
        if (indented != example)
            fputs(indented ? ".PP\n.RS\n.nf\n" : ".fi\n.RE\n.PP\n", out);
        example = indented;
        if (!length) {
            if (strncmp(next, "  ", 2) != 0)
                fputs(".PP\n", out);
            continue;
        }
        put(out, line + (indented ? 2 : 0), length - (indented ? 2 : 0));
        fputc('\n', out);
    }
    if (example)
        fputs(".fi\n.RE\n", out);
}

static void put_options(FILE *out, const struct gt_option *table)
{
    for (const struct gt_option *option = table; option->name; option++) {
        fputs(".TP\n", out);
        if (option->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
        fputs("\\fB\\-\\-", out);
        put_text(out, option->name);
        fputs("\\fR", out);
        if (option->value)
            fprintf(out, " \\fI%s\\fR", option->value);
        fputc('\n', out);
        put_text(out, option->doc);
        fputc('\n', out);
    }
}

static void put_see_also(FILE *out, const struct gt_command *command)
{
    const char *separator = "";

    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; i < gt_command_count; i++) {
        if (gt_commands[i] == command)
            continue;
        fprintf(out, "%s.BR tune%s%s (1)", separator, *gt_commands[i]->name ? "\\-" : "",
                gt_commands[i]->name);
        separator = ",\n";
    }
    fputc('\n', out);
}

void gt_help_man(FILE *out, const struct gt_command *command)
{
    bool sweep = !*command->name;

    fprintf(out, ".TH TUNE%s%s 1 \"\" \"gemmtune %d.%d.%d\" \"gemmtune\"\n", sweep ? "" : "\\-",
            command->name, GT_VERSION_MAJOR, GT_VERSION_MINOR, GT_VERSION_PATCH);
    fprintf(out, ".SH NAME\ntune%s%s \\- ", sweep ? "" : "\\-", command->name);
    put_text(out, command->doc);
    fputs("\n.SH SYNOPSIS\n\\fBtune\\fR ", out);
    put_text(out, command->usage);
    fputs(sweep ? "\n.br\n\\fBtune\\fR COMMAND [OPTION]...\n" : "\n", out);
    fputs(".SH DESCRIPTION\n", out);
    put_about(out, command->about);
    if (sweep) {
        fputs(".SH COMMANDS\n", out);
        for (size_t i = 1; i < gt_command_count; i++) {
            fprintf(out, ".TP\n\\fB%s\\fR\n", gt_commands[i]->name);
            put_text(out, gt_commands[i]->doc);
            fputc('\n', out);
        }
    }
    fputs(".SH OPTIONS\n", out);
    for (const struct gt_option_group *group = command->group; group->table; group++)
        put_options(out, group->table);
    put_options(out, gt_common_options);
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < gt_exit_count; i++) {
        fprintf(out, ".TP\n\\fB%d\\fR\n", gt_exits[i].code);
        put_text(out, gt_exits[i].meaning);
        fputc('\n', out);
    }
    put_see_also(out, command);
}

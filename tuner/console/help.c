/* help.c - the text of --help; see help.h. */
#include <string.h>

#include "base/strbuf.h"
#include "console/commands.h"
#include "console/help.h"
#include "console/options.h"
#include "console/terminal.h"

#define DOC_COLUMN     28
#define PIPE_COLUMNS   80  /* width for a file or a pipe */
#define HELP_COLUMNS   100 /* width for wider terminals, because longer lines are hard to read */
#define NARROW_COLUMNS 60  /* a narrower terminal shows an option's effect below its name */
#define BELOW_COLUMN   6
#define COMMAND_COLUMN 11 /* the text behind a command's name begins here, */
#define EXIT_COLUMN    7  /* the meaning of an exit code here, */
#define USAGE_COLUMN   12 /* and further lines of a usage here, below "Usage: tune " */

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

/* Prints a word or a number, and its meaning at column `column`. */
static void print_term(FILE *out, const char *term, const char *meaning, int column)
{
    fprintf(out, "  %-*s", column - 2, term);
    gt_terminal_wrap(out, meaning, column, help_width());
}

/* Prints the gathered paragraph, if there is one. */
static void end_paragraph(FILE *out, struct gt_strbuf *paragraph)
{
    if (paragraph->length)
        gt_terminal_wrap(out, paragraph->text, 0, help_width());
    gt_strbuf_release(paragraph);
}

/* Prints the text.  Paragraphs are wrapped anew; indented lines are examples and stay as they
 * are. */
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

/* ---- manual pages ---- */

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

static void put_line(FILE *out, const char *text)
{
    put(out, text, strlen(text));
    fputc('\n', out);
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
        put(out, option->name, strlen(option->name));
        fputs("\\fR", out);
        if (option->value)
            fprintf(out, " \\fI%s\\fR", option->value);
        fputc('\n', out);
        put_line(out, option->doc);
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
    put_line(out, command->doc);
    fputs(".SH SYNOPSIS\n\\fBtune\\fR ", out);
    put_line(out, command->usage);
    fputs(sweep ? ".br\n\\fBtune\\fR COMMAND [OPTION]...\n" : "", out);
    fputs(".SH DESCRIPTION\n", out);
    put_about(out, command->about);
    if (sweep) {
        fputs(".SH COMMANDS\n", out);
        for (size_t i = 1; i < gt_command_count; i++) {
            fprintf(out, ".TP\n\\fB%s\\fR\n", gt_commands[i]->name);
            put_line(out, gt_commands[i]->doc);
        }
    }
    fputs(".SH OPTIONS\n", out);
    for (const struct gt_option_group *group = command->group; group->table; group++)
        put_options(out, group->table);
    put_options(out, gt_common_options);
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < gt_exit_count; i++) {
        fprintf(out, ".TP\n\\fB%d\\fR\n", gt_exits[i].code);
        put_line(out, gt_exits[i].meaning);
    }
    put_see_also(out, command);
}

/* ---- completions ---- */

/* The shells ask the program itself for kernels, architectures and strategies, so that the user's
 * own kernels are completed without a new file. */

/* Calls `row` for each option of a command, the common options included. */
static void each_option(FILE *out, const struct gt_command *command,
                        void (*row)(FILE *, const struct gt_command *, const struct gt_option *))
{
    const struct gt_option *table;

    for (const struct gt_option_group *group = command->group; group->table; group++)
        for (table = group->table; table->name; table++)
            row(out, command, table);
    for (table = gt_common_options; table->name; table++)
        row(out, command, table);
}

/* Prints the names of all commands but the sweep, which has no name. */
static void put_commands(FILE *out)
{
    for (size_t i = 1; i < gt_command_count; i++)
        fprintf(out, "%s%s", i > 1 ? " " : "", gt_commands[i]->name);
}

/* Prints the choices "cold|warm" as "cold warm"; COMMAND stands for the names of all commands. */
static void put_choices(FILE *out, const char *choices)
{
    if (strcmp(choices, "COMMAND") == 0)
        put_commands(out);
    else
        for (; *choices; choices++)
            fputc(*choices == '|' ? ' ' : *choices, out);
}

enum language { BASH, ZSH, FISH };

#define LISTED(what)                                                                              \
    {                                                                                             \
        "_gemmtune_list " what, "{_gemmtune_list " what "}", "-f -a '(__gemmtune_list " what ")'" \
    }

/* The command whose output completes a kind of value (gt_option.value); NULL for free text. */
static const char *values_of(const char *kind, enum language language)
{
    static const struct {
        const char *kind, *word[3];
    } rows[] = {
        {"FILE", {"compgen -f -- \"$cur\"", "_files", "-F"}},
        {"DIR", {"compgen -d -- \"$cur\"", "_files -/", "-F"}},
        {"ARCH", LISTED("devices")},
        {"KERNEL", LISTED("kernels")},
        {"KERNELS", LISTED("kernels")},
        {"STRATEGY", LISTED("strategies")},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(kind, rows[i].kind) == 0)
            return rows[i].word[language];
    return NULL;
}

/* ---- bash ---- */

static void bash_name(FILE *out, const struct gt_command *command, const struct gt_option *option)
{
    (void)command;
    fprintf(out, " --%s", option->name);
    if (option->letter)
        fprintf(out, " -%c", option->letter);
}

/* Ends a case of bash's with the command that prints the words: values of a kind, or choices. */
static void bash_words(FILE *out, const char *kind, const char *choices)
{
    const char *values = kind ? values_of(kind, BASH) : NULL;

    if (values || !choices) {
        fputs(values ? values : ":", out);
    } else {
        fputs("compgen -W '", out);
        put_choices(out, choices);
        fputs("' -- \"$cur\"", out);
    }
    fputs(" ;;\n", out);
}

static void bash_value(FILE *out, const struct gt_command *command, const struct gt_option *option)
{
    if (option->type == GT_OPTION_FLAG)
        return;
    fprintf(out, "    %s:--%s", command->name, option->name);
    if (option->letter)
        fprintf(out, " | %s:-%c", command->name, option->letter);
    fputs(") ", out);
    bash_words(out, option->value, option->choices);
}

void gt_help_bash(FILE *out)
{
    fputs(
        "# bash completion of gemmtune, made by: tune help --format bash\n"
        "_gemmtune_list() {\n"
        "    compgen -W \"$(\"$program\" list \"$1\" 2>/dev/null |\n"
        "        awk 'NR > 1 || $1 !~ /^(kernel|arch)$/ { if ($0 !~ /^ / && seen[$1]++ == 0) print "
        "$1 }')\" -- "
        "\"$cur\"\n"
        "}\n"
        "_gemmtune_values() {\n"
        "    case $command:$prev in\n",
        out);
    for (size_t i = 0; i < gt_command_count; i++)
        each_option(out, gt_commands[i], bash_value);
    fputs("    *) return 1 ;;\n    esac\n    return 0\n}\n_gemmtune_words() {\n    case $command: "
          "in\n",
          out);
    for (size_t i = 0; i < gt_command_count; i++) {
        fprintf(out, "    %s:) ", *gt_commands[i]->name ? gt_commands[i]->name : "''");
        bash_words(out, gt_commands[i]->argument, gt_commands[i]->argument);
    }
    fputs("    esac\n}\n_gemmtune_options() {\n    case $command: in\n", out);
    for (size_t i = 0; i < gt_command_count; i++) {
        fprintf(out, "    %s:) echo", gt_commands[i]->name);
        each_option(out, gt_commands[i], bash_name);
        fputs(" ;;\n", out);
    }
    fputs("    esac\n}\n"
          "_gemmtune() {\n"
          "    local program=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]}\n"
          "    [[ $cur != = ]] || cur=\n"
          "    [[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    ((COMP_CWORD > 1)) && [[ \" ",
          out);
    put_commands(out);
    fputs(" \" == *\" $command \"* ]] || command=\n"
          "    if _gemmtune_values >/dev/null; then\n"
          "        mapfile -t COMPREPLY < <(_gemmtune_values)\n"
          "        compopt -o filenames 2>/dev/null\n"
          "    elif [[ $cur == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$(_gemmtune_options)\" -- \"$cur\")\n"
          "    elif ((COMP_CWORD == 1)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    put_commands(out);
    fputs("' -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(_gemmtune_words)\n"
          "        compopt -o filenames 2>/dev/null\n"
          "    fi\n"
          "}\n"
          "complete -F _gemmtune gemmtune tune\n",
          out);
}

/* ---- zsh ---- */

/* Escapes text for single quotes inside a specification of _arguments. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_action(FILE *out, const char *what, const char *kind, const char *choices)
{
    const char *values = kind ? values_of(kind, ZSH) : NULL;

    fprintf(out, ":%s:", what);
    if (values) {
        fputs(values, out);
    } else if (choices) {
        fputc('(', out);
        put_choices(out, choices);
        fputc(')', out);
    }
}

static void zsh_option(FILE *out, const struct gt_command *command, const struct gt_option *option)
{
    const char *many = option->type == GT_OPTION_TEXTS ? "*" : "";

    (void)command;
    for (int i = 0; i < 1 + (option->letter != 0); i++) {
        if (i)
            fprintf(out, "      '%s-%c", many, option->letter);
        else
            fprintf(out, "      '%s--%s%s", many, option->name,
                    option->type == GT_OPTION_FLAG ? "" : "=");
        fputc('[', out);
        zsh_text(out, option->doc);
        fputc(']', out);
        if (option->type != GT_OPTION_FLAG)
            zsh_action(out, option->value, option->value, option->choices);
        fputs("' \\\n", out);
    }
}

void gt_help_zsh(FILE *out)
{
    fputs(
        "#compdef gemmtune tune\n"
        "# zsh completion of gemmtune, made by: tune help --format zsh\n"
        "_gemmtune_list() {\n"
        "  compadd -- ${(f)\"$(_call_program list $service list $1 2>/dev/null |\n"
        "    awk 'NR > 1 || $1 !~ /^(kernel|arch)$/ { if ($0 !~ /^ / && seen[$1]++ == 0) print $1 "
        "}')\"}\n"
        "}\n"
        "_gemmtune() {\n"
        "  local command=\n"
        "  local -a commands=(\n",
        out);
    for (size_t i = 1; i < gt_command_count; i++) {
        fprintf(out, "    '%s:", gt_commands[i]->name);
        zsh_text(out, gt_commands[i]->doc);
        fputs("'\n", out);
    }
    fputs("  )\n"
          "  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
          "    _describe command commands\n"
          "    return\n"
          "  fi\n"
          "  if (( $commands[(I)$words[2]:*] )); then\n"
          "    command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "  fi\n"
          "  case $command in\n",
          out);
    for (size_t i = 0; i < gt_command_count; i++) {
        const struct gt_command *command = gt_commands[i];

        fprintf(out, "  %s)\n    _arguments -s \\\n", *command->name ? command->name : "''");
        each_option(out, command, zsh_option);
        fputs("      '*", out);
        zsh_action(out, "argument", command->argument, command->argument);
        fputs("'\n    ;;\n", out);
    }
    fputs("  esac\n}\n_gemmtune \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_text(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* Prints the condition of a line: the command was typed, or no command was. */
static void fish_when(FILE *out, const struct gt_command *command)
{
    fputs("    complete -c $program -n '", out);
    if (*command->name) {
        fprintf(out, "__fish_seen_subcommand_from %s", command->name);
    } else {
        fputs("not __fish_seen_subcommand_from ", out);
        put_commands(out);
    }
    fputc('\'', out);
}

static void fish_words(FILE *out, const char *kind, const char *choices)
{
    const char *values = kind ? values_of(kind, FISH) : NULL;

    if (values) {
        fprintf(out, " %s", values);
    } else if (choices) {
        fputs(" -f -a '", out);
        put_choices(out, choices);
        fputc('\'', out);
    }
}

static void fish_option(FILE *out, const struct gt_command *command, const struct gt_option *option)
{
    fish_when(out, command);
    fprintf(out, " -l %s", option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->type != GT_OPTION_FLAG)
        fputs(" -r", out);
    fish_words(out, option->value, option->choices);
    fputs(" -d '", out);
    fish_text(out, option->doc);
    fputs("'\n", out);
}

void gt_help_fish(FILE *out)
{
    fputs(
        "# fish completion of gemmtune, made by: tune help --format fish\n"
        "function __gemmtune_list\n"
        "    set -l words (commandline -opc)\n"
        "    $words[1] list $argv[1] 2>/dev/null |\n"
        "        awk 'NR > 1 || $1 !~ /^(kernel|arch)$/ { if ($0 !~ /^ / && seen[$1]++ == 0) print "
        "$1 }'\n"
        "end\n"
        "for program in gemmtune tune\n",
        out);
    for (size_t i = 1; i < gt_command_count; i++) {
        fprintf(out, "    complete -c $program -n __fish_use_subcommand -f -a %s -d '",
                gt_commands[i]->name);
        fish_text(out, gt_commands[i]->doc);
        fputs("'\n", out);
    }
    for (size_t i = 0; i < gt_command_count; i++) {
        fish_when(out, gt_commands[i]);
        if (gt_commands[i]->argument)
            fish_words(out, gt_commands[i]->argument, gt_commands[i]->argument);
        else
            fputs(" -f", out);
        fputc('\n', out);
        each_option(out, gt_commands[i], fish_option);
    }
    fputs("end\n", out);
}

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

/* What the page of `tune` says besides; tuner/README.md says more of it. */
static const struct {
    const char *section, *term, *meaning;
} surroundings[] = {
    {"ENVIRONMENT", "GEMMTUNE_DB", "the database where --db names none"},
    {NULL, "GEMMTUNE_CACHE, GEMMTUNE_CACHE_LIMIT",
     "the folder of compiled kernels, and how large it may get (default: 2G)"},
    {NULL, "GEMMTUNE_DATA", "the folder of templates and configs (default: beside the program)"},
    {NULL, "GEMMTUNE_LOCKS", "the folder of the locks of GPUs"},
    {NULL,
     "GEMMTUNE_LIBCUDA, GEMMTUNE_LIBNVRTC, GEMMTUNE_LIBNVJITLINK, GEMMTUNE_LIBCUBLASLT, "
     "GEMMTUNE_LIBNVML",
     "a library, or its folder, instead of the usual places"},
    {NULL, "CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, CONDA_PREFIX", "where CUDA's libraries may be"},
    {NULL, "TMPDIR", "the folder of temporary files (default: /tmp)"},
    {NULL, "NO_COLOR", "if not empty, no colour"},
    {"FILES", "$XDG_DATA_HOME/gemmtune/gemmtune.db, ~/.local/share/gemmtune/gemmtune.db",
     "the database; beside it -wal and -shm while it is open, -lock, and -vN.backup of an older "
     "program's"},
    {NULL, "$XDG_CACHE_HOME/gemmtune, ~/.cache/gemmtune", "compiled kernels; may be removed"},
    {NULL, "PREFIX/share/gemmtune", "templates, descriptions, device profiles, shipped winners"},
};

static void put_surroundings(FILE *out)
{
    for (size_t i = 0; i < sizeof(surroundings) / sizeof(*surroundings); i++) {
        if (surroundings[i].section)
            fprintf(out, ".SH %s\n", surroundings[i].section);
        fputs(".TP\n\\fB", out);
        put(out, surroundings[i].term, strlen(surroundings[i].term));
        fputs("\\fR\n", out);
        put_line(out, surroundings[i].meaning);
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
    if (sweep)
        put_surroundings(out);
    put_see_also(out, command);
}

/* ---- completions ---- */

/* The shells ask the program itself (`tune help --format words`), so that one place knows what
 * comes next.  The answer ":files" or ":folders" leaves the word to the shell. */
static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", "# bash completion of gemmtune, made by: tune help --format bash\n"
             "_gemmtune() {\n"
             "    local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]}\n"
             "    mapfile -t COMPREPLY < <(\"$1\" help --format words -- \\\n"
             "        \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f1)\n"
             "    case ${COMPREPLY[0]-} in\n"
             "    :files) mapfile -t COMPREPLY < <(compgen -f -- \"${cur#=}\") ;;\n"
             "    :folders) mapfile -t COMPREPLY < <(compgen -d -- \"${cur#=}\") ;;\n"
             "    *) return ;;\n"
             "    esac\n"
             "    compopt -o filenames 2>/dev/null\n"
             "}\n"
             "complete -F _gemmtune gemmtune tune\n"},
    {"zsh", "#compdef gemmtune tune\n"
            "# zsh completion of gemmtune, made by: tune help --format zsh\n"
            "_gemmtune() {\n"
            "  local -a found\n"
            "  found=(\"${(@f)$($words[1] help --format words -- \"${(@)words[2,CURRENT]}\" "
            "2>/dev/null)}\")\n"
            "  case $found[1] in\n"
            "  :files) compset -P '*='; _files ;;\n"
            "  :folders) compset -P '*='; _files -/ ;;\n"
            "  ?*) found=(\"${(@)found//:/\\\\:}\")\n"
            "    found=(\"${(@)found//$'\\t'/:}\"); _describe word found ;;\n"
            "  esac\n"
            "}\n"
            "_gemmtune \"$@\"\n"},
    {"fish", "# fish completion of gemmtune, made by: tune help --format fish\n"
             "function __gemmtune_words\n"
             "    set -l words (commandline -opc)\n"
             "    set -l program $words[1]\n"
             "    set -e words[1]\n"
             "    set -l word (commandline -ct)\n"
             "    set -l option (string match -r '^--[^=]*=' -- $word; or echo '')\n"
             "    set -l found ($program help --format words -- $words \"$word\" 2>/dev/null)\n"
             "    switch \"$found[1]\"\n"
             "        case ':f*'\n"
             "            printf '%s\\n' $option(__fish_complete_path "
             "(string replace -r '^--[^=]*=' '' -- \"$word\"))\n"
             "        case '*'\n"
             "            printf '%s\\n' $found\n"
             "    end\n"
             "end\n"
             "complete -c gemmtune -c tune -f -a '(__gemmtune_words)'\n"},
};

void gt_help_shell(FILE *out, const char *shell)
{
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
        if (strcmp(shell, scripts[i].shell) == 0)
            fputs(scripts[i].script, out);
}

/* completions.c - what bash, zsh and fish complete; see help.h.
 *
 * The shells ask the program itself for kernels, architectures and strategies, so that kernels of
 * the user's own are completed without a new file. */
#include <string.h>

#include "console/commands.h"
#include "console/help.h"
#include "console/options.h"

/* Calls `row` for each option of a command, those of every command too. */
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

/* "cold|warm" -> "cold warm" */
static void put_choices(FILE *out, const char *choices)
{
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, out);
}

enum language { BASH, ZSH, FISH };

/* The command whose output completes a kind of value (gt_option.value); NULL for free text. */
static const char *values_of(const char *kind, enum language language)
{
    static const struct {
        const char *kind, *word[3];
    } rows[] = {
        {"FILE", {"compgen -f -- \"$cur\"", "_files", "-F"}},
        {"DIR", {"compgen -d -- \"$cur\"", "_files -/", "-F"}},
        {"ARCH",
         {"_gemmtune_list devices", "{_gemmtune_list devices}",
          "-f -a '(__gemmtune_list devices)'"}},
        {"KERNEL",
         {"_gemmtune_list kernels", "{_gemmtune_list kernels}",
          "-f -a '(__gemmtune_list kernels)'"}},
        {"KERNELS",
         {"_gemmtune_list kernels", "{_gemmtune_list kernels}",
          "-f -a '(__gemmtune_list kernels)'"}},
        {"STRATEGY",
         {"_gemmtune_list strategies", "{_gemmtune_list strategies}",
          "-f -a '(__gemmtune_list strategies)'"}},
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

static void bash_value(FILE *out, const struct gt_command *command, const struct gt_option *option)
{
    const char *values = option->value ? values_of(option->value, BASH) : NULL;

    if (option->type == GT_OPTION_FLAG)
        return;
    fprintf(out, "    %s:--%s", command->name, option->name);
    if (option->letter)
        fprintf(out, " | %s:-%c", command->name, option->letter);
    fputs(") ", out);
    if (option->choices) {
        fputs("compgen -W '", out);
        put_choices(out, option->choices);
        fputs("' -- \"$cur\"", out);
    } else {
        fputs(values ? values : ":", out);
    }
    fputs(" ;;\n", out);
}

/* Names of all commands but the sweep, which has none. */
static void put_commands(FILE *out)
{
    for (size_t i = 1; i < gt_command_count; i++)
        fprintf(out, "%s%s", i > 1 ? " " : "", gt_commands[i]->name);
}

/* What the command's arguments may be: values of a kind, a list of words, or NULL. */
static void put_arguments(FILE *out, const char *argument)
{
    if (strcmp(argument, "COMMAND") == 0)
        put_commands(out);
    else
        put_choices(out, argument);
}

static void bash_argument(FILE *out, const struct gt_command *command)
{
    const char *values = command->argument ? values_of(command->argument, BASH) : NULL;

    fprintf(out, "    %s:) ", *command->name ? command->name : "''");
    if (values) {
        fputs(values, out);
    } else if (command->argument) {
        fputs("compgen -W '", out);
        put_arguments(out, command->argument);
        fputs("' -- \"$cur\"", out);
    } else {
        fputc(':', out);
    }
    fputs(" ;;\n", out);
}

void gt_help_bash(FILE *out)
{
    fputs("# bash completion of gemmtune, made by: tune help --format bash\n"
          "_gemmtune_list() {\n"
          "    compgen -W \"$(\"$program\" list \"$1\" 2>/dev/null |\n"
          "        awk 'NR > 1 || $1 !~ /^(kernel|arch)$/ { if ($0 !~ /^ /) print $1 }')\" -- "
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
    for (size_t i = 0; i < gt_command_count; i++)
        bash_argument(out, gt_commands[i]);
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
    if (choices) {
        fputc('(', out);
        put_arguments(out, choices);
        fputc(')', out);
    } else if (values) {
        fputs(values, out);
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
    fputs("#compdef gemmtune tune\n"
          "# zsh completion of gemmtune, made by: tune help --format zsh\n"
          "_gemmtune_list() {\n"
          "  compadd -- ${(f)\"$(_call_program list $service list $1 2>/dev/null |\n"
          "    awk 'NR > 1 || $1 !~ /^(kernel|arch)$/ { if ($0 !~ /^ /) print $1 }')\"}\n"
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
        const char *argument = command->argument;

        fprintf(out, "  %s)\n    _arguments -s \\\n", *command->name ? command->name : "''");
        each_option(out, command, zsh_option);
        fputs("      '*", out);
        zsh_action(out, "argument", argument,
                   argument && !values_of(argument, ZSH) ? argument : NULL);
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

static void fish_option(FILE *out, const struct gt_command *command, const struct gt_option *option)
{
    const char *values = option->value ? values_of(option->value, FISH) : NULL;

    fish_when(out, command);
    fprintf(out, " -l %s", option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->type != GT_OPTION_FLAG)
        fputs(" -r", out);
    if (option->choices) {
        fputs(" -f -a '", out);
        put_choices(out, option->choices);
        fputc('\'', out);
    } else if (values) {
        fprintf(out, " %s", values);
    }
    fputs(" -d '", out);
    fish_text(out, option->doc);
    fputs("'\n", out);
}

static void fish_argument(FILE *out, const struct gt_command *command)
{
    const char *values = command->argument ? values_of(command->argument, FISH) : "-f";

    fish_when(out, command);
    if (values) {
        fprintf(out, " %s\n", values);
        return;
    }
    fputs(" -f -a '", out);
    put_arguments(out, command->argument);
    fputs("'\n", out);
}

void gt_help_fish(FILE *out)
{
    fputs("# fish completion of gemmtune, made by: tune help --format fish\n"
          "function __gemmtune_list\n"
          "    set -l words (commandline -opc)\n"
          "    $words[1] list $argv[1] 2>/dev/null |\n"
          "        awk 'NR > 1 || $1 !~ /^(kernel|arch)$/ { if ($0 !~ /^ /) print $1 }'\n"
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
        fish_argument(out, gt_commands[i]);
        each_option(out, gt_commands[i], fish_option);
    }
    fputs("end\n", out);
}

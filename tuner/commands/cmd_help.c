/* cmd_help.c - tune help [COMMAND]: the text of --help; manual pages and completions. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "console/commands.h"
#include "console/help.h"
#include "console/options.h"
#include "kernel/kernel.h"

struct options {
    const char *format;
};

static const struct gt_option option_table[] = {
    GT_CHOICE(options, format, "format", 'f', "FORMAT", "text|man|bash|zsh|fish|words",
              "text (default); man: a manual page; bash, zsh, fish: what makes the shell complete "
              "words; words: what the last of the words behind -- may become, as these ask"),
    GT_OPTIONS_END,
};

/* ---- the words that may stand next on a command line ---- */

struct words {
    struct gt_cli *cli;
    const char *typed; /* the beginning of the word */
    int option;        /* characters of "--l2=" in front of `typed` */
};

/* Offers a word with its meaning (NULL: none), if it begins as typed. */
static void offer(const struct words *words, const char *word, size_t length, const char *meaning)
{
    const size_t typed = strlen(words->typed);

    if (length >= typed && strncmp(word, words->typed, typed) == 0)
        fprintf(words->cli->out, "%.*s%.*s%s%s\n", words->option, words->typed - words->option,
                (int)length, word, meaning ? "\t" : "", meaning ? meaning : "");
}

/* Offers what `tune list` lists, each name once. */
static void offer_listed(const struct words *words, const char *what)
{
    char *text = NULL, *list[] = {(char *)what, NULL}, name[64] = "", last[64];
    size_t size;
    struct gt_cli inner = *words->cli;
    void *fields = calloc(1, gt_command_list.size);
    cJSON *names = NULL, *item;

    inner.out = open_memstream(&text, &size);
    inner.argument = list;
    inner.json = true;
    if (inner.out && fields && gt_data_dir(&words->cli->data_dir, NULL) == GT_OK) {
        inner.data_dir = words->cli->data_dir;
        gt_command_list.run(&inner, fields, NULL);
    }
    if (inner.out)
        fclose(inner.out);
    if (text)
        names = cJSON_Parse(text);
    cJSON_ArrayForEach(item, names)
    {
        const bool arch = cJSON_IsNumber(item->child);
        const cJSON *meaning = cJSON_GetObjectItemCaseSensitive(item, arch ? "name" : "doc");

        memcpy(last, name, sizeof(last));
        if (arch)
            snprintf(name, sizeof(name), "sm_%d", item->child->valueint);
        else
            snprintf(name, sizeof(name), "%s", cJSON_GetStringValue(item->child));
        if (strcmp(name, last) != 0)
            offer(words, name, strlen(name), cJSON_GetStringValue(meaning));
    }
    cJSON_Delete(names);
    free(text);
    free(fields);
}

static void offer_commands(const struct words *words)
{
    for (size_t i = 1; i < gt_command_count; i++)
        offer(words, gt_commands[i]->name, strlen(gt_commands[i]->name), gt_commands[i]->doc);
}

/* Offers values of a kind (gt_option.value), or the choices "a|b|c". */
static void offer_values(const struct words *words, const char *kind, const char *choices)
{
    static const struct {
        const char *kind, *shell, *listed;
    } rows[] = {{"FILE", ":files", NULL},     {"DIR", ":folders", NULL},
                {"ARCH", NULL, "devices"},    {"KERNEL", NULL, "kernels"},
                {"KERNELS", NULL, "kernels"}, {"STRATEGY", NULL, "strategies"}};

    for (size_t i = 0; kind && i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(kind, rows[i].kind) != 0)
            continue;
        if (rows[i].shell)
            fprintf(words->cli->out, "%s\n", rows[i].shell);
        else
            offer_listed(words, rows[i].listed);
        return;
    }
    if (choices && strcmp(choices, "COMMAND") == 0)
        offer_commands(words);
    else if (choices)
        for (size_t length; *choices; choices += length + (choices[length] == '|')) {
            length = strcspn(choices, "|");
            offer(words, choices, length, NULL);
        }
}

/* The option that a word of `length` characters is, "--name" or "-n"; NULL: none.  words not NULL:
 * offers all options instead. */
static const struct gt_option *find_option(const struct gt_command *command, const char *word,
                                           size_t length, const struct words *words)
{
    struct gt_option_group group[GT_MAX_GROUPS + 2] = {{gt_common_options, 0, NULL}};

    memcpy(group + 1, command->group, sizeof(command->group));
    for (const struct gt_option_group *at = group; at->table; at++)
        for (const struct gt_option *option = at->table; option->name; option++) {
            const char letter[] = {'-', option->letter, '\0'};
            char name[64];

            snprintf(name, sizeof(name), "--%s", option->name);
            if (words) {
                offer(words, name, strlen(name), option->doc);
                offer(words, letter, option->letter ? 2 : 0, option->doc);
            } else if ((strlen(name) == length && strncmp(name, word, length) == 0) ||
                       (option->letter && length == 2 && strncmp(letter, word, 2) == 0)) {
                return option;
            }
        }
    return NULL;
}

/* Prints what the last of the words may become, a word and its meaning a line. */
static void complete(struct gt_cli *cli)
{
    const struct gt_command *command = gt_commands[0], *named;
    struct words words = {.cli = cli};
    char **word = cli->argument, *sign;
    const struct gt_option *option = NULL;
    int count = 0;

    for (int i = 0; i < cli->arguments; i++) {
        const bool alone = strcmp(word[i], "=") == 0; /* bash has '=' as a word of its own */

        if (alone)
            *word[i] = '\0';
        if (!alone || i + 1 == cli->arguments)
            word[count++] = word[i];
    }
    if (!count)
        return;
    words.typed = word[count - 1];
    if (count > 1 && (named = gt_command_find(word[0], NULL)))
        command = named;
    sign = strncmp(words.typed, "--", 2) == 0 ? strchr(words.typed, '=') : NULL;
    if (sign) {
        option = find_option(command, words.typed, (size_t)(sign - words.typed), NULL);
        words.option = (int)(sign + 1 - words.typed);
        words.typed = sign + 1;
    } else if (count > 1) {
        option = find_option(command, word[count - 2], strlen(word[count - 2]), NULL);
    }
    if (option && option->type != GT_OPTION_FLAG)
        offer_values(&words, option->value, option->choices);
    else if (*words.typed == '-')
        find_option(command, NULL, 0, &words);
    else if (count == 1)
        offer_commands(&words);
    else
        offer_values(&words, command->argument, command->argument);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *format = options->format ? options->format : "text";
    const struct gt_command *command = gt_commands[0];

    if (strcmp(format, "words") == 0) {
        complete(cli);
        return GT_OK;
    }
    if (cli->arguments > 1)
        return gt_err_set(err, GT_ESYNTAX, "unexpected argument \"%s\"; usage: tune %s",
                          cli->argument[1], gt_command_help.usage);
    if (cli->arguments && !(command = gt_command_find(cli->argument[0], err)))
        return GT_ESYNTAX;
    if (strcmp(format, "man") == 0)
        gt_help_man(cli->out, command);
    else if (strcmp(format, "text") == 0)
        gt_help_print(cli->out, command);
    else
        gt_help_shell(cli->out, format);
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
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .max_args = GT_WORDS_OF_A_PROGRAM,
    .needs_no_data = true,
    .raw = true,
    .run = run,
};

/* options.c - the command line: turns option tables into getopt_long's form and checks values. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/gpu_names.h"
#include "console/options.h"
#include "console/passwords.h"

#define MAX_OPTIONS 64
#define FIRST_CODE  256 /* getopt's answer for option i; a letter answers itself */

const struct gt_option gt_common_options[] = {
    GT_FLAG(gt_cli, json, "json", 0, "print data as JSON instead of as a table"),
    GT_FLAG(gt_cli, quiet, "quiet", 'q', "print nothing but errors on standard error"),
    GT_FLAG(gt_cli, verbose, "verbose", 'v',
            "also print where files were found, the compiler's messages, and why a kernel takes no "
            "part"),
    GT_CHOICE(gt_cli, color, "color", 0, "WHEN", "auto|always|never",
              "auto (default: on a terminal, unless NO_COLOR is set), always or never"),
    GT_FLAG(gt_cli, help, "help", 'h', "print this text"),
    GT_FLAG(gt_cli, version, "version", 0, "print the version"),
    GT_OPTIONS_END,
};

/* All tables side by side, as getopt_long wants them. */
struct parser {
    const struct gt_option *option[MAX_OPTIONS];
    void *fields[MAX_OPTIONS];
    struct option longs[MAX_OPTIONS + 3];
    char letters[2 * MAX_OPTIONS + 7];
    bool given[MAX_OPTIONS + 1]; /* the last one: of an option that the command lacks */
    size_t count;
};

/* Other names of an option, for commands that lack an option of such a name: --shape and --problem
 * mean the same. */
static const struct {
    const char *name, *other;
    char letter;
} synonyms[] = {{"problem", "shape", 's'}, {"shape", "problem", 'p'}};

/* Words of other programs for an option of the command, and what to type instead. */
static const struct {
    const char *word, *option, *advice;
} habits[] = {
    {"m", "shape", "--shape MxNxK, e.g. --shape 512x512x512"},
    {"n", "shape", "--shape MxNxK, e.g. --shape 512x512x512"},
    {"k", "shape", "--shape MxNxK, e.g. --shape 512x512x512"},
    {"m", "problem", "the sizes as MxNxK, e.g. 512x512x512"},
    {"n", "problem", "the sizes as MxNxK, e.g. 512x512x512"},
    {"k", "problem", "the sizes as MxNxK, e.g. 512x512x512"},
    {"size", "shape", "--shape MxNxK"},
    {"sizes", "shape", "--shape MxNxK"},
    {"mnk", "shape", "--shape MxNxK"},
    {"gpu", "device", "--arch, which GPU the kernels are for, or --device"},
    {"gpu", "arch", "--arch, which GPU the kernels are for"},
    {"gpu-architecture", "arch", "--arch"},
    {"compute-capability", "arch", "--arch"},
    {"type", "dtype", "--dtype"},
    {"precision", "dtype", "--dtype"},
    {"trans", "layout", "--layout nn, nt, tn or tt"},
    {"transpose", "layout", "--layout nn, nt, tn or tt"},
    {"transa", "layout", "--layout tn or tt"},
    {"transb", "layout", "--layout nt or tt"},
    {"time", "budget", "--budget, e.g. 90s or 30m"},
    {"timeout", "budget", "--budget, e.g. 90s or 30m"},
    {"trials", "budget", "--budget 200 for that many trials of each problem"},
    {"iterations", "budget", "--budget 200 for that many trials of each problem"},
    {"budget", "trials", "--trials, of each rung"},
    {"kernel", "kernels", "--kernels"},
    {"threads", "jobs", "--jobs"},
    {"workers", "jobs", "--jobs"},
    {"database", "db", "--db"},
};

#define KEEPS                                                                                    \
    "tune show KERNEL --problem MxNxK --keep DIR writes source, PTX, cubin and SASS, without a " \
    "GPU"

/* Words for the work of another command, with advice if this command has nothing similar. */
static const struct {
    const char *word, *advice;
} elsewhere[] = {
    {"arch", "this command asks for none; a sweep, show, try and lookup take --arch"},
    {"gpu", "this command asks for none; a sweep, show, try and lookup take --arch"},
    {"ptx", KEEPS},
    {"sass", KEEPS},
    {"cubin", KEEPS},
    {"keep", KEEPS},
    {"output", "tune export writes what sweeps have found, e.g. --format csv --output FILE"},
    {"out", "tune export writes what sweeps have found, e.g. --format csv --output FILE"},
    {"csv", "tune export writes what sweeps have found, e.g. --format csv --output FILE"},
    {"format", "tune export writes what sweeps have found, e.g. --format csv --output FILE"},
    {"export", "tune export writes what sweeps have found, e.g. --format csv --output FILE"},
};

static void add_table(struct parser *parser, const struct gt_option *table, void *fields)
{
    for (const struct gt_option *option = table; option && option->name; option++) {
        size_t i = parser->count;
        bool takes_value = option->type != GT_OPTION_FLAG;
        size_t used = strlen(parser->letters);

        if (i == MAX_OPTIONS)
            abort(); /* a table of this program is longer than MAX_OPTIONS */
        parser->option[i] = option;
        parser->fields[i] = fields;
        parser->longs[i] = (struct option){
            .name = option->name, .has_arg = takes_value, .val = FIRST_CODE + (int)i};
        if (option->letter) {
            parser->letters[used] = option->letter;
            if (takes_value)
                parser->letters[used + 1] = ':';
        }
        parser->count++;
    }
}

/* The index of the option of that name; parser->count: there is no such option. */
static size_t find_option(const struct parser *parser, const char *name)
{
    size_t i = 0;

    while (i < parser->count && strcmp(parser->option[i]->name, name) != 0)
        i++;
    return i;
}

static void add_synonyms(struct parser *parser)
{
    size_t used = strlen(parser->letters), longs = parser->count;

    for (size_t s = 0; s < sizeof(synonyms) / sizeof(synonyms[0]); s++) {
        const size_t i = find_option(parser, synonyms[s].name);

        if (i == parser->count || find_option(parser, synonyms[s].other) < parser->count ||
            strchr(parser->letters, synonyms[s].letter))
            continue;
        parser->longs[longs++] =
            (struct option){.name = synonyms[s].other, .has_arg = 1, .val = FIRST_CODE + (int)i};
        parser->letters[used++] = synonyms[s].letter;
        parser->letters[used++] = ':';
    }
}

static size_t option_index(const struct parser *parser, int code)
{
    if (code >= FIRST_CODE)
        return (size_t)(code - FIRST_CODE);
    for (size_t i = 0; i < parser->count; i++)
        if (parser->option[i]->letter == code)
            return i;
    for (size_t s = 0; s < sizeof(synonyms) / sizeof(synonyms[0]); s++)
        if (synonyms[s].letter == code)
            return find_option(parser, synonyms[s].name);
    return parser->count;
}

/* Sets the sentence for a beginning that several options share; false: at most one option begins
 * so. */
static bool explain_beginning(const struct parser *parser, const char *name, size_t length,
                              struct gt_err *err)
{
    struct gt_strbuf names = GT_STRBUF_INIT;
    int count = 0;

    for (size_t i = 0; i < parser->count; i++)
        if (strncmp(parser->option[i]->name, name, length) == 0)
            gt_strbuf_addf(&names, "%s--%s", count++ ? " or " : "", parser->option[i]->name);
    if (count > 1 && names.text)
        gt_err_set(err, GT_ESYNTAX, "option \"--%.*s\" may be %s", (int)length, name, names.text);
    gt_strbuf_release(&names);
    return count > 1;
}

/* Sets the sentence for a word of other programs; false: the word is no such word, or this command
 * has nothing similar. */
static bool explain_habit(const struct parser *parser, const char *name, size_t length,
                          struct gt_err *err)
{
    for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++)
        if (strlen(habits[i].word) == length && !strncasecmp(habits[i].word, name, length) &&
            find_option(parser, habits[i].word) == parser->count &&
            find_option(parser, habits[i].option) < parser->count &&
            (strncmp(habits[i].advice, "--arch", 6) != 0 ||
             find_option(parser, "arch") < parser->count)) {
            gt_err_set(err, GT_ESYNTAX, "unknown option \"--%.*s\"; type %s", (int)length, name,
                       habits[i].advice);
            return true;
        }
    return false;
}

/* Refuses a word of other programs that would pass for the beginning of an option: --m for
 * --missing. */
static int refuse_habits(const struct parser *parser, int argc, char **argv, struct gt_err *err)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0 &&
            explain_habit(parser, argv[i] + 2, strcspn(argv[i] + 2, "="), err))
            return GT_ESYNTAX;
    return GT_OK;
}

/* Whether the word is an option whose value is the next word. */
static bool takes_next(const struct parser *parser, const char *word)
{
    const char *end = word + strlen(word) - 1, *letter = strchr(parser->letters, *end);
    const size_t i = strncmp(word, "--", 2) == 0 ? find_option(parser, word + 2) : parser->count;

    if (strncmp(word, "--", 2) == 0)
        return i < parser->count && parser->option[i]->value;
    return word[1] && !word[2] && letter && letter[1] == ':';
}

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

/* Refuses an option behind the first word of a program without "--": the option may be meant for
 * the program. */
static int refuse_programs(const struct gt_cli *cli, const struct parser *parser, int argc,
                           char **argv, struct gt_err *err)
{
    const char *usage = cli->usage ? cli->usage : "", *program = NULL;

    if (!strstr(usage, "-- COMMAND") || has_word(argc, argv, "--merge") ||
        (strstr(usage, "--program") && !has_word(argc, argv, "--program")))
        return GT_OK;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const bool option = argv[i][0] == '-' && argv[i][1];

        if (!option && !program)
            program = argv[i];
        else if (option && program)
            return gt_err_set(err, GT_ESYNTAX,
                              "\"%s\" stands behind \"%s\": put -- in front of the command, "
                              "-- %s %s, so that its options are its own",
                              argv[i], program, program, argv[i]);
        else if (option && takes_next(parser, argv[i]))
            i++;
    }
    return GT_OK;
}

/* Sets the sentence for an option that getopt does not know or found incomplete. */
static int explain(const struct parser *parser, int answer, const char *word, struct gt_err *err)
{
    const char *known[MAX_OPTIONS];
    const char *name = word + strspn(word, "-");
    size_t length = strcspn(name, "=");
    const char *near;

    if (answer == ':')
        return gt_err_set(err, GT_ESYNTAX, "option \"%s\" needs a value", word);
    if (optopt >= FIRST_CODE)
        return gt_err_set(err, GT_ESYNTAX, "option \"--%s\" takes no value: \"%s\"",
                          parser->option[optopt - FIRST_CODE]->name, word);
    if (*name >= '0' && *name <= '9')
        return gt_err_set(err, GT_ESYNTAX,
                          "\"%s\" begins with a minus: it is neither an option nor a "
                          "problem",
                          word);
    if (strncmp(word, "--", 2) != 0)
        return gt_err_set(err, GT_ESYNTAX, "unknown option \"-%c\"; see --help", optopt);
    if (length && explain_beginning(parser, name, length, err))
        return GT_ESYNTAX;
    for (size_t i = 0; i < parser->count; i++)
        known[i] = parser->option[i]->name;
    near = gt_near(name, length, known, parser->count);
    if (near)
        return gt_err_set(err, GT_ESYNTAX, "unknown option \"--%.*s\"; did you mean \"--%s\"?",
                          (int)length, name, near);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
        if (strlen(elsewhere[i].word) == length && !strncmp(elsewhere[i].word, name, length))
            return gt_err_set(err, GT_ESYNTAX, "unknown option \"--%.*s\": %s", (int)length, name,
                              elsewhere[i].advice);
    return gt_err_set(err, GT_ESYNTAX, "unknown option \"--%.*s\"; see --help", (int)length, name);
}

/* Whether value is one of "a|b|c", in capitals or not; if so, value is rewritten as the list spells
 * it. */
static bool take_choice(const char *choices, char *value)
{
    size_t length = strlen(value);

    for (const char *at = choices; length && *at;) {
        size_t word = strcspn(at, "|");

        if (word == length && strncasecmp(at, value, length) == 0) {
            if (strncmp(at, value, length) != 0)
                memcpy(value, at, length);
            return true;
        }
        at += word + (at[word] == '|');
    }
    return false;
}

/* A number in [least, most], nothing before or after it. */
static int parse_real(const char *text, const struct gt_option *option, double *value,
                      struct gt_err *err)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !(number >= option->least && number <= option->most))
        return gt_err_set(err, GT_ESYNTAX, "\"%s\" is not a number from %.9g to %.9g", text,
                          option->least, option->most);
    *value = number;
    return GT_OK;
}

/* A whole number in [min, max], nothing before or after it. */
static int parse_integer(const char *text, const struct gt_option *option, int64_t *value,
                         struct gt_err *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < option->min || number > option->max)
        return gt_err_set(err, GT_ESYNTAX, "\"%s\" is not a whole number from %lld to %lld", text,
                          (long long)option->min, (long long)option->max);
    *value = number;
    return GT_OK;
}

static int set_field(const struct gt_option *option, void *fields, char *value, struct gt_err *err)
{
    void *field = (char *)fields + option->offset;
    struct gt_texts *texts = field;
    int rc = gt_passwords_refuse(value, err);

    if (rc)
        return rc;
    if (value && !*value)
        return gt_err_set(err, GT_ESYNTAX, "option \"--%s\" needs a value, not an empty one",
                          option->name);
    if (option->choices && !take_choice(option->choices, value))
        return gt_err_set(err, GT_ESYNTAX, "--%s: \"%s\" is none of %s", option->name, value,
                          option->choices);
    switch (option->type) {
    case GT_OPTION_FLAG:
        *(bool *)field = true;
        break;
    case GT_OPTION_TEXT:
        *(const char **)field = value;
        break;
    case GT_OPTION_ARCH:
        *(const char **)field = value;
        return gt_gpu_arch(&(const char *){value}, err);
    case GT_OPTION_TEXTS:
        if (texts->count == GT_MAX_TEXTS)
            return gt_err_set(err, GT_ERANGE, "--%s: given more than %d times", option->name,
                              GT_MAX_TEXTS);
        texts->text[texts->count++] = value;
        break;
    case GT_OPTION_INTEGER:
        rc = parse_integer(value, option, field, err);
        break;
    case GT_OPTION_REAL:
        rc = parse_real(value, option, field, err);
        break;
    }
    return rc ? gt_err_prefix(err, rc, "--%s", option->name) : GT_OK;
}

static bool has(const struct parser *parser, const char *name)
{
    return name && parser->given[find_option(parser, name)];
}

/* Refuses the first option that was given without its partner. */
static int check_pairs(const struct parser *parser, const struct gt_option_pair *pair,
                       struct gt_err *err)
{
    for (; pair && pair->option; pair++)
        if (has(parser, pair->option) && !has(parser, pair->partner) && !has(parser, pair->other))
            return gt_err_set(err, GT_ESYNTAX, "--%s means something only with --%s%s%s",
                              pair->option, pair->partner, pair->other ? " or --" : "",
                              pair->other ? pair->other : "");
    return GT_OK;
}

static bool is_given(const struct gt_option *option, const void *fields)
{
    const void *field = (const char *)fields + option->offset;

    switch (option->type) {
    case GT_OPTION_FLAG:
        return *(const bool *)field;
    case GT_OPTION_TEXT:
    case GT_OPTION_ARCH:
        return *(const char *const *)field != NULL;
    case GT_OPTION_TEXTS:
        return ((const struct gt_texts *)field)->count > 0;
    case GT_OPTION_INTEGER:
        return *(const int64_t *)field != 0;
    case GT_OPTION_REAL:
        return *(const double *)field < 0 || *(const double *)field > 0;
    }
    return false;
}

const char *gt_options_given(const struct gt_option *table, const void *fields)
{
    for (; table->name; table++)
        if (is_given(table, fields))
            return table->name;
    return NULL;
}

/* Whether the option may be given only once, because one of two values would be ignored. */
static bool is_single(const struct gt_option *option)
{
    return option->type != GT_OPTION_FLAG && option->type != GT_OPTION_TEXTS;
}

int gt_options_parse(struct gt_cli *cli, const struct gt_option_group *group, void *fields,
                     int *argc, char **argv, struct gt_err *err)
{
    struct parser parser = {.letters = ":"};
    int code, rc, at = 1;

    for (const struct gt_option_group *at = group; at->table; at++)
        add_table(&parser, at->table, (char *)fields + at->offset);
    add_table(&parser, gt_common_options, cli);
    add_synonyms(&parser);
    rc = refuse_programs(cli, &parser, *argc, argv, err);
    GT_STEP(rc, refuse_habits(&parser, *argc, argv, err));
    if (rc)
        return rc;
    optind = 0; /* makes glibc's getopt start afresh */
    opterr = 0;
    while ((code = getopt_long(*argc, argv, parser.letters, parser.longs, NULL)) != -1) {
        size_t i = option_index(&parser, code);

        if (code == '?' || code == ':')
            return explain(&parser, code, argv[optind > at ? optind - 1 : at], err);
        if (parser.given[i] && is_single(parser.option[i]))
            return gt_err_set(err, GT_ESYNTAX, "option \"--%s\" is given twice",
                              parser.option[i]->name);
        parser.given[i] = true;
        rc = set_field(parser.option[i], parser.fields[i], optarg, err);
        if (rc)
            return rc;
        at = optind;
    }
    for (; group->table && !rc && !cli->help; group++)
        rc = check_pairs(&parser, group->pair, err);
    for (int i = optind; i < *argc; i++)
        argv[i - optind] = argv[i];
    *argc -= optind;
    return rc;
}

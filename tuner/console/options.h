/* options.h - the command line: tables of options, from which parsing, --help, manual pages and
 * completions all come.
 *
 * Each sub-command is one file cmd_<name>.c with one struct gt_command; commands.c lists them. */
#ifndef GT_OPTIONS_H
#define GT_OPTIONS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gemmtune.h"

#define GT_MAX_TEXTS 256 /* values of one repeatable option, at most */

struct gt_texts {
    const char *text[GT_MAX_TEXTS];
    size_t count;
};

enum gt_option_type {
    GT_OPTION_FLAG,    /* bool */
    GT_OPTION_TEXT,    /* const char * */
    GT_OPTION_ARCH,    /* const char *, for gt_gpu_parse */
    GT_OPTION_TEXTS,   /* struct gt_texts: may be repeated */
    GT_OPTION_INTEGER, /* int64_t within [min, max] */
    GT_OPTION_REAL,    /* double within [min, max] */
};

struct gt_option {
    const char *name; /* "shape"; NULL ends a table */
    char letter;      /* the short form; 0: none */
    enum gt_option_type type;
    size_t offset; /* of the option's field in the struct that is filled */
    /* The value's name in the help; NULL for flags.  FILE, DIR, ARCH, KERNEL, KERNELS and STRATEGY
     * also say what a shell completes. */
    const char *value;
    const char *doc;     /* for the help: the option's effect and default */
    const char *choices; /* "cold|warm": nothing else is accepted; NULL: no such list */
    int64_t min, max;    /* bounds of a whole number */
    double least, most;  /* bounds of a real number */
};

/* The rows of a table that fills a `struct tag`; the members are those of struct gt_option. */
#define GT_OPTION_ROW(type, tag, field, name, letter, value, doc, choices, min, max)         \
    {                                                                                        \
        name, letter, type, offsetof(struct tag, field), value, doc, choices, min, max, 0, 0 \
    }
#define GT_FLAG(tag, field, name, letter, doc) \
    GT_OPTION_ROW(GT_OPTION_FLAG, tag, field, name, letter, NULL, doc, NULL, 0, 0)
#define GT_TEXT(tag, field, name, letter, value, doc) \
    GT_OPTION_ROW(GT_OPTION_TEXT, tag, field, name, letter, value, doc, NULL, 0, 0)
#define GT_ARCH(tag, field, doc) \
    GT_OPTION_ROW(GT_OPTION_ARCH, tag, field, "arch", 'a', "ARCH", doc, NULL, 0, 0)
#define GT_TEXTS(tag, field, name, letter, value, doc) \
    GT_OPTION_ROW(GT_OPTION_TEXTS, tag, field, name, letter, value, doc, NULL, 0, 0)
#define GT_CHOICE(tag, field, name, letter, value, choices, doc) \
    GT_OPTION_ROW(GT_OPTION_TEXT, tag, field, name, letter, value, doc, choices, 0, 0)
#define GT_INTEGER(tag, field, name, letter, value, min, max, doc) \
    GT_OPTION_ROW(GT_OPTION_INTEGER, tag, field, name, letter, value, doc, NULL, min, max)
#define GT_REAL(tag, field, name, letter, value, least, most, doc)                                \
    {                                                                                             \
        name, letter, GT_OPTION_REAL, offsetof(struct tag, field), value, doc, NULL, 0, 0, least, \
            most                                                                                  \
    }
/* The rows of every command that takes kernels of the user's own. */
#define GT_KERNEL_DIRS(tag, doc)                              \
    GT_TEXT(tag, kernels_dir, "kernels-dir", 0, "DIR", doc),  \
        GT_TEXT(tag, include_dirs, "include-dir", 'I', "DIR", \
                "where templates of --kernels-dir also find headers: DIR[:DIR...]")
#define GT_OPTIONS_END \
    {                  \
        .name = NULL   \
    }

#define GT_WORDS_OF_A_PROGRAM (1 << 20)
#define GT_MAX_GROUPS         5 /* tables of one command's options, at most */

/* An option that means something only with another option, or with one of two. */
struct gt_option_pair {
    const char *option, *partner, *other; /* option NULL ends a list; other NULL: there is one */
};

/* A table, and the offset of the struct that it fills within the struct of the command. */
struct gt_option_group {
    const struct gt_option *table; /* NULL ends a list of groups */
    size_t offset;
    const struct gt_option_pair *pair; /* options of the table that need others; NULL: none */
};

/* The state that every sub-command gets. */
struct gt_cli {
    /* options every sub-command has */
    bool help, version, json, quiet, verbose;
    const char *color; /* "auto", "always", "never" */
    /* set by main */
    FILE *out;                            /* data */
    FILE *log;                            /* progress and remarks */
    bool colored;                         /* use escape sequences on out */
    bool raw;                             /* out is for programs: its lines are never broken */
    char *data_dir;                       /* holds templates/ and configs/ */
    char *database;                       /* the default database, once asked for (cmd_session.h) */
    const char *words;                    /* the command as typed, for the database */
    const char *usage;                    /* the running command's, behind "tune " */
    char **argument;                      /* words that are no options; NULL ends the list */
    int arguments;                        /* how many words, within the command's bounds */
    const volatile sig_atomic_t *signals; /* SIGINT and SIGTERM so far */
};

/* What a command's `run` returns beyond GT_OK and the error codes. */
enum gt_exit_result {
    GT_EXIT_NOTHING = 4, /* finished, but there is nothing: no valid candidate, no pair... */
    GT_EXIT_LOST = 8,    /* a stored winner is not the fastest any more, or something is slower */
};

struct gt_command {
    const char *name;  /* "show"; "" for the sweep, which needs no word */
    const char *doc;   /* one line for the list of sub-commands */
    const char *usage; /* "show KERNEL [POINT] --problem P" */
    const char *about; /* paragraphs and examples for its --help */
    /* What a shell completes for a word that is no option: as gt_option.value, or "a|b|c"; NULL:
     * nothing. */
    const char *argument;
    struct gt_option_group group[GT_MAX_GROUPS + 1];
    size_t size;            /* of the struct that the options fill, which is zeroed before */
    int min_args, max_args; /* GT_WORDS_OF_A_PROGRAM: the words of a program to start */
    /* SIGINT and SIGTERM are counted in cli->signals instead of ending the program. */
    bool finishes;
    bool needs_no_data; /* runs without a data folder */
    bool raw;           /* its output is for programs */
    /* GT_OK, an error code with err filled in, or a positive exit code. */
    int (*run)(struct gt_cli *cli, const void *options, struct gt_err *err);
};

/* The options that every command has; they fill a struct gt_cli. */
extern const struct gt_option gt_common_options[];

/* Fills the fields of gt_common_options in `cli` and the fields of the groups in `fields` from argv
 * (argv[0] is skipped), and moves the words that are no options to argv[0..*argc).  GT_ESYNTAX with
 * a sentence that names the option, the value and the allowed values, or a similar name. */
int gt_options_parse(struct gt_cli *cli, const struct gt_option_group *group, void *fields,
                     int *argc, char **argv, struct gt_err *err);

/* The name of the first option of the table whose member of `fields`, zeroed before, was filled;
 * NULL: no option of the table was given.  Only for options whose value is never 0. */
const char *gt_options_given(const struct gt_option *table, const void *fields);

#endif

/* main.c - the program: finds the sub-command, parses its options, runs it, turns what it answers
 * into one sentence on stderr and an exit code. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "base/near.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "workers/process.h"

static const struct gt_command *const commands[] = {
    &gt_command_tune,   &gt_command_show,   &gt_command_ladder, &gt_command_bench,
    &gt_command_lookup, &gt_command_export, &gt_command_merge,  &gt_command_recheck,
    &gt_command_list,   &gt_command_doctor,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct gt_option common_options[] = {
    {"json", 0, GT_OPTION_FLAG, offsetof(struct gt_cli, json), NULL,
     "print data as JSON instead of as a table", NULL, 0, 0},
    {"quiet", 'q', GT_OPTION_FLAG, offsetof(struct gt_cli, quiet), NULL,
     "no progress and no remarks on standard error, errors only", NULL, 0, 0},
    {"verbose", 'v', GT_OPTION_FLAG, offsetof(struct gt_cli, verbose), NULL,
     "say more: where files were found, the compiler's words", NULL, 0, 0},
    {"color", 0, GT_OPTION_TEXT, offsetof(struct gt_cli, color), "WHEN",
     "auto (default: on a terminal, unless NO_COLOR is set), always or never", "auto|always|never",
     0, 0},
    {"help", 'h', GT_OPTION_FLAG, offsetof(struct gt_cli, help), NULL, "this text", NULL, 0, 0},
    {"version", 0, GT_OPTION_FLAG, offsetof(struct gt_cli, version), NULL,
     "print the version and end", NULL, 0, 0},
    GT_OPTIONS_END,
};

static const char exit_codes[] =
    "Exit codes:\n"
    "  0  done\n"
    "  1  internal or input/output error\n"
    "  2  usage: unknown arch, kernel, parameter or value, malformed shape...\n"
    "  3  malformed configuration, or a template that does not compile\n"
    "  4  finished, but no candidate was valid\n"
    "  5  database\n"
    "  6  GPU, driver or a library of the CUDA toolkit missing or wrong\n"
    "  7  the GPU stopped answering\n"
    "  8  recheck: a stored winner is not the fastest any more\n"
    "  130  interrupted; the same command resumes\n";

/* Exit code of each error code. */
static int exit_code(int rc)
{
    switch (rc) {
    case GT_OK:
        return 0;
    case GT_ESYNTAX:
    case GT_ERANGE:
    case GT_ENOTFOUND:
        return 2;
    case GT_ECONFIG:
    case GT_ENVRTC:
        return 3;
    case GT_EDB:
    case GT_ESTALE:
        return 5;
    case GT_ECUDA:
    case GT_ENOGPU:
    case GT_ENOLIB:
    case GT_ETOOBIG:
    case GT_EBUSY:
        return 6;
    case GT_ELOST:
        return 7;
    case GT_EINTERRUPTED:
        return 130;
    default:
        return rc > 0 ? rc : 1;
    }
}

/* Signals cannot reach an object of main's: the one variable of the program outside a function. */
static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = count_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static void print_help(FILE *out, const struct gt_command *command)
{
    bool sweep = !*command->name;

    fprintf(out, "Usage: tune %s\n", command->usage);
    if (sweep)
        fprintf(out, "       tune COMMAND [OPTION]...\n");
    fprintf(out, "\n%s\n", command->about);
    if (sweep) {
        fprintf(out, "Commands (tune COMMAND --help says more):\n");
        for (size_t i = 0; i < COMMANDS; i++)
            if (*commands[i]->name)
                fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->doc);
        fputc('\n', out);
    }
    if (command->option && command->option->name) {
        fprintf(out, "Options:\n");
        gt_options_help(out, command->option);
        fputc('\n', out);
    }
    fprintf(out, "Options of every command:\n");
    gt_options_help(out, common_options);
    if (sweep)
        fprintf(out, "\n%s", exit_codes);
}

/* The command that argv[1] names; without a word, the sweep.  *words: how many words named it. */
static int find_command(int argc, char **argv, const struct gt_command **command, int *words,
                        struct gt_err *err)
{
    const char *names[COMMANDS];
    const char *near;

    *command = commands[0];
    *words = 0;
    if (argc < 2 || argv[1][0] == '-')
        return GT_OK;
    for (size_t i = 0; i < COMMANDS; i++) {
        names[i] = commands[i]->name;
        if (*names[i] && strcmp(argv[1], names[i]) == 0) {
            *command = commands[i];
            *words = 1;
            return GT_OK;
        }
    }
    near = gt_near(argv[1], strlen(argv[1]), names + 1, COMMANDS - 1);
    if (near)
        return gt_err_set(err, GT_ESYNTAX, "unknown command '%s'; did you mean '%s'?", argv[1],
                          near);
    if (*argv[1] >= '0' && *argv[1] <= '9')
        return gt_err_set(err, GT_ESYNTAX, "unknown command '%s'; a shape is given as --shape %s",
                          argv[1], argv[1]);
    return gt_err_set(err, GT_ESYNTAX, "unknown command '%s'; tune --help lists them", argv[1]);
}

static bool wants_color(const struct gt_cli *cli)
{
    const char *none = getenv("NO_COLOR");

    if (cli->color && strcmp(cli->color, "auto") != 0)
        return strcmp(cli->color, "always") == 0;
    return isatty(STDOUT_FILENO) && !(none && *none);
}

/* The words of the command line, joined; NULL without memory. */
static char *join_words(int argc, char **argv)
{
    size_t size = 1;
    char *text, *at;

    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    text = malloc(size);
    if (!text)
        return NULL;
    at = text;
    for (int i = 0; i < argc; i++)
        at += snprintf(at, size - (size_t)(at - text), "%s%s", i ? " " : "", argv[i]);
    return text;
}

static int run_command(struct gt_cli *cli, const struct gt_command *command, int argc, char **argv,
                       struct gt_err *err)
{
    void *options = calloc(1, command->size ? command->size : 1);
    int rc = options ? GT_OK : gt_err_nomem(err);

    if (!rc)
        rc = gt_options_parse(common_options, cli, command->option, options, &argc, argv, err);
    if (rc)
        goto out;
    if (cli->version) {
        fprintf(cli->out, "tune (gemmtune) %d.%d.%d\n", GT_VERSION_MAJOR, GT_VERSION_MINOR,
                GT_VERSION_PATCH);
        goto out;
    }
    if (cli->help) {
        print_help(cli->out, command);
        goto out;
    }
    if (argc < command->min_args || argc > command->max_args) {
        if (argc < command->min_args)
            rc = gt_err_set(err, GT_ESYNTAX, "a word is missing; usage: tune %s", command->usage);
        else
            rc = gt_err_set(err, GT_ESYNTAX, "'%s' is one word too many; usage: tune %s",
                            argv[command->max_args], command->usage);
        goto out;
    }
    cli->colored = wants_color(cli);
    rc = gt_data_dir(&cli->data_dir, err);
    if (rc)
        goto out;
    if (command->finishes)
        catch_signals();
    rc = command->run(cli, options, argc, argv, err);
out:
    free(options);
    return rc;
}

/* The hidden commands: `tune` starts itself as its workers. */
static bool run_worker(int argc, char **argv, int *code)
{
    if (argc > 1 && strcmp(argv[1], GT_ROLE_COMPILE) == 0)
        *code = gt_worker_compile_main(GT_WORKER_FD);
    else if (argc > 1 && strcmp(argv[1], GT_ROLE_GPU) == 0)
        *code = gt_worker_gpu_main(GT_WORKER_FD);
    else
        return false;
    return true;
}

/* One line without control characters, whatever words of a library or a file the sentence quotes.
 */
static void print_error(const struct gt_err *err)
{
    fputs("tune: ", stderr);
    for (const char *c = err->msg; *c; c++)
        fputc(*c == '\n' ? ' ' : (unsigned char)*c < ' ' || *c == 127 ? '?' : *c, stderr);
    fputc('\n', stderr);
}

int main(int argc, char **argv)
{
    struct gt_cli cli = {.out = stdout, .log = stderr, .signals = &signals_seen};
    const struct gt_command *command = NULL;
    struct gt_err err = {0};
    char *joined;
    int rc, words = 0, code;
    bool quiet = false;

    if (run_worker(argc, argv, &code))
        return code;
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is a write error, not an end mid-sweep */
    joined = join_words(argc, argv);
    cli.words = joined ? joined : "tune";
    rc = find_command(argc, argv, &command, &words, &err);
    if (!rc)
        rc = run_command(&cli, command, argc - words, argv + words, &err);
    if ((fflush(stdout) || ferror(stdout)) && !rc) {
        quiet = errno == EPIPE; /* `tune ... | head` has seen enough */
        rc = gt_err_set(&err, GT_EIO, "cannot write standard output: %s", strerror(errno));
    }
    if ((rc < 0 && !quiet) || (rc > 0 && err.code == rc))
        print_error(&err);
    free(cli.data_dir);
    free(joined);
    return exit_code(rc);
}

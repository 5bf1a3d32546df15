/* main.c - the program: finds the sub-command, parses its options, runs it, and turns its answer
 * into one sentence on standard error and an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/help.h"
#include "console/options.h"
#include "console/passwords.h"
#include "console/terminal.h"
#include "workers/gpu_client.h"
#include "workers/process.h"

/* Signals cannot reach an object of main's: the one variable of the program outside a function. */
static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

/* Under nohup the end of the terminal is no reason to end. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = count_signal}, before;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

/* Gives a standard stream that was closed at the start a file that refuses to be used.  Else what
 * is opened next would get its number, and a worker's socket or a database what is printed.
 * Programs that are started find it closed, as this one did. */
static void hold_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* The command that argv[1] names; without a word or with a shape, the sweep.  *words: how many
 * words named it. */
static int find_command(int argc, char **argv, const struct gt_command **command, int *words,
                        struct gt_err *err)
{
    bool named = argc > 1 && argv[1][0] != '-';

    bool shape = named && *argv[1] >= '0' && *argv[1] <= '9';

    *words = named && !shape;
    *command = gt_commands[0];
    if (!*words)
        return GT_OK;
    *command = gt_command_find(argv[1], err);
    return *command ? GT_OK : GT_ESYNTAX;
}

static bool wants_color(const struct gt_cli *cli)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

    if (cli->color && strcmp(cli->color, "auto") != 0)
        return strcmp(cli->color, "always") == 0;
    return isatty(STDOUT_FILENO) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

/* The words of the command line without passwords, joined; NULL without memory. */
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
    for (int i = 0; i < argc; i++) {
        char *word = at + (i > 0);

        snprintf(at, size - (size_t)(at - text), "%s%s", i ? " " : "", argv[i]);
        gt_passwords_mask(word);
        at = word + strlen(word);
    }
    return text;
}

/* Refuses sizes in words of their own, "tune 64 64 64", with the one word that they make. */
static int refuse_sizes(int argc, char **argv, struct gt_err *err)
{
    for (int i = 0; i + 2 < argc; i++) {
        bool sizes = true;

        for (int word = i; word < i + 3; word++)
            sizes = sizes && *argv[word] && !argv[word][strspn(argv[word], "0123456789")];
        if (sizes)
            return gt_err_set(err, GT_ESYNTAX, "the sizes are one word: type %sx%sx%s", argv[i],
                              argv[i + 1], argv[i + 2]);
    }
    return GT_OK;
}

/* "NUMBER DATE" of the commit that was built, which the Makefile knows; "": of none. */
#ifndef GT_COMMIT
#define GT_COMMIT ""
#endif

static void print_version(const struct gt_cli *cli)
{
    static const char commit[] = GT_COMMIT;
    const int number = (int)strcspn(commit, " ");
    const char *date = commit + number + (commit[number] == ' ');

    fprintf(cli->out,
            cli->json
                ? "{\"program\": \"gemmtune\", \"version\": \"%d.%d.%d\", \"commit\": \"%.*s\", "
                  "\"date\": \"%s\"}\n"
            : *commit ? "tune (gemmtune) %d.%d.%d, commit %.*s of %s\n"
                      : "tune (gemmtune) %d.%d.%d, of no known commit\n",
            GT_VERSION_MAJOR, GT_VERSION_MINOR, GT_VERSION_PATCH, number, commit, date);
}

static int run_command(struct gt_cli *cli, const struct gt_command *command, int argc, char **argv,
                       struct gt_err *err)
{
    void *options = calloc(1, command->size ? command->size : 1);
    int rc = options ? GT_OK : gt_err_nomem(err);

    cli->usage = command->usage;
    GT_STEP(rc, gt_options_parse(cli, command->group, options, &argc, argv, err));
    if (rc)
        goto out;
    if (cli->version) {
        print_version(cli);
        goto out;
    }
    if (cli->help) {
        gt_help_print(cli->out, command);
        goto out;
    }
    rc = refuse_sizes(argc, argv, err);
    if (rc)
        goto out;
    for (int i = 0; i < argc && !rc && command->max_args < GT_WORDS_OF_A_PROGRAM; i++)
        rc = gt_passwords_refuse(argv[i], err);
    if (rc)
        goto out;
    if (argc < command->min_args || argc > command->max_args) {
        if (argc < command->min_args)
            rc = gt_err_set(err, GT_ESYNTAX, "missing argument; usage: tune %s", command->usage);
        else
            rc = gt_err_set(err, GT_ESYNTAX, "unexpected argument \"%s\"; usage: tune %s",
                            argv[command->max_args], command->usage);
        goto out;
    }
    cli->colored = wants_color(cli);
    cli->raw = cli->json || command->raw;
    if (!command->needs_no_data)
        rc = gt_data_dir(&cli->data_dir, err);
    if (rc)
        goto out;
    if (command->finishes)
        catch_signals();
    argv[argc] = NULL; /* what the options left is fewer than there were */
    cli->argument = argv;
    cli->arguments = argc;
    rc = command->run(cli, options, err);
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

static void go_on(int signo)
{
    (void)signo;
}

/* A write that fails, because its reader went away or the file reached a limit (`ulimit -f`), is an
 * error with a sentence and no end mid-sweep.  A handler, other than SIG_IGN, is not handed on to
 * the programs that `tune serve` and `tune capture` become: `yes | head -1` in them ends as ever.
 */
static void survive(int signo)
{
    if (signal(signo, go_on) == SIG_IGN)
        signal(signo, SIG_IGN);
}

/* Whether the words ask for JSON, which has to be known where they cannot be parsed, too.  What
 * stands behind "--" is another program's. */
static bool asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

/* One line without control characters, whatever words of a library or a file the sentence quotes.
 * Standard output has whole documents only, so that an error is the last line of standard error. */
static void print_error(FILE *to, const struct gt_err *err, int code, bool json)
{
    char text[sizeof(err->msg)];

    gt_copy_clean(text, sizeof(text), err->msg);
    gt_passwords_mask(text);
    gt_driver_answer(text, sizeof(text));
    if (!json || !gt_cmd_json_error(stderr, text, code))
        fprintf(to, "tune: %s\n", text);
}

/* Whether whoever reads standard output has gone away: `tune ... | head` has seen enough. */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

int main(int argc, char **argv)
{
    FILE *terminal = NULL, *log = NULL;
    struct gt_cli cli = {.out = stdout, .log = stderr, .signals = &signals_seen};
    const struct gt_command *command = NULL;
    struct gt_err err = {0};
    char *joined;
    int rc, words = 0, code;
    bool quiet = false, whole = false, json = asks_for_json(argc, argv);

    hold_standard_streams();
    if (run_worker(argc, argv, &code))
        return code;
    survive(SIGPIPE);
    survive(SIGXFSZ);
    if (isatty(STDOUT_FILENO) && (terminal = gt_terminal_open(stdout, &cli.raw)))
        cli.out = terminal;
    if (isatty(STDERR_FILENO) && (log = gt_terminal_open(stderr, &whole)))
        cli.log = log;
    gt_cmd_json_watch();
    joined = join_words(argc, argv);
    cli.words = joined ? joined : "tune";
    rc = find_command(argc, argv, &command, &words, &err);
    GT_STEP(rc, run_command(&cli, command, argc - words, argv + words, &err));
    if (terminal && fclose(terminal) && !rc)
        rc = gt_err_set(&err, GT_EIO, "cannot write the terminal: %s", strerror(errno));
    if (fflush(stdout) || ferror(stdout)) {
        quiet = (!rc || rc == GT_EIO) && reader_is_gone();
        rc =
            rc ? rc : gt_err_set(&err, GT_EIO, "cannot write standard output: %s", strerror(errno));
    }
    if ((rc < 0 && !quiet) || (rc > 0 && err.code == rc))
        print_error(cli.log, &err, gt_exit_code(rc), json || cli.json);
    if (log)
        fclose(log);
    free(cli.data_dir);
    free(cli.database);
    free(joined);
    return gt_exit_code(rc);
}

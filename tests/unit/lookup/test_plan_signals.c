/* test_plan_signals.c - signals that end a program which does not handle them: a look-up, a plan
 * and the opening of a database raise none where files may not grow or a pipe has no reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "db/store.h"
#include "stub_fixture.h"

struct world {
    char folder[64], cubins[96], pipe[96], db[96];
    struct gt_options options;
    struct gt_err err;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    if (!w || stub_folder(w->folder, "signals"))
        return 1;
    snprintf(w->cubins, sizeof(w->cubins), "%s/cubins", w->folder);
    snprintf(w->pipe, sizeof(w->pipe), "%s/pipe", w->folder);
    snprintf(w->db, sizeof(w->db), "%s/own.db", w->folder);
    w->options =
        (struct gt_options){GT_OPTIONS_INIT, .data_dir = ".", .user_db = "", .allow_nvrtc = 1};
    return mkfifo(w->pipe, 0600);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    const int rc = stub_folder_remove(w->folder);

    free(w);
    return rc;
}

/* Runs the work in a child that has no handlers and whose files may have so many bytes.  The
 * child's exit status, or 1000 and the signal that ended it. */
static int in_child(struct world *w, int (*work)(struct world *), rlim_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    const pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) ? 99 : work(w));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int plan(struct world *w)
{
    struct gt_problem problem;
    struct gt_plan *made;
    struct gt *gt;

    gt_problem_init(&problem, 64, 64, 64);
    if (gt_open(&gt, &w->options, &w->err))
        return 1;
    if (gt_plan(&made, gt, 0, &problem, &w->err))
        return 2;
    gt_plan_free(made);
    gt_close(gt);
    return 0;
}

static int files_in(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return count;
}

/* A cubin that cannot be kept is used all the same, and nothing of it stays. */
static void test_cubins(void **state)
{
    struct world *w = *state;

    w->options.cubin_dir = w->cubins;
    assert_int_equal(in_child(w, plan, 1000), 0);
    assert_int_equal(files_in(w->cubins), 0);
    assert_int_equal(in_child(w, plan, RLIM_INFINITY), 0);
    assert_int_equal(files_in(w->cubins), 1);
}

/* Asks for a problem that is then to be logged; the pipe's reader has gone. */
static int log_problem(struct world *w)
{
    const int reader = open(w->pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt *gt;

    w->options.log_path = w->pipe;
    gt_problem_init(&problem, 64, 64, 64);
    if (reader < 0 || gt_open(&gt, &w->options, &w->err))
        return 1;
    close(reader);
    if (gt_lookup(gt, 90, NULL, &problem, &answer, &w->err))
        return 2;
    gt_close(gt);
    return 0;
}

static void test_log(void **state)
{
    assert_int_equal(in_child(*state, log_problem, RLIM_INFINITY), 0);
}

/* A signal that was waiting before is the program's, and so is what it has blocked. */
static int log_beside_a_signal(struct world *w)
{
    sigset_t pipe, blocked, pending;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    raise(SIGPIPE);
    if (log_problem(w))
        return 1;
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    return !sigismember(&pending, SIGPIPE) || !sigismember(&blocked, SIGPIPE) ||
           sigismember(&blocked, SIGXFSZ);
}

static void test_signals_of_the_program(void **state)
{
    assert_int_equal(in_child(*state, log_beside_a_signal, RLIM_INFINITY), 0);
}

/* SQLite makes files beside a database that it reads.  Where it may not, the program gets a
 * sentence, or its tables, and keeps its signals. */
static int open_database(struct world *w)
{
    sigset_t blocked, pending;
    struct gt *gt;
    const int rc = gt_open(&gt, &w->options, &w->err);

    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (sigismember(&pending, SIGXFSZ) || sigismember(&blocked, SIGXFSZ))
        return 1;
    if (rc)
        return rc == GT_EDB && strstr(w->err.msg, w->db) ? 3 : 2;
    gt_close(gt);
    return 0;
}

static void test_database(void **state)
{
    struct world *w = *state;
    struct gt_store *store;

    if (gt_store_open(&store, w->db, GT_STORE_WRITE, &w->err))
        fail_msg("%s", w->err.msg);
    gt_store_close(store);
    w->options.user_db = w->db;
    assert_int_equal(in_child(w, open_database, RLIM_INFINITY), 0);
    assert_int_equal(in_child(w, open_database, 100), 3);
    assert_int_equal(in_child(w, open_database, RLIM_INFINITY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cubins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_signals_of_the_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_database, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("plan_signals", tests, NULL, NULL);
}

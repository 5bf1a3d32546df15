/* session.c - begins and ends a session; see session.h. */
#include "serve/session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve/decide.h"
#include "base/quiet.h"
#include "serve/real.h"
#include "serve/report.h"

#define STACK_BYTES \
    ((size_t)8 << 20)  /* the compiler needs much; the program's limit may be small */
#define END_SECONDS 10 /* for which the program's end waits for a kernel that is being compiled */

static _Atomic(struct gt_session *) current;
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool said[GT_SAID_COUNT];

static char began_in[PATH_MAX]; /* the process's first folder; "": not known */
static bool mute; /* the process began without standard error: what has its number is a file */

/* A program may change its folder before its first product, for which everything else waits. */
__attribute__((constructor)) static void note_beginning(void)
{
    mute = fcntl(STDERR_FILENO, F_GETFD) < 0;
    if (!getcwd(began_in, sizeof(began_in)) || *began_in != '/')
        *began_in = '\0';
}

void gt_say_once(enum gt_said kind, const char *format, ...)
{
    char line[1300] = "gemmtune: ";
    const size_t begin = strlen(line);
    size_t length;
    va_list args;

    if (mute || atomic_exchange(&said[kind], true))
        return;
    va_start(args, format);
    vsnprintf(line + begin, sizeof(line) - begin - 1, format, args);
    va_end(args);
    length = strlen(line);
    line[length++] = '\n';
    gt_write_quietly(STDERR_FILENO, line, length);
}

struct gt_session *gt_session_begun(void)
{
    return atomic_load_explicit(&current, memory_order_acquire);
}

void gt_session_wake(struct gt_session *session)
{
    sem_post(&session->work);
}

/* Forgets the session in a forked child, which has none of its threads and cannot use the parent's
 * GPU context.  What the session holds stays behind unused. */
static void after_fork(void)
{
    pthread_mutex_init(&beginning, NULL);
    gt_real_forked();
    atomic_store(&current, NULL);
    for (int i = 0; i < GT_SAID_COUNT; i++)
        atomic_store(&said[i], false);
}

static void on_signal(int number)
{
    struct gt_session *session = gt_session_begun();

    (void)number;
    if (!session)
        return;
    atomic_store(&session->report, true);
    sem_post(&session->work);
}

/* Takes the signal if a report was asked for and the program does not use the signal itself. */
static void take_signal(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

    if (sigaction(SIGUSR2, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
        !(before.sa_flags & SA_SIGINFO))
        sigaction(SIGUSR2, &action, NULL);
}

void gt_session_stop(void)
{
    struct gt_session *session = gt_session_begun();
    const struct timespec pause = {0, 1000000};

    if (!session)
        return;
    atomic_store(&session->stop, true);
    gt_session_wake(session);
    for (int i = 0; i < END_SECONDS * 1000 && atomic_load(&session->running); i++)
        nanosleep(&pause, NULL);
}

/* Runs before the destructors of libraries that were loaded earlier. */
static void at_exit(void)
{
    struct gt_session *session = gt_session_begun();

    gt_session_stop();
    if (session)
        gt_report_write(session);
}

static void register_handlers(void)
{
    pthread_atfork(NULL, NULL, after_fork);
    atexit(at_exit);
}

/* Starts the thread with signals blocked, because they are for the program's own threads. */
static void start_thread(struct gt_session *session)
{
    sigset_t all, before;
    pthread_attr_t attributes;

    if (pthread_attr_init(&attributes))
        return;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&session->running, true);
    if (pthread_create(&session->thread, &attributes, gt_decide_thread, session))
        atomic_store(&session->running, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static struct gt_session *begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct gt_session *session = calloc(1, sizeof(*session));
    struct gt_err err;

    if (!session || !gt_book_begin(&session->book) || sem_init(&session->work, 0, 0)) {
        free(session);
        return NULL;
    }
    session->usable = true;
    if (gt_policy_read(&session->policy, began_in, &err)) {
        gt_say_once(GT_SAID_POLICY, "%.1000s; every product is left to cuBLAS", err.msg);
        session->usable = false;
    }
    session->usable = gt_serve_driver_load(&session->driver) && session->usable;
    pthread_once(&once, register_handlers);
    if (*session->policy.report)
        take_signal();
    start_thread(session);
    return session;
}

struct gt_session *gt_session(void)
{
    struct gt_session *session = gt_session_begun();

    if (session)
        return session;
    pthread_mutex_lock(&beginning);
    session = gt_session_begun();
    if (!session) {
        session = begin();
        atomic_store_explicit(&current, session, memory_order_release);
    }
    pthread_mutex_unlock(&beginning);
    return session;
}

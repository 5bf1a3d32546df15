/* session.c - the session of a process, and its thread, which decides for each problem whether a
 * winner takes cuBLAS's place; see session.h.
 *
 * A winner is a row of this very problem that was measured on a device of this name and has won a
 * final, beside cuBLASLt, which took at least `margin` times as long.  So a served product is not
 * slower.  If the user allows it, the winner may be an algorithm of cuBLASLt that was `margin`
 * times as fast as the one that cuBLAS chooses. */
#include "serve/session.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "cuda/cublaslt.h"
#include "serve/check.h"

#define FLUSH_SECONDS 2                 /* between two writes of the captured problems */
#define STACK_BYTES   ((size_t)8 << 20) /* for the compiler; the program's limit may be less */
#define END_SECONDS   10 /* most, that the program's end waits for a kernel's compilation */

static _Atomic(struct gt_session *) current;
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
static char began_in[PATH_MAX]; /* the process's first folder; "": not known */

/* The folder is noted at once, because a program may change it before its first product, at which
 * the session begins. */
__attribute__((constructor)) static void note_folder(void)
{
    if (!getcwd(began_in, sizeof(began_in)) || *began_in != '/')
        *began_in = '\0';
}

struct gt_session *gt_session_begun(void)
{
    return atomic_load_explicit(&current, memory_order_acquire);
}

void gt_session_wake(struct gt_session *session)
{
    sem_post(&session->work);
}

/* Ends the thread, if there is one, and waits until it has ended. */
static void stop(void)
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

/* ---- devices ---- */

/* A context that calls came from. */
struct device {
    void *context;
    int ordinal, arch; /* ordinal -1: the context is no device's primary context */
    char name[256];
    struct gt_checker *checker; /* NULL: not made yet */
};

/* The state of the deciding thread. */
struct decider {
    struct gt_session *session;
    struct gt *gt, *compiling; /* opened without and with the compiler; NULL: not yet */
    struct gt_nvrtc *nvrtc;
    bool failed; /* the tables cannot be opened */
    struct device device[GT_CONTEXTS];
    int devices;
};

/* The primary context of a device; NULL: it has none now, and asking makes none. */
static void *primary_of(const struct gt_serve_driver *driver, int ordinal)
{
    void *primary = NULL;
    unsigned flags = 0;
    int active = 0;

    if (driver->PrimaryCtxGetState(ordinal, &flags, &active) || !active ||
        driver->PrimaryCtxRetain(&primary, ordinal))
        return NULL;
    driver->PrimaryCtxRelease(ordinal);
    return primary;
}

/* Asks the driver about a context. */
static void ask_device(const struct gt_serve_driver *driver, struct device *device)
{
    int ordinal = -1, major = 0, minor = 0;
    void *popped;

    device->ordinal = -1;
    if (driver->CtxPushCurrent(device->context))
        return;
    if (driver->CtxGetDevice(&ordinal))
        ordinal = -1;
    driver->CtxPopCurrent(&popped);
    if (ordinal < 0 || primary_of(driver, ordinal) != device->context ||
        driver->DeviceGetName(device->name, sizeof(device->name), ordinal) ||
        driver->DeviceGetAttribute(&major, 75 /* major compute capability */, ordinal) ||
        driver->DeviceGetAttribute(&minor, 76, ordinal))
        return;
    device->ordinal = ordinal;
    device->arch = 10 * major + minor;
}

static struct device *find_device(struct decider *decider, const void *context)
{
    struct gt_context *noted = decider->session->context;
    struct device *device = decider->device;

    for (int i = 0; i < decider->devices; i++, device++)
        if (device->context == context)
            return device;
    if (decider->devices == GT_CONTEXTS)
        return NULL;
    device->context = (void *)context;
    atomic_store(&noted[decider->devices].id,
                 gt_serve_context_id(&decider->session->driver, device->context));
    atomic_store(&noted[decider->devices].context, device->context);
    ask_device(&decider->session->driver, device);
    decider->devices++;
    return device;
}

/* ---- tables and plans ---- */

static int open_tables(const struct gt_policy *policy, struct gt **gt, bool compile,
                       struct gt_err *err)
{
    struct gt_options options = {GT_OPTIONS_INIT, .allow_nvrtc = compile,
                                 .allow_cublaslt = policy->cublaslt};
    char *cubins = NULL, *db = *policy->db ? gt_policy_path(policy, policy->db) : NULL;
    int rc;

    if (*policy->db && !db)
        return gt_err_nomem(err);
    gt_cache_dir(&cubins, NULL); /* a deployed file needs no cache */
    options.user_db = db;
    options.cubin_dir = cubins;
    rc = gt_open(gt, &options, err);
    free(cubins);
    free(db);
    return rc;
}

/* The compiler is opened first and the handler registered after it, so that at the end of the
 * program the handler runs before the compiler's destructors. */
static int open_nvrtc(struct decider *decider, struct gt_err *err)
{
    int rc;

    if (decider->nvrtc)
        return GT_OK;
    rc = gt_nvrtc_open(&decider->nvrtc, err);
    if (!rc)
        atexit(stop);
    return rc;
}

static int open_compiler(struct decider *decider, struct gt_err *err)
{
    int rc = decider->compiling ? GT_OK : open_nvrtc(decider, err);

    return rc || decider->compiling
               ? rc
               : open_tables(&decider->session->policy, &decider->compiling, true, err);
}

static int make_plan(struct decider *decider, struct gt_entry *entry, int ordinal,
                     struct gt_plan **plan, struct gt_err *err)
{
    struct gt_err compiler;
    int rc = gt_plan(plan, decider->gt, ordinal, &entry->problem, err);

    if (rc != GT_ENOTFOUND || !decider->session->policy.compile)
        return rc;
    rc = open_compiler(decider, &compiler);
    if (rc) {
        *err = compiler;
        return rc;
    }
    return gt_plan(plan, decider->compiling, ordinal, &entry->problem, err);
}

/* ---- decisions ---- */

static bool was_measured(const struct gt_answer *answer, const struct device *device)
{
    return answer->tier == GT_TIER_EXACT && !answer->predicted && answer->device &&
           strcmp(answer->device, device->name) == 0 && answer->us > 0;
}

/* Whether the program has loaded cuBLASLt of the major version that the text begins with. */
static bool has_cublaslt(const char *algorithm)
{
    char file[40];
    void *loaded;

    snprintf(file, sizeof(file), "libcublasLt.so.%.*s", (int)strspn(algorithm, "0123456789"),
             algorithm);
    loaded = strlen(file) < sizeof(file) - 1 ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (loaded)
        dlclose(loaded);
    return loaded != NULL;
}

/* The time of the algorithm that cuBLAS would choose, divided by the time of the answer's algorithm
 * of cuBLASLt; 0: the answer has no algorithm that may be served. */
static double vendor_gain(const struct gt_policy *policy, const struct gt_answer *answer,
                          const struct device *device)
{
    return policy->cublaslt && answer->cublaslt && was_measured(answer, device)
               ? gt_cublaslt_gain(answer->cublaslt)
               : 0;
}

/* Whether the answer's algorithm of cuBLASLt gains enough to be served. */
static bool has_vendor(const struct gt_policy *policy, const struct gt_answer *answer,
                       const struct device *device)
{
    const double gain = vendor_gain(policy, answer, device);

    return gain > 0 && gain >= policy->margin;
}

/* Why the winner is not certainly faster than cuBLAS; GT_SERVED: it is. */
static enum gt_reason find_doubt(const struct gt_policy *policy, const struct gt_answer *answer,
                                 const struct device *device)
{
    if (!was_measured(answer, device))
        return GT_PASS_UNTUNED;
    if (!answer->contested)
        return GT_PASS_UNCONFIRMED;
    if (!(answer->baseline_us >= policy->margin * answer->us))
        return answer->baseline_us > 0 ? GT_PASS_MARGIN : GT_PASS_UNCOMPARED;
    return GT_SERVED;
}

/* Whether the answer is served.  In any case the entry notes the doubt that the winner is faster
 * than cuBLAS. */
static enum gt_reason judge(const struct gt_policy *policy, const struct gt_answer *answer,
                            const struct device *device, struct gt_entry *entry)
{
    const bool varies_forbidden = !entry->key.kind[10];

    entry->doubt = GT_SERVED;
    if (answer->tier == GT_TIER_NONE)
        return GT_PASS_UNTUNED;
    if (has_vendor(policy, answer, device))
        return GT_SERVED;
    if (answer->varies && varies_forbidden)
        return GT_PASS_VARIES;
    entry->doubt = find_doubt(policy, answer, device);
    return policy->serve == GT_SERVE_ANY ? GT_SERVED : entry->doubt;
}

/* The device's checker, made when the first product is served there; NULL: nothing is to be
 * checked, or memory ran out. */
static struct gt_checker *find_checker(struct decider *decider, struct device *device)
{
    struct gt_err err = {.code = GT_OK};

    if (!decider->session->policy.check || device->checker)
        return device->checker;
    open_nvrtc(decider, &err);
    device->checker = gt_checker_new(&decider->session->driver, device->context, device->ordinal,
                                     device->arch, decider->nvrtc, &err);
    if (err.code)
        gt_say_once(decider->session, GT_SAID_ON_HOST,
                    "%.1000s; results are compared with cuBLAS's on the host, which takes a "
                    "hundred times as long",
                    err.msg);
    return device->checker;
}

static enum gt_reason load(struct decider *decider, struct gt_entry *entry, struct device *device)
{
    struct gt_plan *plan = NULL;
    enum gt_reason reason;
    struct gt_err err;
    const int rc = make_plan(decider, entry, device->ordinal, &plan, &err);

    if (rc == GT_ENOTFOUND && !decider->session->policy.compile)
        return GT_PASS_NO_CUBIN;
    if (rc) {
        gt_say_once(decider->session, GT_SAID_PLAN, "%.1000s; that product is left to cuBLAS",
                    err.msg);
        return GT_PASS_NOT_LOADED;
    }
    reason = judge(&decider->session->policy, gt_plan_answer(plan), device, entry);
    if (reason) {
        gt_plan_free(plan);
        return reason;
    }
    entry->workspace_bytes = gt_plan_answer(plan)->workspace_bytes;
    entry->vendor = gt_plan_answer(plan)->cublaslt != NULL;
    entry->in_f32 = gt_plan_answer(plan)->in_f32;
    entry->plan = plan;
    entry->checker = find_checker(decider, device);
    return GT_SERVED;
}

static enum gt_reason look_up(struct decider *decider, struct gt_entry *entry,
                              struct device *device)
{
    const struct gt_policy *policy = &decider->session->policy;
    const struct gt_answer *answer;
    enum gt_reason reason;
    struct gt_err err;

    if (!decider->gt && !decider->failed && open_tables(policy, &decider->gt, false, &err)) {
        gt_say_once(decider->session, GT_SAID_OPEN, "%.1000s; every product is left to cuBLAS",
                    err.msg);
        decider->failed = true;
    }
    if (decider->failed)
        return GT_PASS_FAILED;
    if (gt_lookup(decider->gt, device->arch, device->name, &entry->problem, &answer, &err))
        return GT_PASS_SHAPE;
    if (answer->us > 0)
        entry->ratio = answer->baseline_us / answer->us;
    reason = judge(policy, answer, device, entry);
    if (!reason && has_vendor(policy, answer, device)) {
        entry->ratio = vendor_gain(policy, answer, device);
        if (!has_cublaslt(answer->cublaslt))
            reason = GT_PASS_MARGIN;
    }
    if (!reason && policy->serve == GT_SERVE_OFF)
        reason = GT_PASS_OFF;
    return reason ? reason : load(decider, entry, device);
}

static enum gt_reason decide(struct decider *decider, struct gt_entry *entry)
{
    const struct gt_policy *policy = &decider->session->policy;
    struct device *device;
    enum gt_reason reason =
        gt_call_problem(&entry->problem, &entry->key, policy->accuracy, policy->no_tf32);

    if (reason)
        memset(&entry->problem, 0, sizeof(entry->problem));
    if (!reason && policy->serve == GT_SERVE_RECORD)
        reason = GT_PASS_ONLY_SEEN;
    if (reason)
        return reason;
    device = find_device(decider, entry->key.context);
    if (!device || device->ordinal < 0)
        return GT_PASS_CONTEXT;
    return look_up(decider, entry, device);
}

/* Decides on the entries that are new; returns the number of decided entries, counted from the
 * first. */
static uint32_t decide_all(struct decider *decider, uint32_t decided)
{
    struct gt_session *session = decider->session;
    const uint32_t entries = gt_book_entries(&session->book);
    const bool quick = session->policy.serve == GT_SERVE_RECORD; /* decides also at the end */

    for (uint32_t i = decided; i < entries && (quick || !atomic_load(&session->stop)); i++) {
        struct gt_entry *entry = &session->book.entry[i];
        int state = atomic_load_explicit(&entry->state, memory_order_acquire);

        if (state == GT_ENTRY_UNDECIDED) {
            enum gt_reason reason = decide(decider, entry);

            state = reason ? GT_ENTRY_PASS : GT_ENTRY_SERVE;
            gt_book_decide(entry, reason);
        }
        if (decided == i && state != GT_ENTRY_BLANK)
            decided++;
    }
    return decided;
}

/* ---- the thread ---- */

/* Waits for work, and only for a short time if captured problems are to be written. */
static void wait_for_work(struct gt_session *session)
{
    struct timespec until;

    if (!*session->policy.capture) {
        while (sem_wait(&session->work) != 0)
            ;
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FLUSH_SECONDS;
    sem_timedwait(&session->work, &until);
}

/* The thread, which decides on the problems in the order in which they were first asked for. */
static void *work(void *argument)
{
    struct decider decider = {.session = argument};
    struct gt_session *session = argument;
    int mode = GT_CAPTURE_RELAXED;
    uint32_t decided = 0;
    bool last;

    /* Loading a kernel must not disturb a graph that another thread captures. */
    if (session->usable)
        session->driver.ExchangeCaptureMode(&mode);
    /* The loop runs once more after the end was asked for, because a short program may end before
     * this thread first runs. */
    do {
        wait_for_work(session);
        last = atomic_load(&session->stop);
        if (session->usable) {
            decided = decide_all(&decider, decided);
            gt_workspace_make(&session->workspaces, &session->driver);
        }
        if (atomic_exchange(&session->report, false) || *session->policy.capture)
            gt_report_write(session);
    } while (!last);
    atomic_store(&session->running, false);
    return NULL;
}

/* ---- beginning and end ---- */

/* Forgets the session in a forked child, which has none of the session's threads and cannot use the
 * parent's GPU context.  The session's memory stays behind unused. */
static void after_fork(void)
{
    pthread_mutex_init(&beginning, NULL);
    gt_real_forked();
    atomic_store(&current, NULL);
}

/* The signal asks for a report now. */
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

/* Runs before the destructors of libraries that were loaded earlier. */
static void at_exit(void)
{
    struct gt_session *session = gt_session_begun();

    stop();
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
    if (pthread_create(&session->thread, &attributes, work, session))
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
        gt_say_once(session, GT_SAID_POLICY, "%.1000s; every product is left to cuBLAS", err.msg);
        session->usable = false;
    }
    session->usable = gt_serve_driver_load(&session->driver) && session->usable;
    pthread_once(&once, register_handlers);
    if (*session->policy.report)
        take_signal();
    start_thread(session);
    return session;
}

struct gt_session *gt_session_open(void)
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

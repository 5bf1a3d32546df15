/* run.c - starts, kills and finds processes for the fault tests. */
#include "run.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double run_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void run_nap(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};

    nanosleep(&time, NULL);
}

void run_use_stub(const struct run_options *options)
{
    static const char *const library[][2] = {
        {"GEMMTUNE_LIBCUDA", "libcuda.so.1"},
        {"GEMMTUNE_LIBNVRTC", "libnvrtc.so.13"},
        {"GEMMTUNE_LIBCUBLASLT", "libcublasLt.so.13"},
        {"GEMMTUNE_LIBNVML", "libnvidia-ml.so.1"},
    };
    char path[512];

    for (size_t i = 0; options->stub && i < sizeof(library) / sizeof(library[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", options->stub, library[i][1]);
        setenv(library[i][0], path, 1);
    }
}

/* Runs in the child of run_start. */
static void exec_tune(const struct run_options *options, const char *kernels, const char *db)
{
    char path[512], cache[256];
    int log;

    snprintf(path, sizeof(path), "%s/tune.log", options->folder);
    setpgid(0, 0);
    log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(125);
    snprintf(cache, sizeof(cache), "%s/cache", options->folder);
    setenv("GEMMTUNE_CACHE", cache, 1);
    setenv("GEMMTUNE_LOCKS", options->folder, 1);
    putenv((char *)options->mark);
    setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 1); /* as without a sanitizer */
    run_use_stub(options);
    execl(options->program, "tune", "--device", options->device, "--shape", options->shape, "--db",
          db, "--kernels-dir", kernels, "--kernels", "planted", "--strategy", "exhaustive",
          "--budget", "1000", "--deadline", "1", "--compile-cpu", "2", "--compile-memory", "512",
          "--jobs", "2", (char *)NULL);
    _exit(126);
}

pid_t run_start(const struct run_options *options, const char *kernels, const char *db)
{
    const pid_t pid = fork();

    if (pid == 0)
        exec_tune(options, kernels, db);
    return pid;
}

int run_wait(pid_t pid, double seconds)
{
    const double until = run_now() + seconds;
    int status;

    for (;;) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        if (run_now() > until) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        run_nap(0.01);
    }
}

/* Reads /proc/<pid>/<name>; 0 if it cannot. */
static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    n = read(fd, text, size - 1);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* Whether the process has the mark and, if role is not NULL, was started for the role. */
static bool is_ours(const struct run_options *options, pid_t pid, const char *role)
{
    const size_t length = strlen(options->mark) + 1; /* with the NUL that ends it */
    static char text[1 << 16];
    size_t n = read_proc(pid, "environ", text, sizeof(text));

    if (!n || !memmem(text, n + 1, options->mark, length))
        return false;
    n = read_proc(pid, "cmdline", text, sizeof(text));
    return !role || (n && memmem(text, n, role, strlen(role)));
}

/* Lists the marked processes, at most max of them. */
static int list(const struct run_options *options, const char *role, pid_t *pid, int max)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    while (proc && count < max && (entry = readdir(proc))) {
        const pid_t candidate = (pid_t)strtol(entry->d_name, NULL, 10);

        if (candidate > 0 && is_ours(options, candidate, role))
            pid[count++] = candidate;
    }
    if (proc)
        closedir(proc);
    return count;
}

int run_count(const struct run_options *options, pid_t except)
{
    pid_t pid[64];
    int i, others = 0, count = list(options, NULL, pid, 64);

    for (i = 0; i < count; i++)
        others += pid[i] != except;
    return others;
}

bool run_kill_worker(const struct run_options *options, const char *role, unsigned random,
                     int signo)
{
    pid_t pid[64];
    const int count = list(options, role, pid, 64);

    return count && kill(pid[random % (unsigned)count], signo) == 0;
}

void run_kill_all(const struct run_options *options)
{
    pid_t pid[64];
    const int count = list(options, NULL, pid, 64);

    for (int i = 0; i < count; i++)
        kill(pid[i], SIGKILL);
}

int run_orphans(const struct run_options *options, double seconds)
{
    const double until = run_now() + seconds;
    int left;

    while ((left = run_count(options, 0)) && run_now() < until)
        run_nap(0.02);
    return left;
}

void run_print_log(const struct run_options *options, FILE *out)
{
    char path[256], line[512];
    long start;
    FILE *log;

    snprintf(path, sizeof(path), "%s/tune.log", options->folder);
    log = fopen(path, "r");
    if (!log)
        return;
    fseek(log, 0, SEEK_END);
    start = ftell(log) - 4000;
    fseek(log, start > 0 ? start : 0, SEEK_SET);
    while (fgets(line, sizeof(line), log))
        fprintf(out, "    | %s%s", line, strchr(line, '\n') ? "" : "\n");
    fclose(log);
}

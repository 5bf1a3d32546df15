/* quiet.c - see quiet.h. */
#include "serve/quiet.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static bool write_all(int file, const char *text, size_t length)
{
    bool good = file >= 0;

    while (good && length) {
        ssize_t written = write(file, text, length);

        if (written < 0 && errno == EINTR)
            continue;
        good = written > 0;
        text += good ? written : 0;
        length -= good ? (size_t)written : 0;
    }
    return good;
}

bool gt_write_quietly(int file, const char *text, size_t length)
{
    const struct timespec now = {0, 0};
    sigset_t both, before, pending, ours;
    bool good;
    int saved;

    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    sigpending(&pending);
    good = write_all(file, text, length);
    saved = errno;
    /* Takes the signal that this write has raised; one that was waiting before is the program's. */
    sigemptyset(&ours);
    if (!sigismember(&pending, SIGPIPE))
        sigaddset(&ours, SIGPIPE);
    if (!sigismember(&pending, SIGXFSZ))
        sigaddset(&ours, SIGXFSZ);
    if (!good)
        sigtimedwait(&ours, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return good;
}

/* quiet.c - see quiet.h. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/quiet.h"

void gt_quiet_begin(struct gt_quiet *quiet)
{
    sigset_t both, pending;

    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &quiet->before);
    sigpending(&pending);
    sigemptyset(&quiet->ours);
    if (!sigismember(&pending, SIGPIPE))
        sigaddset(&quiet->ours, SIGPIPE);
    if (!sigismember(&pending, SIGXFSZ))
        sigaddset(&quiet->ours, SIGXFSZ);
}

void gt_quiet_end(const struct gt_quiet *quiet, bool raised)
{
    const struct timespec now = {0, 0};
    const int saved = errno;

    while (raised && sigtimedwait(&quiet->ours, NULL, &now) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    errno = saved;
}

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

bool gt_write_quietly(int file, const void *text, size_t length)
{
    struct gt_quiet quiet;
    bool good;

    gt_quiet_begin(&quiet);
    good = write_all(file, text, length);
    gt_quiet_end(&quiet, !good);
    return good;
}

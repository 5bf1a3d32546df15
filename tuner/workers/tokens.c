/* tokens.c - how many compilers work at once in all processes of one tuner; see tokens.h. */
#include "workers/tokens.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int gt_tokens_open(struct gt_tokens *tokens, int count, struct gt_err *err)
{
    *tokens = (struct gt_tokens){.fd = memfd_create("gemmtune-compilers", MFD_CLOEXEC)};
    if (tokens->fd < 0)
        return gt_err_set(err, GT_EIO, "cannot make the compilers' tokens: %s", strerror(errno));
    tokens->count = count < 1 ? 1 : count > GT_TOKENS_MAX ? GT_TOKENS_MAX : count;
    return GT_OK;
}

void gt_tokens_close(struct gt_tokens *tokens)
{
    if (tokens->count)
        close(tokens->fd);
    *tokens = (struct gt_tokens){0};
}

static bool lock_byte(int fd, int byte, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    return fcntl(fd, F_SETLK, &lock) == 0;
}

bool gt_tokens_take(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int *token)
{
    for (int i = 0; tokens && i < tokens->count; i++) {
        if (held[i] || !lock_byte(tokens->fd, i, F_WRLCK))
            continue;
        held[i] = true;
        *token = i;
        return true;
    }
    return !tokens;
}

void gt_tokens_give(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int token)
{
    if (!tokens)
        return;
    held[token] = false;
    lock_byte(tokens->fd, token, F_UNLCK);
}

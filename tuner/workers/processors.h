/* processors.h - counts how many compilers can run at once: the processors that the affinity mask
 * and the control groups allow. */
#ifndef GT_PROCESSORS_H
#define GT_PROCESSORS_H

#include <stdbool.h>

#include "gemmtune.h"

/* At least 1. */
int gt_processors(void);

/* The processor time that control groups allow, in processors; 0: no limit that can be read.  The
 * result is the least limit of the groups named in the file `groups` (/proc/self/cgroup) and of
 * their ancestors below the folder `root` (/sys/fs/cgroup).  Version 2 (cpu.max) and version 1
 * (cpu.cfs_quota_us) are read. */
double gt_processors_quota(const char *groups, const char *root);

/* Tokens limit how many compilers work at once in all processes of one tuner.
 *
 * A token is the lock of one byte of a file without a name, which the processes share by fork.  The
 * system drops the locks of a process however it ends, so no token is lost.  A process that finds
 * no free token looks again after some milliseconds. */

#define GT_TOKENS_MAX 256

struct gt_tokens {
    int fd;    /* inherited by fork, closed by exec */
    int count; /* 1 to GT_TOKENS_MAX */
};

int gt_tokens_open(struct gt_tokens *tokens, int count, struct gt_err *err);
void gt_tokens_close(struct gt_tokens *tokens); /* frees the tokens that the process holds */

/* Takes a free token; false: no token is free.  held: the tokens that this process holds, because
 * locks do not keep a process from itself; updated here.  tokens NULL: always true. */
bool gt_tokens_take(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int *token);
void gt_tokens_give(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int token);

#endif

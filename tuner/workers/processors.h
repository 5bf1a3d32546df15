/* processors.h - counts how many compilers can run at once: the processors that the affinity mask
 * and the control groups allow. */
#ifndef GT_PROCESSORS_H
#define GT_PROCESSORS_H

#include <stdbool.h>

#include "gemmtune.h"

/* At least 1. */
int gt_processors(void);

/* The processor time that control groups allow, in processors; 0: no limit, or none that can be
 * read.  It is the least limit of the groups named in the file `groups` (/proc/self/cgroup) and of
 * their ancestors below the folder `root` (/sys/fs/cgroup).  It reads version 2 (cpu.max) and
 * version 1 (cpu.cfs_quota_us). */
double gt_processors_quota(const char *groups, const char *root);

/* How many compilers work at once in all processes of one tuner.
 *
 * A token is the lock of one byte of a file without a name, which the processes share by fork.  The
 * system drops the locks of a process however it ends, so no token is lost with it.  Whoever finds
 * none free looks again after some milliseconds. */

#define GT_TOKENS_MAX 256

struct gt_tokens {
    int fd;    /* inherited by fork, closed by exec */
    int count; /* 1 to GT_TOKENS_MAX */
};

int gt_tokens_open(struct gt_tokens *tokens, int count, struct gt_err *err);
void gt_tokens_close(
    struct gt_tokens *tokens); /* the tokens that the process holds are free then */

/* Takes a free token; false: there is none.  held: what this process has, as locks do not keep a
 * process from itself; changed.  tokens NULL: always true. */
bool gt_tokens_take(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int *token);
void gt_tokens_give(const struct gt_tokens *tokens, bool held[GT_TOKENS_MAX], int token);

#endif

/* decide.h - stage: the background thread, which decides on the problems in the order in which they
 * were first asked for: it looks them up, loads their kernels and allocates workspaces. */
#ifndef GT_DECIDE_H
#define GT_DECIDE_H

struct gt_session;

/* The thread; argument and result as pthread_create has them. */
void *gt_decide_thread(void *session);

#endif

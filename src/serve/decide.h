/* decide.h - stage: the background thread, which decides on problems in the order in which they
 * came: looks them up, loads their kernels, and makes workspaces. */
#ifndef GT_DECIDE_H
#define GT_DECIDE_H

struct gt_session;

/* The thread; argument and result as pthread_create has them. */
void *gt_decide_thread(void *session);

#endif

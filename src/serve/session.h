/* session.h - stage: all state of serving in a process, and the background thread, which looks up
 * the problems that were asked for, loads their kernels and allocates workspaces.  The session
 * exists from the first product that the program asks cuBLAS for until the program ends.
 *
 * The session is the only global state of the project: a hook is called with cuBLAS's arguments
 * alone, so no handle of gemmtune could hold the session.  Before the first product nothing is
 * read, opened, started or printed, and only the process's folder is noted, so that the library may
 * be preloaded into programs that never multiply.  A child of fork() begins a session of its
 * own. */
#ifndef GT_SESSION_H
#define GT_SESSION_H

#include <pthread.h>
#include <semaphore.h>

#include "serve/handle.h"
#include "serve/policy.h"
#include "serve/report.h"

#define GT_CONTEXTS 16 /* contexts whose calls may be served */

/* A context from which calls came, noted before anything is loaded into it.  After a reset of the
 * device another context may have its address. */
struct gt_context {
    _Atomic(void *) context;
    _Atomic uint64_t id; /* gt_serve_context_id */
};

/* X(name, text): results of the calls that were to be compared with cuBLAS (check.h). */
#define GT_COMPARED_MAP(X)                                                              \
    X(ON_DEVICE, "compared with cuBLAS on the device")                                  \
    X(ON_HOST, "compared with cuBLAS on the host, which takes a hundred times as long") \
    X(NOT, "not compared with cuBLAS, though they should have been: no memory, or a call failed")

enum gt_compared {
#define GT_COMPARED_ENUM(name, text) GT_COMPARED_##name,
    GT_COMPARED_MAP(GT_COMPARED_ENUM)
#undef GT_COMPARED_ENUM
        GT_COMPARED_COUNT
};

struct gt_session {
    struct gt_policy policy;
    struct gt_serve_driver driver;
    struct gt_book book;
    struct gt_handles handles;
    struct gt_workspaces workspaces;
    _Atomic uint64_t count[GT_REASON_COUNT]; /* calls that are in no entry of the book */
    _Atomic uint64_t compared[GT_COMPARED_COUNT];
    _Atomic bool said[GT_SAID_COUNT]; /* gt_say_once */
    sem_t work;                       /* the background thread has something to do */
    pthread_t thread;
    struct gt_context context[GT_CONTEXTS]; /* written by the background thread */
    bool usable;                            /* policy and driver are in order */
    _Atomic bool reset;        /* kernels that are loaded here are gone: serve nothing any more */
    _Atomic bool running;      /* there is a background thread */
    _Atomic bool stop, report; /* orders to the background thread: end; write the report now */
};

/* The session, which the first call begins; NULL: there is no memory for a session.  Later calls
 * cost one atomic load. */
struct gt_session *gt_session_open(void);

/* The session; NULL: no product was asked for yet. */
struct gt_session *gt_session_begun(void);

/* Wakes the background thread. */
void gt_session_wake(struct gt_session *session);

#endif

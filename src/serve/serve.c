/* serve.c - handles a call: key, entry, plan, launch; see serve.h.
 *
 * A call that is served costs cuBLAS's getters, one hash, one probe and gt_run; one that is not
 * costs the same without gt_run.  There is no allocation, no access to the environment, and no lock
 * but for products that need a workspace (workspace.h).
 */
#include "serve/serve.h"

#include <time.h>

#include "serve/check.h"
#include "serve/session.h"

GT_FAST_TLS int gt_inside;

/* Longest waits with GEMMTUNE_WAIT: for a kernel that may have to be compiled, and for memory. */
#define DECISION_SECONDS  120
#define WORKSPACE_SECONDS 1

static void count_entry(struct gt_entry *entry, enum gt_reason reason)
{
    atomic_fetch_add_explicit(&entry->count[reason], 1, memory_order_relaxed);
}

bool gt_serve_pass(struct gt_session *session, enum gt_reason reason)
{
    if (session)
        atomic_fetch_add_explicit(&session->count[reason], 1, memory_order_relaxed);
    return false;
}

/* Sleeps, each time longer, so that many threads which wait leave the processor to the one that
 * works.  false: `seconds` have passed, or nobody works any more. */
static bool doze(struct gt_session *session, double *waited, double seconds)
{
    const long most = 10000000, ns = 50000 + (long)(*waited * 1e8); /* a tenth of what passed */
    const struct timespec pause = {0, ns < most ? ns : most};

    if (*waited >= seconds || !atomic_load(&session->running))
        return false;
    nanosleep(&pause, NULL);
    *waited += (double)pause.tv_nsec * 1e-9;
    return true;
}

/* Waits until the entry is decided (GEMMTUNE_WAIT). */
static int await(struct gt_session *session, struct gt_entry *entry)
{
    int state = GT_ENTRY_UNDECIDED;
    double waited = 0;

    while (state < GT_ENTRY_PASS && doze(session, &waited, DECISION_SECONDS))
        state = atomic_load_explicit(&entry->state, memory_order_acquire);
    return state;
}

/* Finds a workspace for the plan: the program's if it is large enough, else this library's. */
static enum gt_reason find_workspace(struct gt_session *session, const struct gt_entry *entry,
                                     const struct gt_scene *scene, void **workspace)
{
    void *const context = (void *)entry->key.context;
    const size_t bytes = entry->workspace_bytes;
    double waited = 0;
    bool ask;

    *workspace = scene->workspace;
    if (*workspace && scene->workspace_bytes >= bytes &&
        (uintptr_t)*workspace % GT_BLAS_ALIGNMENT == 0)
        return GT_SERVED;
    if (gt_serve_capturing(&session->driver, scene->stream))
        return GT_PASS_CAPTURE;
    *workspace = gt_workspace_own(&session->workspaces, context, scene->stream, bytes, &ask);
    if (ask)
        gt_session_wake(session);
    while (ask && session->policy.wait && !*workspace &&
           doze(session, &waited, WORKSPACE_SECONDS)) {
        bool again;

        *workspace = gt_workspace_own(&session->workspaces, context, scene->stream, bytes, &again);
    }
    return *workspace ? GT_SERVED : GT_PASS_WORKSPACE;
}

int gt_serve_run(struct gt_session *session, const struct gt_entry *entry, void *stream,
                 const struct gt_operands *operands, struct gt_err *err)
{
    pthread_mutex_t *turn = NULL;
    int rc;

    if (entry->workspace_bytes)
        turn = gt_workspace_turn(&session->workspaces, (void *)entry->key.context, stream);
    if (turn)
        pthread_mutex_lock(turn);
    gt_inside++; /* the plan may call cublasLtMatmul, which is one of the hooks */
    rc = gt_run(entry->plan, stream, operands, err);
    gt_inside--;
    if (turn)
        pthread_mutex_unlock(turn);
    return rc;
}

/* Leaves the problem to cuBLAS from now on. */
static void give_up(struct gt_entry *entry, enum gt_reason reason)
{
    atomic_store(&entry->reason, (int)reason);
    atomic_store_explicit(&entry->state, GT_ENTRY_PASS, memory_order_release);
}

/* Why an algorithm of cuBLASLt cannot run here.  It was chosen for operands that the driver has
 * aligned.  Its first launch may load code, which no capture of a graph allows. */
static enum gt_reason check_vendor(struct gt_session *session, struct gt_entry *entry,
                                   const struct gt_gemm *gemm, const struct gt_scene *scene,
                                   float beta)
{
    const uintptr_t all = (uintptr_t)gemm->a | (uintptr_t)gemm->b | (uintptr_t)gemm->d |
                          (beta != 0 ? (uintptr_t)gemm->c : 0);

    if (all % GT_BLAS_ALIGNMENT != 0)
        return GT_PASS_SHAPE;
    if (!atomic_load_explicit(&entry->count[GT_SERVED], memory_order_relaxed) &&
        gt_serve_capturing(&session->driver, scene->stream))
        return GT_PASS_CAPTURE;
    return GT_SERVED;
}

static enum gt_reason launch(struct gt_session *session, struct gt_entry *entry,
                             const struct gt_gemm *gemm, const struct gt_scene *scene,
                             const float scalar[2], const struct gt_reference *reference)
{
    /* A column-major C is a row-major C^T, so A and B change places. */
    struct gt_operands operands = {GT_OPERANDS_INIT,   .a = gemm->b,     .b = gemm->a,
                                   .c = gemm->c,       .d = gemm->d,     .bias = gemm->bias,
                                   .alpha = scalar[0], .beta = scalar[1]};
    enum gt_reason reason = GT_SERVED;
    struct gt_err err;

    if (entry->vendor)
        reason = check_vendor(session, entry, gemm, scene, scalar[1]);
    if (!reason && entry->workspace_bytes)
        reason = find_workspace(session, entry, scene, &operands.workspace);
    if (reason)
        return reason;
    if (session->policy.check && gt_check_due(session, entry) &&
        !gt_serve_capturing(&session->driver, scene->stream)) {
        const struct gt_checking checking = {session,       entry,     gemm,
                                             scene->stream, &operands, reference};

        return gt_check(&checking);
    }
    if (gt_serve_run(session, entry, scene->stream, &operands, &err) == GT_OK)
        return GT_SERVED;
    gt_say_once(GT_SAID_REFUSED, "%.1000s; that product is left to cuBLAS", err.msg);
    give_up(entry, GT_PASS_REFUSED);
    return GT_PASS_REFUSED;
}

/* The entry of this thread's last call, and its table; loops ask for the same entry again. */
static GT_FAST_TLS struct gt_entry *last;
static GT_FAST_TLS const struct gt_book *last_book;

static struct gt_entry *find_entry(struct gt_session *session, const struct gt_call_key *key)
{
    struct gt_entry *entry = last;
    bool fresh;

    if (entry && last_book == &session->book && gt_call_same(&entry->key, key))
        return entry;
    entry = gt_book_find(&session->book, key, &fresh);
    if (fresh)
        gt_session_wake(session);
    last = entry;
    last_book = &session->book;
    return entry;
}

/* Serves the call or says why not; *entry: its entry, if it has one. */
static enum gt_reason attempt(struct gt_session *session, struct gt_entry **entry,
                              const struct gt_gemm *gemm, const struct gt_scene *scene,
                              const struct gt_reference *reference)
{
    struct gt_call_key key;
    enum gt_reason reason;
    void *context = NULL;
    float scalar[2];
    int state;

    if (session->driver.CtxGetCurrent(&context))
        return GT_PASS_CONTEXT;
    if (atomic_load_explicit(&session->reset, memory_order_relaxed))
        return GT_PASS_RESET;
    reason = gt_call_key(&key, &scalar[0], &scalar[1], gemm, scene, context);
    if (reason)
        return reason;
    *entry = find_entry(session, &key);
    if (!*entry)
        return GT_PASS_FULL;
    state = atomic_load_explicit(&(*entry)->state, memory_order_acquire);
    if (state < GT_ENTRY_PASS && session->policy.wait &&
        !gt_serve_capturing(&session->driver, scene->stream))
        state = await(session, *entry);
    if (state == GT_ENTRY_SERVE)
        return launch(session, *entry, gemm, scene, scalar, reference);
    return state == GT_ENTRY_PASS ? (enum gt_reason)atomic_load(&(*entry)->reason)
                                  : GT_PASS_UNDECIDED;
}

bool gt_serve(struct gt_session *session, const struct gt_gemm *gemm, const struct gt_scene *scene,
              const struct gt_reference *reference)
{
    struct gt_entry *entry = NULL;
    enum gt_reason reason = attempt(session, &entry, gemm, scene, reference);

    if (entry)
        count_entry(entry, reason);
    else
        gt_serve_pass(session, reason);
    return reason == GT_SERVED;
}

/* ---- cuBLAS ---- */

/* Calls cuBLAS's general product, of which every other product is a special case. */
static int run_reference(const struct gt_reference *reference, const void *c, void *d)
{
    const struct gt_real *real = reference->real;
    const struct gt_gemm *g = reference->call;
    int rc = GT_BLAS_NOT_INITIALIZED;

    (void)c; /* d already holds C */
    gt_inside++;
    if (real->cublasGemmStridedBatchedEx) /* all that is served fits into an int */
        rc = real->cublasGemmStridedBatchedEx(
            reference->handle, g->ta, g->tb, (int)g->m, (int)g->n, (int)g->k, g->alpha, g->a, g->at,
            (int)g->lda, g->sa, g->b, g->bt, (int)g->ldb, g->sb, g->beta, d, g->ct, (int)g->ldc,
            g->sc, (int)g->batch, g->compute, -1 /* the library's choice */);
    gt_inside--;
    return rc;
}

bool gt_serve_gemm(const struct gt_real *real, void *handle, const struct gt_gemm *gemm)
{
    struct gt_session *session = gt_session();
    const struct gt_reference reference = {run_reference, real, handle, gemm};
    struct gt_scene scene = {.stream = NULL};
    struct gt_settings settings;
    struct gt_handle *slot;

    if (!session || !session->usable)
        return gt_serve_pass(session, GT_PASS_FAILED);
    slot = gt_handle_find(&session->handles, handle);
    if (!gt_handle_settings(slot, real, handle, &settings))
        return gt_serve_pass(session, GT_PASS_FAILED);
    if (settings.pointers)
        return gt_serve_pass(session, GT_PASS_POINTERS);
    if (settings.sms)
        return gt_serve_pass(session, GT_PASS_SMS);
    scene.stream = settings.stream;
    scene.math = settings.math;
    scene.varies = settings.atomics != 0;
    if (slot) {
        scene.workspace = atomic_load_explicit(&slot->workspace, memory_order_relaxed);
        scene.workspace_bytes = atomic_load_explicit(&slot->workspace_bytes, memory_order_relaxed);
    }
    return gt_serve(session, gemm, &scene, &reference);
}

void gt_serve_arrays(void)
{
    gt_serve_pass(gt_session(), GT_PASS_ARRAYS);
}

void gt_serve_created(void *handle)
{
    struct gt_session *session = gt_session_begun();
    void *context = NULL;
    uint64_t id;

    if (!session || !session->usable)
        return;
    gt_handle_free(&session->handles, handle);
    if (session->driver.CtxGetCurrent(&context) || !context)
        return;
    id = gt_serve_context_id(&session->driver, context);
    for (int i = 0; i < GT_CONTEXTS; i++)
        if (atomic_load(&session->context[i].context) == context &&
            atomic_load(&session->context[i].id) != id)
            atomic_store(&session->reset, true);
}

void gt_serve_destroyed(void *handle)
{
    struct gt_session *session = gt_session_begun();

    if (session)
        gt_handle_free(&session->handles, handle);
}

struct gt_handle *gt_serve_handle(void *handle, bool begin)
{
    struct gt_session *session = begin ? gt_session() : gt_session_begun();

    return session ? gt_handle_find(&session->handles, handle) : NULL;
}

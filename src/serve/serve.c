/* serve.c - handles a call: key, entry, plan, launch; see serve.h.
 *
 * A served call costs cuBLAS's getters, one hash, one probe and gt_run.  A call that is not served
 * costs the same without gt_run.  There is no allocation, no access to the environment, and no lock
 * except for products that need a workspace (handle.h). */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "serve/check.h"
#include "serve/serve.h"
#include "serve/session.h"

/* Longest waits with GEMMTUNE_WAIT: for a decision, which may compile a kernel, and for memory. */
#define DECISION_SECONDS  120
#define WORKSPACE_SECONDS 1

/* Counts a call that is left to cuBLAS before its arguments were read; returns false. */
static bool pass(struct gt_session *session, enum gt_reason reason)
{
    if (session)
        atomic_fetch_add_explicit(&session->count[reason], 1, memory_order_relaxed);
    return false;
}

/* Sleeps, each time longer, so that many waiting threads leave the processor to the background
 * thread.  false: `seconds` have passed, or there is no background thread any more. */
static bool doze(struct gt_session *session, double *waited, double seconds)
{
    const long most = 10000000, ns = 50000 + (long)(*waited * 1e8); /* a tenth of *waited */
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

/* Why an algorithm of cuBLASLt cannot run here.  The algorithm was chosen for operands that the
 * driver has aligned.  Its first launch may load code, which no capture of a graph allows. */
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

/* Whether the call's result is to be compared with cuBLAS's (GEMMTUNE_CHECK). */
static bool is_checked(const struct gt_session *session, const struct gt_entry *entry, void *stream)
{
    return session->policy.check &&
           atomic_load_explicit(&entry->count[GT_SERVED], memory_order_relaxed) %
                   (uint64_t)session->policy.check ==
               0 &&
           !gt_serve_capturing(&session->driver, stream);
}

static enum gt_reason launch(struct gt_session *session, struct gt_entry *entry,
                             const struct gt_gemm *gemm, const struct gt_scene *scene,
                             const float scalar[2], const struct gt_reference *reference)
{
    struct gt_operands operands;
    enum gt_reason reason = GT_SERVED;
    struct gt_err err;

    /* A column-major C is a row-major C^T, so A and B change places.  No product of cuBLAS that is
     * served has the members behind beta_im, and setting them to 0 takes as long as the launch. */
    operands.size = 0;
    operands.a = gemm->b;
    operands.b = gemm->a;
    operands.c = gemm->c;
    operands.d = gemm->d;
    operands.bias = gemm->bias;
    operands.workspace = NULL;
    operands.alpha = scalar[0];
    operands.beta = scalar[1];
    operands.alpha_im = operands.beta_im = 0;
    if (entry->vendor)
        reason = check_vendor(session, entry, gemm, scene, scalar[1]);
    if (!reason && entry->workspace_bytes)
        reason = find_workspace(session, entry, scene, &operands.workspace);
    if (reason)
        return reason;
    if (is_checked(session, entry, scene->stream)) {
        const struct gt_checking checking = {session,       entry,     gemm,
                                             scene->stream, &operands, reference};

        return gt_check(&checking);
    }
    if (gt_workspace_run(&session->workspaces, entry, scene->stream, &operands, &err) == GT_OK)
        return GT_SERVED;
    gt_say_once(session, GT_SAID_REFUSED, "%.1000s; that product is left to cuBLAS", err.msg);
    gt_book_decide(entry, GT_PASS_REFUSED);
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

/* Serves the call or returns the reason why not; *entry: the call's entry, if it has one. */
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

static bool serve(struct gt_session *session, const struct gt_gemm *gemm,
                  const struct gt_scene *scene, const struct gt_reference *reference)
{
    struct gt_entry *entry = NULL;
    enum gt_reason reason = attempt(session, &entry, gemm, scene, reference);

    if (entry)
        atomic_fetch_add_explicit(&entry->count[reason], 1, memory_order_relaxed);
    else
        pass(session, reason);
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
    if (real->cublasGemmStridedBatchedEx) /* the sizes of all served products fit into an int */
        rc = real->cublasGemmStridedBatchedEx(
            reference->handle, g->ta, g->tb, (int)g->m, (int)g->n, (int)g->k, g->alpha, g->a, g->at,
            (int)g->lda, g->sa, g->b, g->bt, (int)g->ldb, g->sb, g->beta, d, g->ct, (int)g->ldc,
            g->sc, (int)g->batch, g->compute, -1 /* -1: the library chooses the algorithm */);
    gt_inside--;
    return rc;
}

bool gt_serve_gemm(const struct gt_real *real, void *handle, const struct gt_gemm *gemm)
{
    struct gt_session *session = gt_session_open();
    const struct gt_reference reference = {run_reference, real, handle, gemm};
    struct gt_scene scene = {.stream = NULL};
    struct gt_settings settings;
    struct gt_handle *slot;

    if (!session || !session->usable)
        return pass(session, GT_PASS_FAILED);
    slot = gt_handle_find(&session->handles, handle);
    if (!gt_handle_settings(slot, real, handle, &settings))
        return pass(session, GT_PASS_FAILED);
    if (settings.pointers)
        return pass(session, GT_PASS_POINTERS);
    if (settings.sms)
        return pass(session, GT_PASS_SMS);
    scene.stream = settings.stream;
    scene.math = settings.math;
    scene.varies = settings.atomics != 0;
    if (slot) {
        scene.workspace = atomic_load_explicit(&slot->workspace, memory_order_relaxed);
        scene.workspace_bytes = atomic_load_explicit(&slot->workspace_bytes, memory_order_relaxed);
    }
    return serve(session, gemm, &scene, &reference);
}

void gt_serve_arrays(void)
{
    pass(gt_session_open(), GT_PASS_ARRAYS);
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
    struct gt_session *session = begin ? gt_session_open() : gt_session_begun();

    return session ? gt_handle_find(&session->handles, handle) : NULL;
}

/* ---- cublasLtMatmul ----
 *
 * Reads descriptors and layouts, which are plain data behind
 * getters, and serves the product that they describe.
 *
 * Asking a dozen getters takes longer than a call may.  So if the layout of the data is known
 * (cuBLAS 13: 256 bytes of a descriptor, 64 of a layout), each thread remembers the values that it
 * has read, by a digest of those bytes. */

/* cublasLtMatmulDescAttributes_t */
enum {
    DESC_COMPUTE_TYPE = 0,
    DESC_SCALE_TYPE = 1,
    DESC_POINTER_MODE = 2,
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    DESC_TRANSC = 5,
    DESC_FILL_MODE = 6,
    DESC_EPILOGUE = 7,
    DESC_BIAS_POINTER = 8,
    DESC_SM_COUNT_TARGET = 15,
    DESC_A_SCALE_POINTER = 17,
    DESC_D_SCALE_POINTER = 20,
    DESC_AMAX_D_POINTER = 21,
    DESC_BIAS_DATA_TYPE = 26,
    DESC_ATOMIC_SYNC_FIRST = 27, /* in 12.2 to 12.9: counters between products, and parts of D */
    DESC_ATOMIC_SYNC_LAST = 30,
    DESC_D_OUT_SCALE_POINTER = 36,
    DESC_EMULATION_DESCRIPTOR = 38,
    DESC_KNOWN = 38,  /* the last one known here; 13.4 also has strides of alpha and beta */
    DESC_NEWEST = 47, /* the last attribute that is asked for */
};

/* cublasLtMatrixLayoutAttribute_t */
enum {
    LAYOUT_TYPE = 0,
    LAYOUT_ORDER = 1,
    LAYOUT_ROWS = 2,
    LAYOUT_COLS = 3,
    LAYOUT_LD = 4,
    LAYOUT_BATCH_COUNT = 5,
    LAYOUT_STRIDE = 6,
    LAYOUT_PLANE_OFFSET = 7,
    LAYOUT_BATCH_MODE = 8,
    LAYOUT_KNOWN = 8, /* the last one known here; 13.4 also has three sizes of grouped matrices */
    LAYOUT_NEWEST = 15,
};

#define FILL_FULL 2

/* cublasLtEpilogue_t */
enum { EPILOGUE_DEFAULT = 1, EPILOGUE_RELU = 2, EPILOGUE_BIAS = 4 };

struct layout {
    int64_t rows, cols, ld, stride;
    int type, batch;
};

/* Reads an attribute of up to 8 bytes; `absent` if this version of cuBLAS does not know it. */
static uint64_t desc_value(const struct gt_real_lt *real, void *desc, int attribute, size_t bytes,
                           uint64_t absent)
{
    uint64_t value = 0;
    size_t written;

    return real->DescGet(desc, attribute, &value, bytes, &written) ? absent : value;
}

static uint64_t layout_value(const struct gt_real_lt *real, void *layout, int attribute,
                             size_t bytes, uint64_t absent)
{
    uint64_t value = 0;
    size_t written;

    return real->LayoutGet(layout, attribute, &value, bytes, &written) ? absent : value;
}

/* Reads a layout; false if it is not a plain column-major matrix.  Attributes that only a newer
 * cuBLAS has must be 0. */
static bool read_layout(struct layout *to, const struct gt_real_lt *real, void *from)
{
    const int newest = real->version == GT_BLAS_13 ? LAYOUT_NEWEST : LAYOUT_KNOWN;

    if (!from)
        return false;
    for (int attribute = LAYOUT_KNOWN + 1; attribute <= newest; attribute++)
        if (layout_value(real, from, attribute, 8, 0) || layout_value(real, from, attribute, 4, 0))
            return false;
    to->type = (int)layout_value(real, from, LAYOUT_TYPE, 4, UINT32_MAX);
    to->rows = (int64_t)layout_value(real, from, LAYOUT_ROWS, 8, 0);
    to->cols = (int64_t)layout_value(real, from, LAYOUT_COLS, 8, 0);
    to->ld = (int64_t)layout_value(real, from, LAYOUT_LD, 8, 0);
    to->batch = (int)layout_value(real, from, LAYOUT_BATCH_COUNT, 4, 0);
    to->stride = (int64_t)layout_value(real, from, LAYOUT_STRIDE, 8, 0);
    return layout_value(real, from, LAYOUT_ORDER, 4, 1) == 0 &&
           layout_value(real, from, LAYOUT_PLANE_OFFSET, 8, 0) == 0 &&
           layout_value(real, from, LAYOUT_BATCH_MODE, 4, 0) == 0;
}

/* Reads sizes and types. */
static enum gt_reason read_layouts(struct gt_gemm *gemm, const struct gt_real_lt *real,
                                   const struct gt_matmul *call)
{
    struct layout a, b, c, d;

    if (!read_layout(&a, real, call->la) || !read_layout(&b, real, call->lb) ||
        !read_layout(&c, real, call->lc) || !read_layout(&d, real, call->ld) || c.type != d.type ||
        c.ld != d.ld || c.rows != d.rows || c.cols != d.cols || c.batch != d.batch ||
        a.batch != d.batch || b.batch != d.batch || (d.batch > 1 && c.stride != d.stride))
        return GT_PASS_LAYOUT;
    gemm->m = d.rows;
    gemm->n = d.cols;
    gemm->k = gemm->ta ? a.rows : a.cols;
    if ((gemm->ta ? a.cols : a.rows) != gemm->m || (gemm->tb ? b.cols : b.rows) != gemm->k ||
        (gemm->tb ? b.rows : b.cols) != gemm->n)
        return GT_PASS_LAYOUT;
    gemm->lda = a.ld;
    gemm->ldb = b.ld;
    gemm->ldc = d.ld;
    gemm->batch = d.batch;
    gemm->sa = a.stride;
    gemm->sb = b.stride;
    gemm->sc = d.stride;
    gemm->at = a.type;
    gemm->bt = b.type;
    gemm->ct = d.type;
    return GT_SERVED;
}

/* Whether a bias whose type is not set has the type of D.  It does not if FP8 operands make a D of
 * 32 or 8 bits (cublasLt.h at CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE). */
static bool bias_like_d(const struct gt_gemm *gemm)
{
    const bool fp8 = gemm->at == GT_CUDA_R_8F_E4M3 || gemm->at == GT_CUDA_R_8F_E5M2;

    return !fp8 || gemm->ct == GT_CUDA_R_16F || gemm->ct == GT_CUDA_R_16BF;
}

/* GELU is left to cuBLAS, because cuBLAS's header does not say which formula it uses. */
static enum gt_reason read_epilogue(struct gt_gemm *gemm, const struct gt_real_lt *real, void *desc)
{
    const int epilogue = (int)desc_value(real, desc, DESC_EPILOGUE, 4, 0);
    const int type = (int)desc_value(real, desc, DESC_BIAS_DATA_TYPE, 4, UINT32_MAX);

    if (epilogue != EPILOGUE_DEFAULT && (epilogue & ~(EPILOGUE_RELU | EPILOGUE_BIAS)) != 0)
        return GT_PASS_EPILOGUE;
    if (epilogue == 0)
        return GT_PASS_EPILOGUE;
    if (epilogue & EPILOGUE_RELU)
        gemm->epilogue |= GT_EPILOGUE_RELU;
    if (epilogue & EPILOGUE_BIAS) {
        gemm->epilogue |= GT_EPILOGUE_BIAS;
        gemm->bias = (const void *)(uintptr_t)desc_value(real, desc, DESC_BIAS_POINTER, 8, 0);
        if (!gemm->bias || (type >= 0 ? type != gemm->ct : !bias_like_d(gemm)) || gemm->batch != 1)
            return GT_PASS_EPILOGUE;
    }
    return GT_SERVED;
}

/* Whether one of the attributes first..last, read as 4 or as 8 bytes, is not 0. */
static bool has_any(const struct gt_real_lt *real, void *desc, int first, int last)
{
    for (int attribute = first; attribute <= last; attribute++)
        if (desc_value(real, desc, attribute, 8, 0) || desc_value(real, desc, attribute, 4, 0))
            return true;
    return false;
}

/* Whether an attribute is set that gemmtune does not support: scales, maxima, emulation, and
 * attributes that only a newer cuBLAS has. */
static bool has_extras(const struct gt_real_lt *real, void *desc)
{
    const int newest = real->version == GT_BLAS_13 ? DESC_NEWEST : DESC_KNOWN;

    if (has_any(real, desc, DESC_KNOWN + 1, newest) ||
        has_any(real, desc, DESC_ATOMIC_SYNC_FIRST, DESC_ATOMIC_SYNC_LAST))
        return true;
    for (int attribute = DESC_A_SCALE_POINTER; attribute <= DESC_AMAX_D_POINTER; attribute++)
        if (desc_value(real, desc, attribute, 8, 0))
            return true;
    return desc_value(real, desc, DESC_D_OUT_SCALE_POINTER, 8, 0) ||
           desc_value(real, desc, DESC_EMULATION_DESCRIPTOR, 8, 0) ||
           desc_value(real, desc, DESC_TRANSC, 4, 0) ||
           desc_value(real, desc, DESC_FILL_MODE, 4, FILL_FULL) != FILL_FULL;
}

static enum gt_reason read_call(struct gt_gemm *gemm, const struct gt_real_lt *real,
                                const struct gt_matmul *call)
{
    void *const desc = call->desc;
    enum gt_reason reason;
    int scale;

    if (!real->DescGet || !real->LayoutGet || !desc)
        return GT_PASS_FAILED;
    *gemm = (struct gt_gemm){
        .compute = (int)desc_value(real, desc, DESC_COMPUTE_TYPE, 4, UINT32_MAX),
        .ta = (int)desc_value(real, desc, DESC_TRANSA, 4, 0),
        .tb = (int)desc_value(real, desc, DESC_TRANSB, 4, 0),
    };
    scale = (int)desc_value(real, desc, DESC_SCALE_TYPE, 4, UINT32_MAX);
    if (desc_value(real, desc, DESC_POINTER_MODE, 4, 1))
        return GT_PASS_POINTERS;
    if (desc_value(real, desc, DESC_SM_COUNT_TARGET, 4, 0))
        return GT_PASS_SMS;
    if (scale != (gemm->compute == GT_COMPUTE_32I ? GT_CUDA_R_32I : GT_CUDA_R_32F))
        return GT_PASS_TYPES;
    if (has_extras(real, desc))
        return GT_PASS_LAYOUT;
    reason = read_layouts(gemm, real, call);
    return reason ? reason : read_epilogue(gemm, real, desc);
}

/* ---- remembered reads ---- */

#define DESC_BYTES   256
#define LAYOUT_BYTES 64
#define REMEMBERED   64 /* a power of two */

struct remembered {
    XXH128_hash_t digest;
    struct gt_gemm gemm; /* the product without scalars and matrices */
    enum gt_reason reason;
    bool used;
};

static GT_FAST_TLS struct remembered *remembered; /* this thread's, freed at its end */
static pthread_key_t remembered_key;
static bool remembered_has_key; /* false: the program has taken every key */
static pthread_once_t remembered_once = PTHREAD_ONCE_INIT;

static void forget(void *all)
{
    free(all);
    remembered = NULL;
}

static void make_key(void)
{
    remembered_has_key = pthread_key_create(&remembered_key, forget) == 0;
}

/* The digest's place in this thread's table; NULL: nothing is remembered, for want of a key or of
 * memory. */
static struct remembered *place_of(XXH128_hash_t digest)
{
    if (!remembered) {
        pthread_once(&remembered_once, make_key);
        if (remembered_has_key)
            remembered = calloc(REMEMBERED, sizeof(*remembered));
        if (remembered && pthread_setspecific(remembered_key, remembered) != 0)
            forget(remembered);
    }
    return remembered ? &remembered[digest.low64 & (REMEMBERED - 1)] : NULL;
}

static XXH128_hash_t digest_of(const struct gt_matmul *call)
{
    const void *const layout[] = {call->la, call->lb, call->lc, call->ld};
    unsigned char bytes[DESC_BYTES + 4 * LAYOUT_BYTES];

    memcpy(bytes, call->desc, DESC_BYTES);
    for (int i = 0; i < 4; i++)
        memcpy(bytes + DESC_BYTES + i * LAYOUT_BYTES, layout[i], LAYOUT_BYTES);
    return XXH3_128bits(bytes, sizeof(bytes));
}

static enum gt_reason recall(struct gt_gemm *gemm, const struct gt_real_lt *real,
                             const struct gt_matmul *call)
{
    XXH128_hash_t digest;
    struct remembered *place;

    if (!call->desc || !call->la || !call->lb || !call->lc || !call->ld)
        return GT_PASS_LAYOUT;
    digest = digest_of(call);
    place = place_of(digest);
    if (place && place->used && XXH128_isEqual(place->digest, digest)) {
        *gemm = place->gemm;
        return place->reason;
    }
    if (!place)
        return read_call(gemm, real, call);
    place->reason = read_call(&place->gemm, real, call);
    place->digest = digest;
    place->used = true;
    *gemm = place->gemm;
    return place->reason;
}

static int run_matmul(const struct gt_reference *reference, const void *c, void *d)
{
    const struct gt_real_lt *real = reference->real;
    const struct gt_matmul *call = reference->call;
    int rc;

    gt_inside++;
    rc = real->cublasLtMatmul(call->handle, call->desc, call->alpha, call->a, call->la, call->b,
                              call->lb, call->beta, c, call->lc, d, call->ld, call->algo,
                              call->workspace, call->workspace_bytes, call->stream);
    gt_inside--;
    return rc;
}

bool gt_serve_matmul(const struct gt_real_lt *real, const struct gt_matmul *matmul)
{
    struct gt_session *session = gt_session_open();
    const struct gt_reference reference = {run_matmul, real, NULL, matmul};
    const struct gt_scene scene = {.stream = matmul->stream,
                                   .workspace = matmul->workspace,
                                   .workspace_bytes = matmul->workspace_bytes};
    enum gt_reason reason;
    struct gt_gemm gemm;

    if (!session || !session->usable)
        return pass(session, GT_PASS_FAILED);
    reason =
        real->version == GT_BLAS_13 ? recall(&gemm, real, matmul) : read_call(&gemm, real, matmul);
    if (reason)
        return pass(session, reason);
    gemm.alpha = matmul->alpha;
    gemm.beta = matmul->beta;
    gemm.a = matmul->a;
    gemm.b = matmul->b;
    gemm.c = matmul->c;
    gemm.d = matmul->d;
    return serve(session, &gemm, &scene, &reference);
}

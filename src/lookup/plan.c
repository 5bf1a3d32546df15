/* plan.c - stage: gt_plan, the part of the library that programs run: turns an answer of lookup.c
 * into a loaded module, on the device's primary context, beside the program's own work.  gt_run is
 * in plan_run.c. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "cuda/cublaslt.h"
#include "cuda/gpu.h"
#include "gemmtune.h"
#include "kernel/render.h"
#include "lookup/deployed.h"
#include "lookup/lookup.h"
#include "lookup/lookup_impl.h"
#include "lookup/plan_impl.h"
#include "problem/problem.h"

/* ---- machine code: a stored cubin that the device's driver takes, or compiled ----
 *
 * A cache may hold cubins of several versions of the compiler: machines with other drivers share
 * the cache, or the driver was once a newer one. */

static bool is_refused(const struct gt_refused *refused, int version)
{
    for (int i = 0; refused && i < refused->count; i++)
        if (refused->version[i] == version)
            return true;
    return false;
}

/* False: the version is already among the refused, is 0 (not known), or finds no room. */
static bool add_refused(struct gt_refused *refused, int version)
{
    if (!version || refused->count == GT_REFUSED_MOST || is_refused(refused, version))
        return false;
    refused->version[refused->count++] = version;
    return true;
}

/* NVRTC versions, 13.9 down to 12.0, whose cubins are looked for if NVRTC is absent. */
#define NEWEST_NVRTC 13090
#define OLDEST_NVRTC 12000

static int find_cubin(const char *dir, const struct gt_resolved *resolved,
                      const struct gt_compile_request *request, int version,
                      struct gt_binary *binary, struct gt_err *err)
{
    char key[GT_DIGEST_HEX];
    int rc = gt_cache_key(key, resolved->kernel, request, version, err);

    return rc ? rc : gt_cache_load(dir, key, binary, err);
}

/* Finds a cubin of the newest compiler whose code the driver may take and has not refused. */
static int find_any_cubin(const char *dir, const struct gt_resolved *resolved,
                          const struct gt_compile_request *request,
                          const struct gt_refused *refused, struct gt_binary *binary, int *nvrtc,
                          struct gt_err *err)
{
    int rc = gt_err_set(err, GT_ENOTFOUND, "%s: nothing that this driver takes", dir);

    for (int version = NEWEST_NVRTC; version >= OLDEST_NVRTC && rc == GT_ENOTFOUND; version -= 10) {
        if (!gt_device_takes_code(&resolved->device, version) || is_refused(refused, version))
            continue;
        rc = find_cubin(dir, resolved, request, version, binary, err);
        *nvrtc = version;
    }
    return rc;
}

static int compile(const char *dir, const struct gt_resolved *resolved,
                   const struct gt_compile_request *request, const struct gt_refused *refused,
                   struct gt_binary *binary, int *version, struct gt_err *err)
{
    struct gt_nvrtc *nvrtc;
    char key[GT_DIGEST_HEX];
    int64_t limit;
    int rc = gt_nvrtc_open(&nvrtc, err);

    if (rc)
        return rc;
    *version = gt_nvrtc_version(nvrtc);
    rc = is_refused(refused, *version)
             ? gt_err_set(err, GT_ENOTFOUND, "the driver refuses what NVRTC %d.%d compiles",
                          *version / 1000, *version % 1000 / 10)
             : gt_compile(nvrtc, request, binary, err);
    /* If the cache cannot store the binary, it is compiled again next time. */
    if (!rc && dir && gt_cache_limit(&limit, NULL) == GT_OK &&
        gt_cache_key(key, resolved->kernel, request, gt_nvrtc_version(nvrtc), NULL) == GT_OK &&
        gt_cache_save(dir, key, binary, NULL) == GT_OK)
        gt_cache_trim(dir, limit, NULL, NULL);
    gt_nvrtc_close(nvrtc);
    return rc;
}

int gt_plan_binary(const struct gt_options *options, const struct gt_resolved *resolved,
                   const struct gt_refused *refused, struct gt_binary *binary, int *nvrtc,
                   struct gt_err *err)
{
    const struct gt_geometry *geometry = &resolved->geometry;
    const struct gt_candidate candidate = {resolved->kernel, &resolved->problem, &resolved->device,
                                           resolved->point};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_err why = {.msg = "no cubin_dir is given"};
    struct gt_compile_request request = {.name = resolved->kernel->name,
                                         .include_dirs = resolved->kernel->include_dirs,
                                         .arch = geometry->code_arch,
                                         .device_cc = resolved->device.cc,
                                         .features = geometry->arch_features,
                                         .ptx = geometry->code_ptx,
                                         .max_registers = geometry->max_registers};
    int version = 0, rc = gt_render(&source, &candidate, err);

    request.source = source.text;
    if (!rc && options->cubin_dir)
        rc =
            find_any_cubin(options->cubin_dir, resolved, &request, refused, binary, &version, &why);
    else if (!rc)
        rc = GT_ENOTFOUND;
    if (rc == GT_ENOTFOUND && options->allow_nvrtc)
        rc = compile(options->cubin_dir, resolved, &request, refused, binary, &version, err);
    else if (rc == GT_ENOTFOUND)
        rc = gt_err_set(err, rc,
                        "no cubin of kernel %s at %s for sm_%d is stored in %s (%.200s), and "
                        "compiling is not allowed (gt_options.allow_nvrtc)",
                        resolved->kernel->name, resolved->answer.point, geometry->code_arch,
                        options->cubin_dir ? options->cubin_dir : "(no cubin_dir)", why.msg);
    else if (rc && why.code == rc)
        rc = gt_err_set(err, rc, "%s", why.msg);
    gt_strbuf_release(&source);
    if (nvrtc)
        *nvrtc = version;
    return rc;
}

/* ---- an answer whose registers spill gives way to the next candidate ----
 *
 * A look-up only estimates whether registers will spill (`lacking` of a kernel's model).  A plan
 * has compiled the answer and knows.  For the price of one more compilation, the plan can find a
 * better kernel. */

/* A candidate that is expected to take more than so many times the answer's time is not taken. */
#define SPILLED 1.5

/* Whether choice and answer compile to the same code: they differ at most in launch parameters. */
static bool same_code(const struct gt_choice *choice, const struct gt_resolved *resolved)
{
    const struct gt_kernel *kernel = resolved->kernel;
    bool same = choice->kernel == kernel;

    for (size_t i = 0; i < kernel->params && same; i++)
        same = kernel->param[i].launch || choice->point.value[i] == resolved->point.value[i];
    return same;
}

/* The best candidate with other code; NULL: no such candidate is expected to be as fast as the
 * answer that spills. */
static const struct gt_choice *next_of(const struct gt_choices *choices,
                                       const struct gt_resolved *resolved)
{
    size_t i = 0;

    while (i < choices->count && same_code(&choices->choice[i], resolved))
        i++;
    return i < choices->count && choices->choice[i].us < SPILLED * resolved->answer.expected_us
               ? &choices->choice[i]
               : NULL;
}

/* If no table has the answer for this problem and its binary spills registers, compiles the next
 * candidate, at most one.  If the candidate does not spill, it replaces the answer, its code
 * replaces *binary, and *nvrtc becomes the version of its compiler.  A failure leaves all three as
 * they are. */
static void avoid_spills(struct gt *gt, struct gt_resolved *resolved, struct gt_binary *binary,
                         int *nvrtc)
{
    struct gt_binary other = {0};
    const struct gt_choice *next;
    int version;
    struct gt_resolved candidate;
    struct gt_choices choices;

    if (binary->spill_bytes <= GT_SPILL_LIMIT || resolved->answer.tier != GT_TIER_NEAR ||
        resolved->answer.measured ||
        gt_lookup_alternatives(&gt->sources, resolved, &choices, NULL) != GT_OK)
        return;
    next = next_of(&choices, resolved);
    if (!next)
        return;
    if (gt_resolved_with(&candidate, resolved, next, NULL) == GT_OK &&
        gt_plan_binary(gt_lookup_options(gt), &candidate, NULL, &other, &version, NULL) == GT_OK &&
        other.spill_bytes <= GT_SPILL_LIMIT &&
        gt_lookup_take_choice(next, resolved, NULL) == GT_OK) {
        gt_binary_release(binary);
        *binary = other;
        *nvrtc = version;
        return;
    }
    gt_binary_release(&other);
}

/* ---- times of a few candidates, beside a running program ----
 *
 * The memory holds sets of A, B and D and is larger than L2; each launch takes the next set, so
 * that L2 holds no part of that set.  Candidates take turns, and candidates that are far behind
 * leave after a few rounds. */

#define L2_TIMES     3         /* times L2: size of the memory that launches rotate through */
#define MEMORY_PART  4         /* at most one part in this many of the free memory is taken */
#define SET_ALIGN    256       /* bytes: alignment of sets */
#define PATTERN      (1 << 18) /* words of the pattern that fills the operands, repeated */
#define ROUNDS_LEAST 7         /* rounds after which candidates that are far behind leave */
#define ROUNDS_MOST  61        /* most rounds: medians of short launches are then certain to 1 % */
#define TIME_US      100000.0  /* time of all rounds, unless ROUNDS_LEAST take longer */
#define BEHIND       1.25      /* times the best median: a candidate above is far behind */

struct timing {
    struct gt_gpu *gpu;
    const struct gt_problem *problem;
    struct gt_contestant *contestant;
    struct gt_module *module[GT_PLAN_TIMED]; /* NULL: not loaded, or out of the race */
    size_t count;
    gt_devptr memory, workspace;
    size_t bytes, set, sets, next; /* sizes of the memory and of a set; number of sets; next set */
    size_t at[4];                  /* offsets of A, B, D and bias in a set */
    struct gt_event *event[GT_PLAN_TIMED + 1];
    float sample[GT_PLAN_TIMED][ROUNDS_MOST]; /* microseconds */
    int samples[GT_PLAN_TIMED];
};

static size_t aligned(int64_t bytes)
{
    return ((size_t)bytes + SET_ALIGN - 1) / SET_ALIGN * SET_ALIGN;
}

/* Changes a word's bits so that it holds ordinary numbers of the type: from 0.5 to 2, of both
 * signs; of doubles the upper word counts.  The numbers matter for times: a GPU that multiplies
 * zeros draws less power. */
static uint32_t ordinary(uint32_t word, enum gt_dtype type)
{
    const int all = gt_dtype_bits(type) >> gt_type_complex(type), below = all > 32 ? 32 : 0;
    const int fraction = gt_type_fraction(type) - below;
    int bits = all - below;
    uint32_t kept = UINT32_C(1) << (bits - 1) | ((UINT32_C(2) << fraction) - 1);
    uint32_t set = ((UINT32_C(1) << (bits - 2 - fraction)) - 2) << fraction;

    for (; bits < 32; bits *= 2) {
        kept |= kept << bits;
        set |= set << bits;
    }
    return (word & kept) | set;
}

static int fill(struct timing *timing, struct gt_err *err)
{
    struct gt_random random = {.state = 1};
    uint32_t *pattern = malloc(PATTERN * sizeof(*pattern));
    int rc = pattern ? GT_OK : gt_err_nomem(err);

    for (size_t i = 0; i < PATTERN && !rc; i++)
        pattern[i] = (uint32_t)(gt_random_next(&random) >> 32);
    for (size_t i = 0; i < PATTERN && !rc && !gt_type_integer(timing->problem->type); i++)
        pattern[i] = ordinary(pattern[i], timing->problem->type);
    for (size_t at = 0; at < timing->bytes && !rc; at += PATTERN * sizeof(*pattern)) {
        const size_t left = timing->bytes - at, all = PATTERN * sizeof(*pattern);

        rc = gt_gpu_upload(timing->gpu, timing->memory + at, pattern, left < all ? left : all, err);
    }
    free(pattern);
    return rc;
}

static int allocate(struct timing *timing, struct gt_err *err)
{
    const struct gt_problem *p = timing->problem;
    const int64_t l2 = gt_gpu_device(timing->gpu)->l2_bytes;
    size_t workspace = 0, free_bytes, total;
    int rc = gt_gpu_memory(timing->gpu, &free_bytes, &total, err);

    timing->at[1] = aligned(gt_problem_bytes(p, GT_OPERAND_A));
    timing->at[2] = timing->at[1] + aligned(gt_problem_bytes(p, GT_OPERAND_B));
    timing->at[3] = timing->at[2] + aligned(gt_problem_bytes(p, GT_OPERAND_C));
    timing->set = timing->at[3] + aligned(p->n * gt_dtype_size(p->out));
    timing->sets = 1 + (l2 > 0 ? L2_TIMES * (size_t)l2 / timing->set : 0);
    timing->bytes = timing->sets * timing->set;
    for (size_t i = 0; i < timing->count; i++)
        if (timing->contestant[i].geometry->workspace_bytes > workspace)
            workspace = timing->contestant[i].geometry->workspace_bytes;
    if (!rc && timing->bytes + workspace > free_bytes / MEMORY_PART)
        return gt_err_set(
            err, GT_ETOOBIG,
            "timing candidates takes %zu bytes; a quarter of the free %zu may be used",
            timing->bytes + workspace, free_bytes);
    GT_STEP(rc, gt_gpu_alloc(timing->gpu, &timing->memory, timing->bytes, err));
    if (!rc && workspace)
        rc = gt_gpu_alloc(timing->gpu, &timing->workspace, workspace, err);
    for (size_t i = 0; i <= timing->count && !rc; i++)
        rc = gt_event_new(&timing->event[i], timing->gpu, err);
    return rc ? rc : fill(timing, err);
}

static int launch(struct timing *timing, size_t i, struct gt_err *err)
{
    const struct gt_problem *p = timing->problem;
    char *set = (char *)(uintptr_t)timing->memory + timing->next++ % timing->sets * timing->set;
    struct gt_args args;
    struct gt_more more;

    gt_module_args(&args, p);
    gt_module_more(&more, p);
    memcpy(args.launch, timing->contestant[i].geometry->launch_param, sizeof(args.launch));
    args.a = set;
    args.b = set + timing->at[1];
    args.c = args.d = set + timing->at[2];
    args.bias = set + timing->at[3];
    args.workspace = (void *)(uintptr_t)timing->workspace;
    args.alpha = (float)p->alpha;
    args.beta = (float)p->beta;
    return gt_module_run(timing->module[i], NULL, &args, &more, err);
}

static void leave(struct timing *timing, size_t i)
{
    gt_module_free(timing->module[i]);
    timing->module[i] = NULL;
}

/* Runs every contestant once; each round begins with another contestant. */
static int play(struct timing *timing, size_t round, bool counts, struct gt_err *err)
{
    size_t played[GT_PLAN_TIMED], plays = 0;
    int rc = gt_event_record(timing->event[0], err);

    for (size_t j = 0; j < timing->count && !rc; j++) {
        const size_t i = (round + j) % timing->count;

        if (!timing->module[i])
            continue;
        rc = launch(timing, i, err);
        if (rc == GT_ERANGE) { /* the launch was refused, but the device still works */
            leave(timing, i);
            rc = GT_OK;
            continue;
        }
        GT_STEP(rc, gt_event_record(timing->event[plays + 1], err));
        played[plays++] = i;
    }
    for (size_t k = 0; k < plays && !rc; k++) {
        float us;

        rc = gt_event_us(timing->event[k], timing->event[k + 1], &us, err);
        if (!rc && counts)
            timing->sample[played[k]][timing->samples[played[k]]++] = us;
    }
    return rc;
}

/* Computes the medians so far; returns their sum, and sets *best to the least median. */
static double medians(struct timing *timing, double *best)
{
    double sum = 0;

    *best = 0;
    for (size_t i = 0; i < timing->count; i++) {
        double us;

        if (!timing->module[i] || !timing->samples[i])
            continue;
        us = timing->contestant[i].us = gt_median(timing->sample[i], timing->samples[i]);
        sum += us;
        if (*best == 0 || us < *best)
            *best = us;
    }
    return sum;
}

static int race(struct timing *timing, struct gt_err *err)
{
    double best, round_us = 0, spent_us = 0;
    int rc = play(timing, 0, false, err); /* an uncounted round that loads the code */

    for (int round = 0; round < ROUNDS_MOST && !rc; round++) {
        if (round >= ROUNDS_LEAST && spent_us + round_us > TIME_US)
            break;
        rc = play(timing, (size_t)round, true, err);
        round_us = medians(timing, &best);
        spent_us += round_us;
        if (round + 1 != ROUNDS_LEAST)
            continue;
        for (size_t i = 0; i < timing->count; i++)
            if (timing->module[i] && timing->contestant[i].us > BEHIND * best)
                leave(timing, i);
    }
    return rc;
}

int gt_plan_time(int ordinal, const struct gt_problem *problem, struct gt_contestant *contestant,
                 size_t count, struct gt_err *err)
{
    struct timing *timing = calloc(1, sizeof(*timing));
    int rc = timing ? GT_OK : gt_err_nomem(err);

    if (rc)
        return rc;
    timing->problem = problem;
    timing->contestant = contestant;
    timing->count = count < GT_PLAN_TIMED ? count : GT_PLAN_TIMED;
    rc = gt_gpu_open(&timing->gpu, ordinal, false, err);
    for (size_t i = 0; i < timing->count && !rc; i++)
        if (contestant[i].binary->size &&
            gt_module_load(&timing->module[i], timing->gpu, contestant[i].binary->image,
                           contestant[i].binary->size, contestant[i].geometry, NULL))
            timing->module[i] = NULL;
    GT_STEP(rc, allocate(timing, err));
    GT_STEP(rc, race(timing, err));
    for (size_t i = 0; timing->gpu && i < GT_PLAN_TIMED; i++)
        leave(timing, i);
    for (size_t i = 0; i <= GT_PLAN_TIMED; i++)
        gt_event_free(timing->event[i]);
    if (timing->gpu) {
        gt_gpu_free(timing->gpu, timing->memory);
        gt_gpu_free(timing->gpu, timing->workspace);
    }
    gt_gpu_close(timing->gpu);
    free(timing);
    return rc;
}

/* ---- GT_PLAN_MEASURE: an untuned problem's first candidates are timed once ----
 *
 * The model of a look-up cannot rank candidates within some per cent of each other; times can.  The
 * timing runs in a thread of its own, so that the caller's thread keeps its context and its stream
 * capture.  Winners are remembered as long as the struct gt is open. */

/* A problem whose candidates were timed. */
struct gt_timed_problem {
    struct gt_lookup_key key;
    struct gt_choice winner; /* winner.us is the timed median */
    int timed;               /* number of candidates that were timed */
};

struct measuring {
    struct gt *gt;
    int ordinal;
    const struct gt_resolved *resolved; /* the answer without measuring */
    struct gt_choice choice[GT_PLAN_TIMED];
    struct gt_resolved candidate[GT_PLAN_TIMED]; /* choices with their geometries */
    struct gt_binary binary[GT_PLAN_TIMED];
    struct gt_contestant contestant[GT_PLAN_TIMED];
    size_t count;
    int rc;
};

#define WORTH 0.99 /* another candidate must take at most this share of the answer's time */

/* The index of the fastest contestant if it is clearly faster than the answer; else 0, which is the
 * answer. */
static size_t winner_of(const struct measuring *m, int *timed)
{
    const struct gt_contestant *contestant = m->contestant;
    size_t best = 0;

    *timed = 0;
    for (size_t i = 0; i < m->count; i++) {
        *timed += contestant[i].us > 0;
        if (contestant[i].us > 0 && (!(contestant[best].us > 0) ||
                                     contestant[i].us < contestant[best].us * (best ? 1 : WORTH)))
            best = i;
    }
    return best;
}

/* Makes the winner the answer; false: memory ran out, and the answer stays. */
static bool take(const struct gt_timed_problem *problem, struct gt_resolved *resolved)
{
    if (!gt_resolved_same(resolved, problem->winner.kernel, &problem->winner.point) &&
        gt_lookup_take_choice(&problem->winner, resolved, NULL))
        return false;
    resolved->answer.expected_us = problem->winner.us;
    resolved->answer.measured = problem->timed;
    return true;
}

/* Lists the answer, then the other candidates of the ranking. */
static int list(struct measuring *m)
{
    const struct gt_resolved *resolved = m->resolved;
    struct gt_choices choices;
    int rc = gt_lookup_alternatives(&m->gt->sources, resolved, &choices, NULL);

    if (rc || !choices.count)
        return rc ? rc : GT_ENOTFOUND;
    m->choice[0] = (struct gt_choice){.kernel = resolved->kernel, .point = resolved->point};
    m->count = 1;
    for (size_t i = 0; i < choices.count && m->count < GT_PLAN_TIMED; i++)
        if (!gt_resolved_same(resolved, choices.choice[i].kernel, &choices.choice[i].point))
            m->choice[m->count++] = choices.choice[i];
    return GT_OK;
}

#define COMPILE_S 10.0 /* seconds after which no further candidate is compiled */

/* Compiles while there is time; a candidate that does not compile leaves the race. */
static int compile_all(struct measuring *m)
{
    const double begin_s = gt_clock_s();
    int rc = GT_OK;

    for (size_t i = 0; i < m->count && !rc; i++) {
        struct gt_resolved *candidate = &m->candidate[i];

        rc = gt_resolved_with(candidate, m->resolved, &m->choice[i], NULL);
        m->contestant[i] = (struct gt_contestant){&candidate->geometry, &m->binary[i], 0};
        if (!rc && (!i || gt_clock_s() - begin_s < COMPILE_S))
            gt_plan_binary(gt_lookup_options(m->gt), candidate, NULL, &m->binary[i], NULL, NULL);
    }
    return rc;
}

static void *measure(void *context)
{
    struct measuring *m = context;

    m->rc = list(m);
    if (!m->rc && m->count > 1)
        m->rc = compile_all(m);
    if (!m->rc && m->count > 1)
        m->rc = gt_plan_time(m->ordinal, &m->resolved->problem, m->contestant, m->count, NULL);
    return NULL;
}

/* Remembers the winner.  Without memory the winner is not kept, and the problem is timed again next
 * time. */
static void remember(struct gt_timed *timed, const struct gt_timed_problem *problem)
{
    if (timed->count == GT_TIMED_KEPT) {
        timed->item[timed->next++ % GT_TIMED_KEPT] = *problem;
        return;
    }
    if (GT_ARRAY_RESERVE(&timed->item, timed->count + 1, &timed->capacity, NULL) == GT_OK)
        timed->item[timed->count++] = *problem;
}

/* Times the candidates; the winner's binary is handed over. */
static void measure_now(struct gt *gt, int ordinal, const struct gt_lookup_key *key,
                        struct gt_resolved *resolved, struct gt_binary *binary)
{
    struct measuring *m = calloc(1, sizeof(*m));
    struct gt_timed_problem problem = {.key = *key};
    pthread_t thread;
    size_t winner;

    if (!m)
        return;
    m->gt = gt;
    m->ordinal = ordinal;
    m->resolved = resolved;
    if (pthread_create(&thread, NULL, measure, m) == 0) {
        pthread_join(thread, NULL);
        winner = winner_of(m, &problem.timed);
        if (!m->rc && problem.timed > 1) {
            problem.winner = m->choice[winner];
            problem.winner.us = m->contestant[winner].us;
            remember(&gt->timed, &problem);
            if (take(&problem, resolved)) {
                *binary = m->binary[winner];
                m->binary[winner] = (struct gt_binary){0};
            }
        }
    }
    for (size_t i = 0; i < m->count; i++)
        gt_binary_release(&m->binary[i]);
    free(m);
}

static const struct gt_timed_problem *find(const struct gt_timed *timed,
                                           const struct gt_lookup_key *key)
{
    for (size_t i = 0; i < timed->count; i++)
        if (memcmp(&timed->item[i].key, key, sizeof(*key)) == 0)
            return &timed->item[i];
    return NULL;
}

/* GT_PLAN_MEASURE: replaces an answer that nobody timed on this problem by the fastest of the first
 * candidates, which are timed now or were timed by an earlier call.  *binary: the winner's binary,
 * to be released; empty if the answer stays or was remembered.  A failure leaves the answer as it
 * is. */
static void replace_by_timing(struct gt *gt, int ordinal, struct gt_resolved *resolved,
                              struct gt_binary *binary)
{
    const struct gt_problem *p = &resolved->problem;
    const struct gt_timed_problem *known;
    struct gt_lookup_key key;

    if (resolved->answer.tier != GT_TIER_NEAR || p->k == 0 || gt_problem_results(p) == 0)
        return;
    memset(&key, 0, sizeof(key));
    gt_lookup_device_key(&key, &resolved->device, p);
    pthread_mutex_lock(&gt->timed.lock);
    known = find(&gt->timed, &key);
    if (known)
        take(known, resolved);
    else
        measure_now(gt, ordinal, &key, resolved, binary);
    pthread_mutex_unlock(&gt->timed.lock);
}

/* ---- plans ---- */

/* The alignment that the plan was made for, which is at least the size of an element, and, if
 * cuBLASLt's algorithm runs, the alignment that the algorithm was chosen for. */
static uintptr_t alignment_of(const struct gt_plan *plan, enum gt_dtype type)
{
    const struct gt_problem *p = &plan->resolved.problem;
    const uintptr_t size = (uintptr_t)gt_dtype_size(type);
    const uintptr_t align = plan->vendor ? gt_cublaslt_alignment(p) : p->align;

    return align > size ? align : size;
}

static void fill_args(struct gt_plan *plan)
{
    const struct gt_problem *p = &plan->resolved.problem;

    plan->empty = !p->m || !p->n || !p->k;
    gt_module_args(&plan->args, p);
    for (size_t i = 0; i < plan->resolved.geometry.launches; i++)
        plan->more |= plan->resolved.geometry.launch[i].more;
    memcpy(plan->args.launch, plan->resolved.geometry.launch_param, sizeof(plan->args.launch));
    plan->misaligned_in = alignment_of(plan, p->type) - 1;
    plan->misaligned_out = alignment_of(plan, p->out) - 1;
    plan->misaligned_workspace = (plan->vendor ? GT_CUBLASLT_WORKSPACE : 16) - 1;
}

/* Adds the compiler's version to the driver's words, if it tells why the code is refused. */
static int explain(const struct gt_plan *plan, int nvrtc, int rc, struct gt_err *err)
{
    const struct gt_device *device = gt_gpu_device(plan->gpu);

    if (rc != GT_ERANGE || gt_device_takes_code(device, nvrtc))
        return rc;
    return gt_err_prefix(err, rc,
                         "kernel %s was compiled by NVRTC %d.%d, which this driver of CUDA %d.%d "
                         "does not take; it needs NVRTC %d or a newer driver",
                         plan->resolved.kernel->name, nvrtc / 1000, nvrtc % 1000 / 10,
                         device->driver / 1000, device->driver % 1000 / 10, device->driver / 1000);
}

/* Gets the code, unless the binary has it already, and loads it.  If the driver refuses the code,
 * code of another version of NVRTC is tried; if there is none, the first refusal is the error. */
static int load_code(struct gt_plan *plan, struct gt *gt, struct gt_binary *binary,
                     struct gt_err *err)
{
    struct gt_refused refused = {.count = 0};
    int nvrtc = 0, rc, first = GT_OK;
    struct gt_err why;

    do {
        if (first)
            gt_binary_release(binary);
        rc = binary->size ? GT_OK
                          : gt_plan_binary(gt_lookup_options(gt), &plan->resolved, &refused, binary,
                                           &nvrtc, &why);
        if (!rc) {
            avoid_spills(gt, &plan->resolved, binary, &nvrtc);
            rc = explain(plan, nvrtc,
                         gt_module_load(&plan->module, plan->gpu, binary->image, binary->size,
                                        &plan->resolved.geometry, &why),
                         &why);
        }
        if (rc && !first)
            first = gt_err_pass(err, &why, rc);
    } while (rc == GT_ERANGE && add_refused(&refused, nvrtc));
    return rc ? first : GT_OK;
}

/* Loads the module; binary is empty unless the code is already at hand. */
static int load(struct gt_plan *plan, struct gt *gt, struct gt_binary *binary, struct gt_err *err)
{
    return plan->shared ? gt_deployed_module(gt_lookup_deployed(gt), plan->gpu, plan->resolved.item,
                                             &plan->module, err)
                        : load_code(plan, gt, binary, err);
}

/* Prepares cuBLASLt's algorithm if the answer has an algorithm that may be run.  An algorithm may
 * not be run if the library takes factors as f16, or if the library must be told the bias before
 * each run, which threads could not do at the same time.  Without the algorithm, for whatever
 * reason, the kernel runs. */
static void prefer_vendor(struct gt_plan *plan, const struct gt_options *options)
{
    const struct gt_problem *p = &plan->resolved.problem;
    struct gt_answer *answer = &plan->resolved.answer;
    const struct gt_cublaslt_recipe recipe = {0};

    if (answer->cublaslt && options->allow_cublaslt && !(p->epilogue & GT_EPILOGUE_BIAS) &&
        p->acc != GT_F16 && gt_problem_plain(p) &&
        gt_cublaslt_open(&plan->vendor, plan->gpu, p, &recipe, NULL) == GT_OK &&
        gt_cublaslt_parse(&plan->algo, plan->vendor->version, answer->cublaslt, NULL) == GT_OK) {
        answer->workspace_bytes = plan->algo.workspace;
        return;
    }
    gt_cublaslt_close(plan->vendor);
    plan->vendor = NULL;
    answer->cublaslt = NULL;
}

static int make(struct gt_plan *made, struct gt *gt, int ordinal, const struct gt_problem *problem,
                struct gt_err *err)
{
    struct gt_deployed *deployed = gt_lookup_deployed(gt);
    const struct gt_options *options = gt_lookup_options(gt);
    const struct gt_answer *answer = &made->resolved.answer;
    struct gt_binary binary = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = deployed ? gt_deployed_gpu(deployed, ordinal, &made->gpu, err)
                      : gt_gpu_open(&made->gpu, ordinal, true, err);

    made->shared = deployed;
    GT_STEP(rc, gt_lookup_device(gt, gt_gpu_device(made->gpu), problem, &made->resolved, err));
    if (!rc && answer->tier == GT_TIER_NONE) {
        gt_problem_format(problem, text);
        rc = gt_err_set(err, GT_ENOTFOUND, "%s %s on %s%s%.400s",
                        deployed ? "no answer for" : "no kernel serves", text,
                        gt_gpu_device(made->gpu)->name, answer->passed_over ? ": " : "",
                        answer->passed_over ? answer->passed_over : "");
    }
    if (!rc)
        prefer_vendor(made, options);
    if (!rc && !made->vendor && !deployed && options->plan_mode == GT_PLAN_MEASURE)
        replace_by_timing(gt, ordinal, &made->resolved, &binary);
    if (!rc && !made->vendor)
        rc = load(made, gt, &binary, err);
    if (!rc)
        fill_args(made);
    gt_binary_release(&binary);
    return rc;
}

int gt_plan(struct gt_plan **plan, struct gt *gt, int ordinal, const struct gt_problem *problem,
            struct gt_err *err)
{
    struct gt_plan *made = calloc(1, sizeof(*made));
    struct gt_err inner;
    int rc;

    *plan = NULL;
    if (!made)
        return gt_err_nomem(err);
    rc = make(made, gt, ordinal, problem, &inner);
    if (rc)
        gt_plan_free(made);
    else
        *plan = made;
    return gt_err_pass(err, &inner, rc);
}

void gt_plan_free(struct gt_plan *plan)
{
    if (!plan)
        return;
    gt_cublaslt_close(plan->vendor);
    if (!plan->shared) {
        gt_module_free(plan->module);
        gt_gpu_close(plan->gpu);
    }
    gt_resolved_release(&plan->resolved);
    free(plan);
}

const struct gt_answer *gt_plan_answer(const struct gt_plan *plan)
{
    return &plan->resolved.answer;
}

static int refuse_alignment(const struct gt_plan *plan, const struct gt_operands *o,
                            struct gt_err *err)
{
    const struct {
        const char *name;
        const void *at;
        uintptr_t misaligned;
    } pointer[] = {{"operand a", o->a, plan->misaligned_in},
                   {"operand b", o->b, plan->misaligned_in},
                   {"operand c", o->beta != 0 ? o->c : NULL, plan->misaligned_out},
                   {"operand d", o->d, plan->misaligned_out},
                   {"bias", o->bias, plan->misaligned_out},
                   {"workspace", o->workspace, plan->misaligned_workspace}};
    size_t i = 0;

    while (i < sizeof(pointer) / sizeof(*pointer) - 1 &&
           !((uintptr_t)pointer[i].at & pointer[i].misaligned))
        i++;
    return gt_err_set(err, GT_ERANGE, "%s is at %p; the plan %s multiples of %d bytes",
                      pointer[i].name, pointer[i].at,
                      plan->vendor ? "runs an algorithm of cuBLASLt, which needs" : "was made for",
                      (int)pointer[i].misaligned + 1);
}

/* The first operand that the problem names and that is not there; NULL: none. */
static const char *absent_word(const struct gt_problem *p, const struct gt_operands *o)
{
    const struct gt_operands none = {0};
    const struct gt_operands *given = o->size ? o : &none;
    const struct {
        const char *name;
        bool asked, there;
    } words[] = {
        {"scale_a", p->scale_a.kind, given->scale_a},
        {"scale_b", p->scale_b.kind, given->scale_b},
        {"scale_d", p->scale_d.kind, given->scale_d},
        {"scale_a_tensor", p->scale_a.tensor, given->scale_a_tensor},
        {"scale_b_tensor", p->scale_b.tensor, given->scale_b_tensor},
        {"zero_a", p->zero_a, given->zero_a},
        {"zero_b", p->zero_b, given->zero_b},
        {"sizes", p->groups, given->sizes},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (words[i].asked && !words[i].there)
            return words[i].name;
    return NULL;
}

int gt_plan_refuse(const struct gt_plan *plan, const struct gt_operands *o, struct gt_err *err)
{
    const struct gt_problem *p = &plan->resolved.problem;
    const char *absent = absent_word(p, o);

    if (absent)
        return gt_err_set(
            err, GT_ERANGE, "operand %s is NULL; the plan was made for a problem that has it%s",
            absent, o->size ? "" : " (and operands.size is 0: begin with GT_OPERANDS_INIT)");
    if (o->beta != 0 && p->beta == 0)
        return gt_err_set(err, GT_ERANGE, "beta is %g; the plan was made for beta 0",
                          (double)o->beta);
    if (!o->a || !o->b || !o->d || (!o->c && o->beta != 0))
        return gt_err_set(err, GT_ERANGE, "operand %s is NULL",
                          !o->a   ? "a"
                          : !o->b ? "b"
                          : !o->d ? "d"
                                  : "c, with beta not 0,");
    if (!o->bias && p->epilogue & GT_EPILOGUE_BIAS)
        return gt_err_set(err, GT_ERANGE, "bias is NULL; the plan adds one");
    if (!o->workspace && plan->resolved.answer.workspace_bytes)
        return gt_err_set(err, GT_ERANGE, "workspace is NULL; the plan needs %zu bytes",
                          plan->resolved.answer.workspace_bytes);
    if (p->out == GT_S32 && !gt_operands_whole(o))
        return gt_err_set(err, GT_ERANGE,
                          "alpha is %g, beta %g; where D is s32 they must be whole numbers from "
                          "%d to %d",
                          (double)o->alpha, (double)o->beta, INT32_MIN, INT32_MAX);
    return refuse_alignment(plan, o, err);
}

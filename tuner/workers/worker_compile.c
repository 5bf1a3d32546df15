/* worker_compile.c - the process that compiles: the process gets a source, stores a cubin in the
 * cache and sends the compiler's facts.
 *
 * NVRTC can loop, crash or use up all memory.  This process therefore has limits, with which the
 * operating system ends it; compile_slot.c makes its end a status of the candidate. */
#include "base/err.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "workers/compile_pool.h"
#include "workers/process.h"
#include "workers/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define REPLY_MS  60000
#define NICENESS  5     /* so that supervisor and GPU worker do not wait for a core */
#define TRIM_PART 32    /* the cache is trimmed after 1/32 of its limit was added */
#define LOG_MAX   65536 /* bytes of a compiler's log that are sent */

struct compiler {
    struct gt_wire wire;
    struct gt_strbuf reply;
    struct gt_nvrtc *nvrtc;
    char *cache_dir;
    double cpu_s;
    int64_t saved;    /* bytes added since the cache was last trimmed below its limit */
    char remark[512]; /* why the cache refused this cubin; empty: the cache took the cubin */
};

/* Sets a soft limit, at most to the hard limit that was inherited. */
static void limit(int resource, rlim_t value)
{
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t)resource, &now))
        return;
    now.rlim_cur = value < now.rlim_max ? value : now.rlim_max;
    setrlimit((__rlimit_resource_t)resource, &now);
}

/* Bytes of address space in use; 0: not known. */
static int64_t mapped_bytes(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    long long pages = 0;

    if (!statm)
        return 0;
    if (fscanf(statm, "%lld", &pages) != 1)
        pages = 0;
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Limits the CPU time from now on to what one compilation may take; SIGXCPU ends the process. */
static void limit_cpu(double seconds)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    limit(RLIMIT_CPU,
          (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + (time_t)ceil(seconds)));
}

static int setup(struct compiler *self, struct gt_err *err)
{
    struct gt_wire_in in;
    int64_t memory;
    int rc = gt_wire_receive(&self->wire, &in, -1, err);

    if (rc < 0)
        return rc;
    self->cache_dir = strdup(gt_wire_get_text(&in));
    memory = gt_wire_get_int(&in);
    self->cpu_s = gt_wire_get_real(&in);
    if (in.type != GT_MSG_HELLO || gt_wire_finish(&in, err))
        return gt_err_set(err, GT_ESYNTAX, "the first message of the supervisor is not HELLO");
    if (!self->cache_dir)
        return gt_err_nomem(err);
    limit(RLIMIT_CORE, 0);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    /* Memory that is mapped already does not count: a sanitizer's shadow memory has terabytes. */
    limit(RLIMIT_AS, (rlim_t)(mapped_bytes() + memory));
    return gt_nvrtc_open(&self->nvrtc, err);
}

static int send_setup(struct compiler *self, int rc, const struct gt_err *err)
{
    if (rc) {
        gt_wire_begin(&self->reply, GT_MSG_FAILED);
        gt_wire_put_int(&self->reply, rc);
        gt_wire_put_text(&self->reply, err->msg);
    } else {
        gt_wire_begin(&self->reply, GT_MSG_READY);
        gt_wire_put_int(&self->reply, gt_nvrtc_version(self->nvrtc));
    }
    return gt_wire_send(self->wire.fd, &self->reply, REPLY_MS, NULL);
}

/* Stores a cubin in the cache and trims the cache from time to time.  If the cache refuses it, the
 * cubin goes to the folder of the supervisor's run, and self->remark says why.  twice: the cubin
 * goes to both. */
static int keep(struct compiler *self, const char *key, const struct gt_binary *binary, bool twice,
                struct gt_err *err)
{
    struct gt_err why = {0};
    int64_t limit;

    if (gt_cache_save(self->cache_dir, key, binary, &why) == GT_OK) {
        if (twice)
            gt_cache_spill_save(getppid(), key, binary, NULL);
        self->saved += (int64_t)binary->size;
        if (gt_cache_limit(&limit, NULL) == GT_OK && self->saved > limit / TRIM_PART) {
            gt_cache_trim(self->cache_dir, limit, NULL, NULL);
            self->saved = 0;
        }
        return GT_OK;
    }
    snprintf(self->remark, sizeof(self->remark), "%s", why.msg);
    return gt_cache_spill_save(getppid(), key, binary, err) ? gt_err_set(err, GT_EIO, "%s", why.msg)
                                                            : GT_OK;
}

/* Compiles and stores one candidate.  binary->log has the log of a source that does not compile. */
static int compile_one(struct compiler *self, struct gt_wire_in *in, struct gt_binary *binary,
                       struct gt_err *err)
{
    struct gt_compile_request request;
    const char *key;
    bool twice;
    int rc;

    gt_wire_get_struct(in, &request, sizeof(request));
    key = gt_wire_get_text(in);
    request.source = gt_wire_get_text(in);
    request.name = gt_wire_get_text(in);
    request.include_dirs = gt_wire_get_text(in);
    twice = gt_wire_get_int(in) != 0;
    rc = gt_wire_finish(in, err);
    if (rc)
        return rc;
    *self->remark = '\0';
    limit_cpu(self->cpu_s);
    rc = gt_compile(self->nvrtc, &request, binary, err);
    return rc || !*key ? rc : keep(self, key, binary, twice, err); /* the known source has no key */
}

static int serve(struct compiler *self, struct gt_wire_in *in)
{
    struct gt_binary binary = {0};
    struct gt_err err = {0};
    int rc = compile_one(self, in, &binary, &err);
    const char *log = rc == GT_ENVRTC && binary.log ? binary.log : "";
    struct gt_compiled compiled = {.registers = binary.registers,
                                   .spill_bytes = binary.spill_bytes,
                                   .static_shared = binary.static_shared,
                                   .ms = binary.ms,
                                   .result = binary.result};

    if (rc == GT_ESYNTAX)
        return rc;
    if (!rc) {
        gt_log_serialized(binary.log, compiled.serialized);
        gt_log_static_shared(binary.log, compiled.shared_of);
    }
    gt_wire_begin(&self->reply, GT_MSG_COMPILED);
    gt_wire_put_int(&self->reply, rc);
    gt_wire_put_text(&self->reply, rc ? err.msg : self->remark);
    gt_wire_put_bytes(&self->reply, log, strnlen(log, LOG_MAX));
    gt_wire_put_bytes(&self->reply, &compiled, sizeof(compiled));
    gt_binary_release(&binary);
    return gt_wire_send(self->wire.fd, &self->reply, REPLY_MS, NULL);
}

int gt_worker_compile_main(int fd)
{
    struct compiler self = {.reply = GT_STRBUF_INIT};
    struct gt_err err = {0};
    struct gt_wire_in in;
    int rc, code = GT_WORKER_DONE;

    gt_wire_init(&self.wire, fd);
    rc = setup(&self, &err);
    if (rc == GT_EIO && !self.cache_dir) /* the supervisor ended before its first message */
        goto out;
    if (send_setup(&self, rc, &err) || rc) {
        code = GT_WORKER_SETUP;
        goto out;
    }
    while ((rc = gt_wire_receive(&self.wire, &in, -1, &err)) > 0) {
        rc = in.type == GT_MSG_COMPILE ? serve(&self, &in) : GT_ESYNTAX;
        if (rc)
            break;
    }
    code = rc == GT_ESYNTAX ? GT_WORKER_PROTOCOL : GT_WORKER_DONE;
out:
    gt_nvrtc_close(self.nvrtc);
    free(self.cache_dir);
    gt_strbuf_release(&self.reply);
    gt_wire_release(&self.wire);
    return code;
}

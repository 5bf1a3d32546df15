/* plan_binary.c - the machine code of an answer: a stored cubin that the device's driver takes, or
 * compiled.  Part of gt_plan: see lookup.h and plan_impl.h.
 *
 * A cache may hold cubins of several versions of the compiler: machines with other drivers share
 * it, or the driver was a newer one once. */
#include "lookup/plan_impl.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "kernel/render.h"

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

static bool is_refused(const struct gt_refused *refused, int version)
{
    for (int i = 0; refused && i < refused->count; i++)
        if (refused->version[i] == version)
            return true;
    return false;
}

bool gt_refused_add(struct gt_refused *refused, int version)
{
    if (!version || refused->count == GT_REFUSED_MOST || is_refused(refused, version))
        return false;
    refused->version[refused->count++] = version;
    return true;
}

/* Finds a cubin of the newest version of the compiler that the driver may take and has not refused;
 * they are equally good. */
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
    /* A binary that the cache does not take is compiled again next time. */
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

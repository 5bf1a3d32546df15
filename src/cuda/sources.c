/* sources.c - stage: compiles and loads the project's own device kernels. */
#include "cuda/sources.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "cuda/compile.h"

static int read_source(struct gt_strbuf *source, const char *data_dir,
                       const struct gt_program_sources *sources, struct gt_err *err)
{
    struct gt_strbuf path = GT_STRBUF_INIT;
    int rc = GT_OK;

    for (size_t i = 0; i < GT_SOURCES_MAX && sources->file[i] && !rc; i++) {
        gt_strbuf_reset(&path);
        gt_strbuf_addf(&path, "%s/templates/%s", data_dir, sources->file[i]);
        gt_strbuf_addf(source, "#line 1 \"templates/%s\"\n", sources->file[i]);
        rc = gt_strbuf_check(&path, err);
        GT_STEP(rc, gt_strbuf_add_file(source, path.text, err));
    }
    gt_strbuf_release(&path);
    return rc ? rc : gt_strbuf_check(source, err);
}

/* Takes the cubin from the cache, or compiles and stores it; a cache that cannot be written to is
 * not an error. */
static int get_binary(struct gt_binary *binary, struct gt_nvrtc *nvrtc, const char *cache_dir,
                      const struct gt_compile_request *request, struct gt_err *err)
{
    char key[GT_DIGEST_HEX];
    int rc = gt_cache_key(key, NULL, request, gt_nvrtc_version(nvrtc), err);

    if (rc || (cache_dir && gt_cache_load(cache_dir, key, binary, NULL) == GT_OK))
        return rc;
    rc = gt_compile(nvrtc, request, binary, err);
    if (!rc && cache_dir)
        gt_cache_save(cache_dir, key, binary, NULL);
    return rc;
}

int gt_sources_compile(struct gt_binary *binary, int cc, struct gt_nvrtc *nvrtc,
                       const char *data_dir, const char *cache_dir,
                       const struct gt_program_sources *sources, struct gt_err *err)
{
    struct gt_strbuf source = GT_STRBUF_INIT, include = GT_STRBUF_INIT;
    struct gt_compile_request request = {.name = sources->name, .arch = cc, .device_cc = cc};
    int rc = read_source(&source, data_dir, sources, err);

    gt_strbuf_addf(&include, "%s/templates", data_dir);
    GT_STEP(rc, gt_strbuf_check(&include, err));
    request.source = source.text;
    request.include_dirs = include.text;
    GT_STEP(rc, get_binary(binary, nvrtc, cache_dir, &request, err));
    gt_strbuf_release(&include);
    gt_strbuf_release(&source);
    return rc ? gt_err_prefix(err, rc, "the kernels of %s", sources->name) : GT_OK;
}

int gt_program_build(struct gt_program **program, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                     const char *data_dir, const char *cache_dir,
                     const struct gt_program_sources *sources, const char *const *entry,
                     size_t entries, struct gt_err *err)
{
    struct gt_binary binary = {0};
    int rc = gt_sources_compile(&binary, gt_gpu_device(gpu)->cc, nvrtc, data_dir, cache_dir,
                                sources, err);

    *program = NULL;
    if (!rc) {
        rc = gt_program_load(program, gpu, binary.image, entry, entries, err);
        if (rc)
            gt_err_prefix(err, rc, "the kernels of %s", sources->name);
    }
    gt_binary_release(&binary);
    return rc;
}

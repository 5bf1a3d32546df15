/* cmd_try_keep.c - writes what --keep asks for: source, PTX, cubin, SASS and the log. */
#include <limits.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_compile.h"
#include "console/cmd_write.h"
#include "measure/cmd_try.h"
#include "kernel/render.h"

extern char **environ;

/* Writes DIR/<kernel>.<suffix>; path may be NULL. */
static int write_part(const struct gt_try *attempt, const char *suffix, const void *bytes,
                      size_t size, char *path, struct gt_err *err)
{
    char name[PATH_MAX];
    int rc;

    snprintf(name, sizeof(name), "%s/%s.%s", attempt->keep, attempt->candidate.kernel->name,
             suffix);
    rc = gt_cmd_write_bytes(name, bytes, size, err);
    if (path)
        snprintf(path, PATH_MAX, "%s", name);
    return rc;
}

/* Runs a disassembler with its output in `to`; false if it is not there or fails. */
static bool disassemble(const char *const *argv, const char *to)
{
    struct gt_cmd_output output;
    posix_spawn_file_actions_t actions;
    int status = -1;
    pid_t pid;

    if (gt_cmd_output_open(&output, to, NULL))
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(output.file), 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    /* The cast: posix_spawn does not write to its arguments. */
    if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0)
        waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return gt_cmd_output_close(&output, status ? GT_EIO : GT_OK, NULL) == GT_OK;
}

/* Disassembles with the tools of a folder, "" for those on the path. */
static bool disassemble_with(const char *folder, const char *cubin, const char *to)
{
    char nvdisasm[PATH_MAX], cuobjdump[PATH_MAX];

    snprintf(nvdisasm, sizeof(nvdisasm), "%s%snvdisasm", folder, *folder ? "/bin/" : "");
    snprintf(cuobjdump, sizeof(cuobjdump), "%s%scuobjdump", folder, *folder ? "/bin/" : "");
    return disassemble((const char *const[]){nvdisasm, "-g", cubin, NULL}, to) ||
           disassemble((const char *const[]){nvdisasm, cubin, NULL}, to) ||
           disassemble((const char *const[]){cuobjdump, "-sass", cubin, NULL}, to);
}

/* Writes the SASS with nvdisasm or cuobjdump, wherever one of them is. */
static void keep_sass(const struct gt_try *attempt, const char *cubin)
{
    const char *const folder[] = {"", secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"),
                                  "/usr/local/cuda"};
    char to[PATH_MAX];

    snprintf(to, sizeof(to), "%s/%s.sass", attempt->keep, attempt->candidate.kernel->name);
    for (size_t i = 0; i < sizeof(folder) / sizeof(*folder); i++)
        if (folder[i] && (*folder[i] || !i) && disassemble_with(folder[i], cubin, to))
            return;
    if (!attempt->cli->quiet)
        fprintf(attempt->cli->log,
                "no SASS is kept: neither nvdisasm nor cuobjdump of the CUDA toolkit is in the "
                "path, in $CUDA_HOME/bin or in /usr/local/cuda/bin\n");
}

/* Writes one image and the compiler's log. */
static int keep_image(const struct gt_try *attempt, const struct gt_geometry *geometry,
                      const char *source, enum gt_image image, struct gt_err *err)
{
    struct gt_binary binary = {0};
    char path[PATH_MAX];
    int version;
    int rc = gt_cmd_compile(&attempt->candidate, geometry, source, image, &binary, &version, err);

    if (rc == GT_ENOLIB) {
        if (!attempt->cli->quiet && image == GT_IMAGE_PTX)
            fprintf(attempt->cli->log, "no PTX, cubin and SASS are kept: %s\n",
                    err ? err->msg : "");
        rc = GT_OK;
    } else if (rc == GT_OK) {
        rc = write_part(attempt, image == GT_IMAGE_PTX ? "ptx" : "cubin", binary.image,
                        image == GT_IMAGE_PTX ? strlen(binary.image) : binary.size, path, err);
        if (!rc && image == GT_IMAGE_CUBIN)
            keep_sass(attempt, path);
    }
    if (binary.log && image == GT_IMAGE_CUBIN && (!rc || rc == GT_ENVRTC)) {
        int written =
            write_part(attempt, "log", binary.log, strlen(binary.log), NULL, rc ? NULL : err);
        rc = rc == GT_ENVRTC ? GT_OK
                             : written; /* the verdict reports a source that does not compile */
    }
    gt_binary_release(&binary);
    return rc == GT_ENVRTC ? GT_OK : rc;
}

int gt_try_keep(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_geometry geometry;
    int rc = gt_render(&source, &attempt->candidate, err);

    GT_STEP(rc, write_part(attempt, "cu", source.text, source.length, NULL, err));
    GT_STEP(rc, gt_candidate_geometry(&attempt->candidate, &geometry, err));
    GT_STEP(rc, keep_image(attempt, &geometry, source.text, GT_IMAGE_PTX, err));
    GT_STEP(rc, keep_image(attempt, &geometry, source.text, GT_IMAGE_CUBIN, err));
    gt_strbuf_release(&source);
    return rc;
}

/* cmd_compile.c - compiles one candidate; see cmd_compile.h. */
#include "console/cmd_compile.h"

#include <string.h>

#include "base/err.h"
#include "workers/compile_reason.h"

int gt_cmd_compile(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                   const char *source, enum gt_image image, struct gt_binary *binary, int *version,
                   struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_compile_request request = {
        .source = source,
        .name = kernel->template_path,
        .include_dirs = kernel->include_dirs,
        .arch = geometry->code_arch,
        .device_cc = candidate->device->cc,
        .features = geometry->arch_features,
        .ptx = image == GT_IMAGE_PTX || (image == GT_IMAGE_DEFAULT && geometry->code_ptx),
        .unassembled = image == GT_IMAGE_PTX,
        .max_registers = geometry->max_registers,
    };
    struct gt_nvrtc *nvrtc = NULL;
    int rc = gt_nvrtc_open(&nvrtc, err);

    *version = 0;
    if (rc)
        return rc;
    *version = gt_nvrtc_version(nvrtc);
    rc = gt_compile(nvrtc, &request, binary, err);
    if (rc == GT_ENVRTC && gt_known_check(nvrtc, request.device_cc, err)) {
        rc = GT_ENOLIB; /* the source is not at fault */
    } else if (rc == GT_ENVRTC && binary->log && *binary->log) {
        char reason[512];

        gt_compile_reason(reason, sizeof(reason), binary->log);
        gt_err_set(err, rc, "%.*s", (int)strcspn(reason, "\n"), reason);
    }
    gt_nvrtc_close(nvrtc);
    return rc;
}

/* driver_answer.c - the answers of cuInit by name, with what to do (driver_answer.h).  Many a
 * driver has no words for them before it has started. */
#include "workers/driver_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int result;
    const char *name, *meaning;
} answers[] = {
    {1, "CUDA_ERROR_INVALID_VALUE",
     "the driver library is not that of the kernel's module: install both anew"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY",
     "the GPU's or the host's memory is full: nvidia-smi shows whose processes hold it"},
    {3, "CUDA_ERROR_NOT_INITIALIZED",
     "the driver did not start: look at nvidia-smi and dmesg; in a container pass the GPU on "
     "(docker run --gpus all)"},
    {34, "CUDA_ERROR_STUB_LIBRARY",
     "the driver library is the toolkit's stub for linking: let LD_LIBRARY_PATH lead to the "
     "driver's own libcuda.so.1"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "another process has the GPU for itself, or its compute mode is \"prohibited\": nvidia-smi -q "
     "-d COMPUTE tells, "
     "nvidia-smi -c 0 makes it shared"},
    {100, "CUDA_ERROR_NO_DEVICE",
     "the driver sees no GPU: CUDA_VISIBLE_DEVICES may be empty or name none, the job may have "
     "none, or the container "
     "was started without --gpus"},
    {101, "CUDA_ERROR_INVALID_DEVICE",
     "CUDA_VISIBLE_DEVICES names a GPU that is not here: nvidia-smi -L lists those that are"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM",
     "the system refuses the driver's device files: /dev/nvidia* must exist and this user must be "
     "allowed to open them"},
    {800, "CUDA_ERROR_NOT_PERMITTED",
     "this process may not use the GPU: look at the limits of the container or job"},
    {801, "CUDA_ERROR_NOT_SUPPORTED",
     "this system does not support the GPU's driver: nvidia-smi and dmesg tell more"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY",
     "the system is not ready: the fabric manager of GPUs with NVSwitch does not run yet, or "
     "failed; systemctl start "
     "nvidia-fabricmanager, of the driver's version"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "the driver library and the kernel's module are of different versions: reboot after an "
     "update, or install the "
     "container's or the host's one anew"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "the forward compatibility library (cuda-compat) does not work on this GPU: take it out of "
     "LD_LIBRARY_PATH or "
     "update the driver"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "the MPS server does not answer: start it, or unset CUDA_MPS_PIPE_DIRECTORY"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE",
     "the MPS server failed: restart it (nvidia-cuda-mps-control)"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY",
     "the MPS server is not ready: wait, or restart it (nvidia-cuda-mps-control)"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
     "the MPS server has all its clients: end another one"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
     "the MPS server has all its connections: end another client"},
    {999, "CUDA_ERROR_UNKNOWN",
     "the driver failed without a reason: after a suspend or an update reload the module "
     "nvidia_uvm or reboot; dmesg "
     "tells more"},
};

void gt_driver_answer(char *text, size_t size)
{
    static const char words[] = "cuInit answers ";
    char *at = strstr(text, words), *end, *rest;
    long result;

    if (!at)
        return;
    at += strlen(words);
    result = strtol(at, &end, 10);
    if (end == at || !strncmp(end, ", CUDA_", 7)) /* it has been put there already */
        return;
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
        if (answers[i].result == result) {
            rest = strdup(end + strcspn(end, ";"));
            snprintf(end, size - (size_t)(end - text), ", %s: %s%s", answers[i].name,
                     answers[i].meaning, rest ? rest : "");
            free(rest);
            return;
        }
}

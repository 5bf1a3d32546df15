/* devices_messages.c - what the process of one GPU says to the supervisor of `tune --devices`, and
 * what its loss costs.
 *
 * A process that is lost costs the GPU its turn: the problem goes to the next GPU that is free.  So
 * does a problem of which no candidate was valid, or no final could be held: a broken GPU would
 * otherwise be the fastest to take all of them.  A GPU that fails FAILURES times in a row is given
 * up. */
#include "cluster/devices_parts.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

#define FAILURES 3   /* of a GPU's processes in a row */
#define START_S  180 /* for a process to open driver, compiler and database */

void gt_device_process_begin(struct gt_devices *devices, struct gt_device_process *gpu)
{
    struct gt_err err = {0};

    if (gt_device_process_start(devices, (size_t)(gpu - devices->gpu), &err)) {
        gpu->out = true;
        gpu->why = err;
    }
}

void gt_device_process_end(struct gt_device_process *gpu, int grace_ms, char *how, size_t size)
{
    int status;

    gt_wire_release(&gpu->wire);
    gpu->state = GT_PROCESS_NONE;
    if (gt_process_end(&gpu->process, grace_ms, &status, NULL))
        snprintf(how, size, "cannot be killed");
    else
        gt_process_describe(status, how, size);
}

void gt_device_process_lose(struct gt_devices *devices, struct gt_device_process *gpu,
                            const char *why)
{
    struct gt_task *task = gpu->task;
    char how[128] = "", sentence[512];

    gt_device_process_end(gpu, 0, how, sizeof(how));
    snprintf(sentence, sizeof(sentence), "%.300s", why ? why : how);
    gpu->task = NULL;
    if (task)
        gt_devices_end(devices, task, true);
    if (++gpu->failures >= FAILURES || gpu->class_of < 0) {
        gpu->out = true;
        gt_err_set(&gpu->why, GT_ELOST, "%s%s", why ? "" : "its process ", sentence);
        gt_devices_note(devices, gpu->ordinal, gpu->why.msg);
        return;
    }
    gt_err_set(&gpu->why, GT_ELOST, "%s%s; %s", why ? "" : "its process ", sentence,
               task ? "the problem is handed out again" : "it is started again");
    gt_devices_note(devices, gpu->ordinal, gpu->why.msg);
    gpu->why = (struct gt_err){0};
    if (!gt_devices_interrupted(devices))
        gt_device_process_begin(devices, gpu);
}

/* GPUs that are alike in name, SMs, memory, driver and power limit. */
static void classify(struct gt_devices *devices, struct gt_device_process *gpu)
{
    const struct gt_device *own = &gpu->device;

    for (size_t i = 0; i < devices->gpus && gpu->class_of < 0; i++) {
        const struct gt_device *other = &devices->gpu[i].device;

        if (devices->gpu[i].class_of >= 0 && strcmp(own->name, other->name) == 0 &&
            own->cc == other->cc && own->sms == other->sms && own->driver == other->driver &&
            own->memory_bytes == other->memory_bytes && own->power_w == other->power_w)
            gpu->class_of = devices->gpu[i].class_of;
    }
    if (gpu->class_of < 0)
        gpu->class_of = devices->classes++;
}

static void take_ready(struct gt_devices *devices, struct gt_device_process *gpu,
                       struct gt_wire_in *in)
{
    gt_wire_get_struct(in, &gpu->device, sizeof(gpu->device));
    if (gt_wire_finish(in, NULL)) {
        gt_device_process_lose(devices, gpu, "its process sent a malformed message");
        return;
    }
    gpu->state = GT_PROCESS_IDLE;
    if (gpu->class_of < 0)
        classify(devices, gpu);
}

/* The process could not open its GPU. */
static void take_failed(struct gt_devices *devices, struct gt_device_process *gpu,
                        struct gt_wire_in *in)
{
    const int code = (int)gt_wire_get_int(in);
    char how[128];

    gt_err_set(&gpu->why, code, "%s", gt_wire_get_text(in));
    if (gpu->class_of >= 0 && code != GT_EDB) {
        struct gt_err why = gpu->why;

        gt_device_process_lose(devices, gpu, why.msg);
        return;
    }
    gpu->out = true;
    gt_device_process_end(gpu, GT_DEVICES_GRACE_MS, how, sizeof(how));
}

static void take_end(struct gt_devices *devices, struct gt_device_process *gpu,
                     struct gt_wire_in *in)
{
    struct gt_task_end end = {.code = (int)gt_wire_get_int(in)};
    struct gt_task *task = gpu->task;

    end.sentence = gt_wire_get_text(in);
    end.text = gt_wire_get_text(in);
    end.valid = gt_wire_get_int(in) != 0;
    end.nothing = gt_wire_get_int(in) != 0;
    end.decided = gt_wire_get_int(in) != 0;
    end.fresh = gt_wire_get_int(in);
    end.timed = gt_wire_get_int(in);
    end.us = gt_wire_get_real(in);
    end.baseline_us = gt_wire_get_real(in);
    end.busy_s = gt_wire_get_real(in);
    end.wall_s = gt_wire_get_real(in);
    if (gt_wire_finish(in, NULL) || !task) {
        gt_device_process_lose(devices, gpu, "its process sent a malformed message");
        return;
    }
    gpu->busy_s += end.busy_s;
    devices->timed += end.timed;
    if (gt_devices_doubted(devices, gpu, &end)) {
        task->not_on = gpu;
        gt_device_process_lose(devices, gpu,
                               end.valid ? "no final could be held on it"
                                         : "no candidate was valid on it");
    } else if (!end.code || end.code == GT_EINTERRUPTED) {
        gt_devices_print(devices, gpu, &end);
        gpu->done += task->kind != GT_TASK_SEARCH && !end.code;
        devices->valid += task->kind != GT_TASK_SEARCH && end.valid;
        gpu->failures = 0;
        gpu->task = NULL;
        gpu->state = GT_PROCESS_IDLE;
        gt_devices_end(devices, task, false);
    } else if (end.code == GT_EDB || end.code == GT_ECONFIG || end.code == GT_ESTALE) {
        devices->code = gt_err_set(&devices->why, end.code, "%s", end.sentence);
    } else {
        char sentence[512];

        snprintf(sentence, sizeof(sentence), "%.500s", end.sentence);
        gt_device_process_lose(devices, gpu, sentence);
    }
}

/* A line of the process's progress, without its indent and the name that is put before it anyway.
 */
static void take_line(const struct gt_devices *devices, const struct gt_device_process *gpu,
                      const char *line)
{
    char name[24];
    int length = snprintf(name, sizeof(name), "GPU %d: ", gpu->ordinal);

    line += strspn(line, " ");
    gt_devices_note(devices, gpu->ordinal,
                    strncmp(line, name, (size_t)length) == 0 ? line + length : line);
}

static void take_message(struct gt_devices *devices, struct gt_device_process *gpu,
                         struct gt_wire_in *in)
{
    gpu->heard = gt_clock_ms();
    switch (in->type) {
    case GT_MSG_READY:
        take_ready(devices, gpu, in);
        break;
    case GT_MSG_FAILED:
        take_failed(devices, gpu, in);
        break;
    case GT_MSG_DONE:
        take_end(devices, gpu, in);
        break;
    case GT_MSG_LINE:
        take_line(devices, gpu, gt_wire_get_text(in));
        break;
    default:
        gt_device_process_lose(devices, gpu, "its process sent a malformed message");
    }
}

void gt_device_process_pump(struct gt_devices *devices, struct gt_device_process *gpu)
{
    const int64_t silence = gpu->state == GT_PROCESS_STARTING ? START_S
                            : devices->options.silence_s      ? devices->options.silence_s
                                                              : GT_DEVICES_SILENCE_S;
    struct gt_wire_in in;
    char sentence[96];
    int rc = 0;

    while (gpu->state != GT_PROCESS_NONE && !devices->code &&
           (rc = gt_wire_receive(&gpu->wire, &in, 0, NULL)) > 0)
        take_message(devices, gpu, &in);
    if (gpu->state == GT_PROCESS_NONE || devices->code)
        return;
    if (rc < 0) {
        gt_device_process_lose(devices, gpu, NULL);
    } else if (gpu->state != GT_PROCESS_IDLE && gt_clock_ms() - gpu->heard > 1000 * silence) {
        snprintf(sentence, sizeof(sentence), "its process said nothing for %lld s and was killed",
                 (long long)silence);
        gt_device_process_lose(devices, gpu, sentence);
    }
}

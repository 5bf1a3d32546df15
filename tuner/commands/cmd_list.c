/* cmd_list.c - tune list kernels|devices|strategies: the names that other commands take. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/options.h"
#include "console/terminal.h"
#include "kernel/kernel.h"
#include "problem/device.h"
#include "problem/problem.h"
#include "search/strategy.h"

struct options {
    const char *kernels_dir, *include_dirs;
};

static const struct gt_option option_table[] = {
    GT_KERNEL_DIRS(options, "a folder with descriptions of your own kernels"),
    GT_OPTIONS_END,
};

/* Room for the names of all types, and for "sm_75 to sm_120". */
#define TYPES_MAX 64
#define ARCH_MAX  24
#define NEWEST    120 /* a kernel that runs on this arch has no upper bound */

/* Writes the names of the types: "all", "all but" the only missing type, or a list. */
static void name_types(char text[TYPES_MAX], unsigned types)
{
    const unsigned operands = ((1u << GT_DTYPE_COUNT) - 1) & ~(1u << GT_S32);
    const unsigned rest = operands & ~types;
    const bool few = rest && !(rest & (rest - 1));
    size_t length = (size_t)snprintf(text, TYPES_MAX, "%s", !rest ? "all" : few ? "all but" : "");

    for (int type = 0; type < GT_DTYPE_COUNT && rest; type++)
        if ((few ? rest : types) >> type & 1)
            length += (size_t)snprintf(text + length, TYPES_MAX - length, "%s%s", length ? " " : "",
                                       gt_dtype_name((enum gt_dtype)type));
}

static void describe(const struct gt_kernel *kernel, char types[TYPES_MAX], char arch[ARCH_MAX])
{
    unsigned all = 0;
    int least = kernel->entry[0].min_cc, most = 0;

    for (size_t i = 0; i < kernel->entries; i++) {
        all |= kernel->entry[i].types;
        least = kernel->entry[i].min_cc < least ? kernel->entry[i].min_cc : least;
        most = kernel->entry[i].max_cc > most ? kernel->entry[i].max_cc : most;
    }
    name_types(types, all);
    snprintf(arch, ARCH_MAX,
             most == least   ? "sm_%d"
             : most < NEWEST ? "sm_%d-%d"
                             : "sm_%d+",
             least, most);
}

#define DOC_COLUMN 68
#define DOC_ROOM   40 /* columns; with less room the text stands below, on its own lines */

static void list_kernel(const struct gt_records *list, const struct gt_kernel *kernel, int width)
{
    const bool beside = !width || width - DOC_COLUMN >= DOC_ROOM;
    char types[TYPES_MAX], arch[ARCH_MAX], role[32];
    cJSON *json, *params;

    describe(kernel, types, arch);
    snprintf(role, sizeof(role), kernel->rung ? "rung %d" : "production", kernel->rung);
    if (list->out) {
        fprintf(list->out, "%-18s %-10s %-14s %-10s %10.4g%s", kernel->name, role, types, arch,
                gt_kernel_cross_product(kernel), beside ? "  " : "\n    ");
        gt_terminal_wrap(list->out, kernel->doc, beside ? DOC_COLUMN : 4, width);
        return;
    }
    json = gt_records_add(
        list,
        "kernel=%s role=%s rung=%d types=%s arch=%s doc=%s template=%s signature=%s points=%g",
        kernel->name, kernel->production ? "production" : "ladder", kernel->rung, types, arch,
        kernel->doc, kernel->template_path, kernel->signature, gt_kernel_cross_product(kernel));
    params = cJSON_AddArrayToObject(json, "params");
    for (size_t i = 0; i < kernel->params; i++)
        cJSON_AddItemToArray(params, cJSON_CreateString(kernel->param[i].name));
}

static int list_kernels(struct gt_cli *cli, const struct options *options, struct gt_records *list,
                        struct gt_err *err)
{
    struct gt_kernels kernels = {0};
    const int width = gt_terminal_width();
    int rc =
        gt_kernels_load(&kernels, cli->data_dir, options->kernels_dir, options->include_dirs, err);

    if (!rc)
        gt_records_open(list, cli,
                        "kernel             role       types          arch           points  what "
                        "it is");
    for (size_t i = 0; i < kernels.count && !rc; i++)
        list_kernel(list, kernels.kernel[i], width);
    gt_kernels_release(&kernels);
    return rc;
}

static int by_number(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

/* Lists the archs of configs/devices/sm_<cc>.json in ascending order. */
static int known_archs(const char *data_dir, int *cc, size_t max, size_t *count, struct gt_err *err)
{
    char path[4096];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/configs/devices", data_dir);
    dir = opendir(path);
    *count = 0;
    if (!dir)
        return gt_err_set(err, GT_EIO, "%s: cannot read the folder", path);
    while ((entry = readdir(dir)) && *count < max) {
        char *end;
        long number;

        if (strncmp(entry->d_name, "sm_", 3) != 0)
            continue;
        number = strtol(entry->d_name + 3, &end, 10);
        if (strcmp(end, ".json") == 0)
            cc[(*count)++] = (int)number;
    }
    closedir(dir);
    qsort(cc, *count, sizeof(*cc), by_number);
    return GT_OK;
}

/* TFLOP/s of a rate in operations per clock and SM. */
static double peak(const struct gt_device *device, double rate)
{
    return rate * device->sms * device->clock_mhz * 1e-6;
}

/* standard: the arch alone means this device. */
static void list_device(const struct gt_records *list, const struct gt_device *device,
                        bool standard)
{
    gt_records_add(list,
                   "cc=sm_%-5d name=%-58s .standard=%i sms=%5d clock_mhz=%10.0f "
                   "memory_gbps=%12.0f .l2_bytes=%g fp32_tflops=%6.1f f16_tflops=%6.1f",
                   device->cc, device->name, standard, device->sms, device->clock_mhz,
                   device->memory_gbps, (double)device->l2_bytes,
                   peak(device, 2.0 * device->fma_lanes),
                   peak(device, gt_device_tensor_rate(device, GT_F16)));
}

/* Lists the profile of an arch, and the other cards in the profile's file. */
static int list_arch(const struct gt_cli *cli, const struct gt_records *list, int cc,
                     struct gt_err *err)
{
    cJSON *root = NULL, *card;
    struct gt_device device;
    char path[4096];
    int rc = gt_device_profile(&device, cli->data_dir, cc, err);

    snprintf(path, sizeof(path), "%s/configs/devices/sm_%d.json", cli->data_dir, cc);
    if (!rc)
        list_device(list, &device, true);
    GT_STEP(rc, gt_json_load(&root, path, err));
    cJSON_ArrayForEach(card, cJSON_GetObjectItemCaseSensitive(root, "devices"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(card, "device"));

        if (rc || !name)
            break;
        rc = gt_device_profile_of(&device, cli->data_dir, cc, name, err);
        if (!rc)
            list_device(list, &device, false);
    }
    cJSON_Delete(root);
    return rc;
}

static int list_devices(struct gt_cli *cli, const struct options *options, struct gt_records *list,
                        struct gt_err *err)
{
    int cc[64], rc;
    size_t count;

    (void)options;
    rc = known_archs(cli->data_dir, cc, sizeof(cc) / sizeof(cc[0]), &count, err);
    if (!rc)
        gt_records_open(list, cli,
                        "arch     profile; the first one is what the arch alone means          SMs"
                        "  clock MHz  memory GB/s   FP32   FP16");
    for (size_t i = 0; i < count && !rc; i++)
        rc = list_arch(cli, list, cc[i], err);
    if (!rc && list->out)
        fputs("FP32, FP16: peak in TFLOP/s\n", list->out);
    return rc;
}

static int list_strategies(struct gt_cli *cli, const struct options *options,
                           struct gt_records *list, struct gt_err *err)
{
    (void)options;
    (void)err;
    gt_records_open(list, cli, NULL);
    for (size_t i = 0; gt_strategies[i]; i++) {
        cJSON *json = gt_records_add(list, "strategy=%-12s doc=%s", gt_strategies[i]->name,
                                     gt_strategies[i]->doc);
        const struct gt_records inner = {.list = cJSON_AddArrayToObject(json, "options"),
                                         .out = list->out};

        for (const struct gt_strategy_option *o = gt_strategies[i]->option; o && o->name; o++) {
            char text[64];

            snprintf(text, sizeof(text), "%s=%g", o->name, o->standard);
            gt_records_add(&inner, "    =%-16s .option=%s .default=%g .least=%g .most=%g doc=%s",
                           text, o->name, o->standard, o->least, o->most, o->doc);
        }
    }
    return GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    static const struct {
        const char *name;
        int (*list)(struct gt_cli *cli, const struct options *options, struct gt_records *list,
                    struct gt_err *err);
    } what[] = {
        {"kernels", list_kernels}, {"devices", list_devices}, {"strategies", list_strategies}};
    struct gt_records list = {0};

    for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
        if (strcmp(cli->argument[0], what[i].name) == 0)
            return gt_records_close(&list, cli, what[i].list(cli, fields, &list, err), err);
    return gt_err_set(err, GT_ESYNTAX, "cannot list \"%s\"; there are kernels, devices, strategies",
                      cli->argument[0]);
}

const struct gt_command gt_command_list = {
    .name = "list",
    .doc = "kernels, devices or strategies there are",
    .usage = "list kernels|devices|strategies",
    .about = "Lists what there is: kernels (configs/kernels), device profiles to predict for\n"
             "(configs/devices), or search strategies.\n",
    .group = {{option_table, 0, NULL}},
    .argument = "kernels|devices|strategies",
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};

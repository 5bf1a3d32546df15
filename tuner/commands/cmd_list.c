/* cmd_list.c - tune list kernels|devices|strategies: the names that other commands take. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "console/options.h"
#include "console/terminal.h"
#include "search/strategy.h"

struct options {
    const char *kernels_dir, *include_dirs;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, kernels_dir, "kernels-dir", 0, "DIR",
            "a folder with descriptions of your own kernels"),
    GT_TEXT(options, include_dirs, "include-dir", 'I', "DIR",
            "where templates of --kernels-dir also find headers: DIR[:DIR...]"),
    GT_OPTIONS_END,
};

/* Room for the names of all types, and for "sm_75 to sm_120". */
#define TYPES_MAX 64
#define ARCH_MAX  24
#define NEWEST    120 /* a kernel that runs there has no upper bound */

/* Writes the names of the types: "all", "all but" the one that is missing, or a list. */
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

/* Describes in words which types a kernel serves and which archs it runs on. */
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

static cJSON *kernel_json(const struct gt_kernel *kernel)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *params = cJSON_CreateArray();
    char types[TYPES_MAX], arch[ARCH_MAX];

    describe(kernel, types, arch);
    cJSON_AddStringToObject(json, "kernel", kernel->name);
    cJSON_AddStringToObject(json, "role", kernel->production ? "production" : "ladder");
    cJSON_AddNumberToObject(json, "rung", kernel->rung);
    cJSON_AddStringToObject(json, "types", types);
    cJSON_AddStringToObject(json, "arch", arch);
    cJSON_AddStringToObject(json, "doc", kernel->doc);
    cJSON_AddStringToObject(json, "template", kernel->template_path);
    cJSON_AddStringToObject(json, "signature", kernel->signature);
    cJSON_AddNumberToObject(json, "points", gt_kernel_cross_product(kernel));
    for (size_t i = 0; i < kernel->params; i++)
        cJSON_AddItemToArray(params, cJSON_CreateString(kernel->param[i].name));
    cJSON_AddItemToObject(json, "params", params);
    return json;
}

#define DOC_COLUMN 68
#define DOC_ROOM   40 /* columns; with less room the text goes below, on its own lines */

static void print_kernel(const struct gt_cli *cli, const struct gt_kernel *kernel, int width)
{
    const bool beside = !width || width - DOC_COLUMN >= DOC_ROOM;
    char types[TYPES_MAX], arch[ARCH_MAX], role[32];

    describe(kernel, types, arch);
    snprintf(role, sizeof(role), kernel->rung ? "rung %d" : "production", kernel->rung);
    fprintf(cli->out, "%-18s %-10s %-14s %-10s %10.4g%s", kernel->name, role, types, arch,
            gt_kernel_cross_product(kernel), beside ? "  " : "\n    ");
    gt_terminal_wrap(cli->out, kernel->doc, beside ? DOC_COLUMN : 4, width);
}

static int list_kernels(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    struct gt_kernels kernels = {0};
    cJSON *json = NULL;
    const int width = gt_terminal_width();
    int rc =
        gt_kernels_load(&kernels, cli->data_dir, options->kernels_dir, options->include_dirs, err);

    if (rc)
        return rc;
    if (cli->json)
        json = cJSON_CreateArray();
    else
        fprintf(cli->out, "%-18s %-10s %-14s %-10s %10s  %s\n", "kernel", "role", "types", "arch",
                "points", "what it is");
    for (size_t i = 0; i < kernels.count; i++) {
        const struct gt_kernel *kernel = kernels.kernel[i];

        if (json)
            cJSON_AddItemToArray(json, kernel_json(kernel));
        else
            print_kernel(cli, kernel, width);
    }
    if (json)
        rc = gt_cmd_print_json(cli, json, err);
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

static cJSON *device_json(const struct gt_device *device)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddNumberToObject(json, "cc", device->cc);
    cJSON_AddStringToObject(json, "name", device->name);
    cJSON_AddNumberToObject(json, "sms", device->sms);
    cJSON_AddNumberToObject(json, "clock_mhz", device->clock_mhz);
    cJSON_AddNumberToObject(json, "memory_gbps", device->memory_gbps);
    cJSON_AddNumberToObject(json, "l2_bytes", (double)device->l2_bytes);
    return json;
}

static int list_devices(struct gt_cli *cli, struct gt_err *err)
{
    cJSON *json = cli->json ? cJSON_CreateArray() : NULL;
    int cc[64], rc;
    size_t count;

    rc = known_archs(cli->data_dir, cc, sizeof(cc) / sizeof(cc[0]), &count, err);
    if (!rc && !json)
        fprintf(cli->out, "%-8s %-30s %5s %10s %12s\n", "arch", "profile", "SMs", "clock MHz",
                "memory GB/s");
    for (size_t i = 0; i < count && !rc; i++) {
        struct gt_device device;

        rc = gt_device_profile(&device, cli->data_dir, cc[i], err);
        if (rc)
            break;
        if (json)
            cJSON_AddItemToArray(json, device_json(&device));
        else
            fprintf(cli->out, "sm_%-5d %-30s %5d %10.0f %12.0f\n", cc[i], device.name, device.sms,
                    device.clock_mhz, device.memory_gbps);
    }
    if (json && !rc)
        return gt_cmd_print_json(cli, json, err);
    cJSON_Delete(json);
    return rc;
}

static void add_options(cJSON *item, const struct gt_strategy_option *option)
{
    cJSON *list = cJSON_AddArrayToObject(item, "options");

    for (; option && option->name; option++) {
        cJSON *one = cJSON_CreateObject();

        cJSON_AddStringToObject(one, "option", option->name);
        cJSON_AddNumberToObject(one, "default", option->standard);
        cJSON_AddNumberToObject(one, "least", option->least);
        cJSON_AddNumberToObject(one, "most", option->most);
        cJSON_AddStringToObject(one, "doc", option->doc);
        cJSON_AddItemToArray(list, one);
    }
}

static void print_options(struct gt_cli *cli, const struct gt_strategy_option *option)
{
    char text[64];

    for (; option && option->name; option++) {
        snprintf(text, sizeof(text), "%s=%g", option->name, option->standard);
        fprintf(cli->out, "    %-16s %s\n", text, option->doc);
    }
}

static int list_strategies(struct gt_cli *cli, struct gt_err *err)
{
    cJSON *json = cli->json ? cJSON_CreateArray() : NULL;

    for (size_t i = 0; gt_strategies[i]; i++) {
        if (json) {
            cJSON *item = cJSON_CreateObject();

            cJSON_AddStringToObject(item, "strategy", gt_strategies[i]->name);
            cJSON_AddStringToObject(item, "doc", gt_strategies[i]->doc);
            add_options(item, gt_strategies[i]->option);
            cJSON_AddItemToArray(json, item);
        } else {
            fprintf(cli->out, "%-12s %s\n", gt_strategies[i]->name, gt_strategies[i]->doc);
            print_options(cli, gt_strategies[i]->option);
        }
    }
    return json ? gt_cmd_print_json(cli, json, err) : GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const char *what = cli->argument[0];

    if (strcmp(what, "kernels") == 0)
        return list_kernels(cli, fields, err);
    if (strcmp(what, "devices") == 0)
        return list_devices(cli, err);
    if (strcmp(what, "strategies") == 0)
        return list_strategies(cli, err);
    return gt_err_set(err, GT_ESYNTAX, "cannot list \"%s\"; there are kernels, devices, strategies",
                      what);
}

const struct gt_command gt_command_list = {
    .name = "list",
    .doc = "kernels, devices or strategies there are",
    .usage = "list kernels|devices|strategies",
    .about = "Lists what there is: kernels (configs/kernels), device profiles to predict for\n"
             "(configs/devices), or search strategies.\n",
    .group = {{option_table, 0}},
    .argument = "kernels|devices|strategies",
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};

/* gpu_names.c - the arch of a GPU whose name somebody types; see gpu_names.h.  The compute
 * capabilities are those of NVIDIA's list, developer.nvidia.com/cuda-gpus. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "console/gpu_names.h"
#include "problem/device.h"

#define OLD "is older than sm_75, the first that NVRTC 13 compiles for"

/* The beginnings of names, in small letters without blanks and dashes; no digit follows in the same
 * word. */
static const struct {
    const char *name, *arch, *advice; /* advice: instead of an arch */
} names[] = {
    {"turing", "sm_75", NULL},
    {"t4", "sm_75", NULL},
    {"titanrtx", "sm_75", NULL},
    {"quadrortx", "sm_75", NULL},
    {"quadrortx3000", "sm_75", NULL},
    {"quadrortx4000", "sm_75", NULL},
    {"quadrortx5000", "sm_75", NULL},
    {"quadrortx6000", "sm_75", NULL},
    {"quadrortx8000", "sm_75", NULL},
    {"2050", "sm_86", NULL},
    {"ampere", NULL,
     "names several: type sm_80 for A100 or A30, sm_86 for A10, A40 or RTX 30, sm_87 for Orin"},
    {"a100", "sm_80", NULL},
    {"a800", "sm_80", NULL},
    {"a30", "sm_80", NULL},
    {"a2", "sm_86", NULL},
    {"a10", "sm_86", NULL},
    {"a16", "sm_86", NULL},
    {"a40", "sm_86", NULL},
    {"a2000", "sm_86", NULL},
    {"a3000", "sm_86", NULL},
    {"a4000", "sm_86", NULL},
    {"a4500", "sm_86", NULL},
    {"a5500", "sm_86", NULL},
    {"a5000", "sm_86", NULL},
    {"a6000", "sm_86", NULL},
    {"orin", "sm_87", NULL},
    {"ada", "sm_89", NULL},
    {"lovelace", "sm_89", NULL},
    {"l4", "sm_89", NULL},
    {"l40", "sm_89", NULL},
    {"l20", "sm_89", NULL},
    {"l2", "sm_89", NULL},
    {"2000ada", "sm_89", NULL},
    {"3000ada", "sm_89", NULL},
    {"3500ada", "sm_89", NULL},
    {"4000ada", "sm_89", NULL},
    {"4000sffada", "sm_89", NULL},
    {"4500ada", "sm_89", NULL},
    {"5000ada", "sm_89", NULL},
    {"5880ada", "sm_89", NULL},
    {"6000ada", "sm_89", NULL},
    {"hopper", "sm_90", NULL},
    {"h100", "sm_90", NULL},
    {"h200", "sm_90", NULL},
    {"h800", "sm_90", NULL},
    {"h20", "sm_90", NULL},
    {"gh200", "sm_90", NULL},
    {"blackwell", NULL,
     "names several: type sm_100 for B200, sm_103 for B300, sm_110 for Thor, sm_120 for RTX 50, "
     "sm_121 for Spark"},
    {"b100", "sm_100", NULL},
    {"b200", "sm_100", NULL},
    {"gb200", "sm_100", NULL},
    {"b300", "sm_103", NULL},
    {"gb300", "sm_103", NULL},
    {"pro2000", "sm_120", NULL},
    {"pro4000", "sm_120", NULL},
    {"pro4500", "sm_120", NULL},
    {"pro5000", "sm_120", NULL},
    {"pro6000", "sm_120", NULL},
    {"thor", "sm_110", NULL},
    {"gb10", "sm_121", NULL},
    {"spark", "sm_121", NULL},
    {"volta", NULL, OLD},
    {"pascal", NULL, OLD},
    {"maxwell", NULL, OLD},
    {"v100", NULL, OLD},
    {"p100", NULL, OLD},
    {"p40", NULL, OLD},
    {"p4", NULL, OLD},
    {"m40", NULL, OLD},
    {"k80", NULL, OLD},
    {"titanv", NULL, OLD},
    {"titanx", NULL, OLD},
};

/* The names above that stand for more than one device. */
static const char families[] = "turing ada lovelace hopper";

/* The GeForce series by the first two of four digits; arch NULL: the series is too old. */
static const struct {
    const char *digits, *arch;
} series[] = {{"10", NULL},    {"16", "sm_75"}, {"20", "sm_75"},
              {"30", "sm_86"}, {"40", "sm_89"}, {"50", "sm_120"}};

/* Data sheets of GPUs that have no profile (configs/devices). */
static const struct gt_gpu_sheet sheets[] = {
    {"GTX 1630", 8, 1785, 96},
    {"GTX 1650 SUPER", 20, 1725, 192},
    {"GTX 1650 Ti", 16, 1485, 192},
    {"Quadro RTX 4000", 36, 1545, 416},
    {"Quadro RTX 5000", 48, 1815, 448},
    {"Quadro RTX 8000", 72, 1770, 672},
    {"RTX 2050", 16, 1477, 112},
    {"A16", 10, 1755, 200}, /* each of the board's four GPUs */
    {"RTX 2000 Ada Generation", 22, 2130, 224},
    {"RTX 4000 Ada Generation", 48, 2175, 360},
    {"RTX 4000 SFF Ada Generation", 48, 1560, 280},
    {"RTX 4500 Ada Generation", 60, 2580, 432},
    {"RTX 5000 Ada Generation", 100, 2550, 576},
    {"RTX 5880 Ada Generation", 110, 2460, 960},
    {"L20", 92, 2520, 864},
    {"H800", 132, 1980, 3350},
    {"RTX PRO 4000 Blackwell", 70, 2617, 672},
    {"RTX PRO 4500 Blackwell", 82, 2617, 896},
    {"RTX PRO 5000 Blackwell", 110, 2617, 1344},
};

const struct gt_gpu_sheet *gt_gpu_sheet(const char *name)
{
    for (size_t i = 0; i < sizeof(sheets) / sizeof(*sheets); i++)
        if (gt_device_called(sheets[i].name, name))
            return &sheets[i];
    return NULL;
}

/* Writes the text in small letters, without the words before a model and the characters between
 * words.  A blank between two digits stays: "h100 80gbhbm3". */
static void tidy(char name[40], const char *text)
{
    static const char *const makers[] = {"nvidia", "geforce", "tesla", "jetson",
                                         "agx",    "dgx",     "rtx",   "gtx"};
    size_t length = 0;

    for (; *text && length < 38; text++)
        if (!strchr(" -_", *text)) {
            if (length && isdigit((unsigned char)*text) && strchr(" -_", text[-1]) &&
                isdigit((unsigned char)name[length - 1]))
                name[length++] = ' ';
            name[length++] = (char)tolower((unsigned char)*text);
        }
    name[length] = '\0';
    for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
        if (strncmp(name, makers[i], strlen(makers[i])) == 0)
            memmove(name, name + strlen(makers[i]), length + 1 - strlen(makers[i]));
}

/* Finds the arch of a compute capability, "8.6" or "compute_86"; NULL: the text is none. */
static const char *capability(const char *text)
{
    static const char *const archs[] = {"sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
                                        "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
    const char *number = strncmp(text, "compute_", 8) ? text : text + 8;
    char digits[8];
    size_t length = 0;

    if (number == text && !strchr(text, '.'))
        return NULL;
    for (; *number && length < sizeof(digits) - 1; number++)
        if (*number != '.')
            digits[length++] = *number;
    digits[length] = '\0';
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
        if (!*number && strcmp(archs[i] + 3, digits) == 0)
            return archs[i];
    return NULL;
}

/* Finds the arch of a GeForce, such as "4090", "4070ti" or "3080laptop"; true: the name is one. */
static bool geforce(const char *name, const char **arch)
{
    const bool model = strspn(name, "0123456789") == 4 && strchr("3456789", name[2]) &&
                       (name[3] == '0' || !strncmp(name, "16", 2));

    for (size_t i = 0; model && i < sizeof(series) / sizeof(*series); i++)
        if (strncmp(name, series[i].digits, 2) == 0) {
            *arch = series[i].arch;
            return true;
        }
    return false;
}

/* Finds the arch of a name; *device: whether the name stands for one device. */
static int find(const char *text, const char **found, bool *device, struct gt_err *err)
{
    const char *advice = NULL;
    char name[40];

    *device = false;
    *found = capability(text);
    if (*found)
        return GT_OK;
    tidy(name, text);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !*found && !advice; i++) {
        const size_t length = strlen(names[i].name);

        if (strncmp(name, names[i].name, length) != 0 || isdigit((unsigned char)name[length]))
            continue;
        advice = names[i].advice;
        *found = names[i].arch;
        *device = !strstr(families, names[i].name);
    }
    if (!*found && !advice && geforce(name, found)) {
        *device = true;
        advice = *found ? NULL : OLD;
    }
    return advice ? gt_err_set(err, GT_ENOTFOUND, "arch \"%.40s\" %s", text, advice) : GT_OK;
}

int gt_gpu_arch(const char **text, struct gt_err *err)
{
    const char *found;
    bool device;
    const int rc = find(*text, &found, &device, err);

    if (!rc && found)
        *text = found;
    return rc;
}

int gt_gpu_parse(const char *text, int *cc, const char **name, struct gt_err *err)
{
    const char *found, *digits = text + strcspn(text, "0123456789");
    bool device;
    int rc = find(text, &found, &device, err);

    if (!rc && !found &&
        (*digits == text[0] || strncasecmp(text, "sm", 2) == 0 ||
         strncasecmp(text, "compute_", 8) == 0)) {
        const size_t length = strspn(digits, "0123456789."), dots = strspn(digits, ".");
        const double number = strtod(digits, NULL);

        if (!digits[length] && !dots && number >= 1 && number < 75 &&
            (number < 7.5 || number >= 10))
            return gt_err_set(err, GT_ENOTFOUND, "arch \"%.40s\" " OLD, text);
    }
    GT_STEP(rc, gt_arch_parse(found ? found : text, cc, err));
    *name = device ? text : NULL;
    return rc;
}

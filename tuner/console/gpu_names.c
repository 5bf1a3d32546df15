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
#include "kernel/kernel.h"
#include "problem/device.h"

#define OLD "is older than sm_75, the first that NVRTC 13 compiles for"

/* The beginnings of names, in small letters without blanks and dashes; no digit follows in the same
 * word. */
static const struct {
    const char *arch, *advice; /* advice: instead of an arch */
    const char *names;
} names[] = {
    {"sm_75", NULL,
     "turing t4 titanrtx quadrortx quadrortx3000 quadrortx4000 quadrortx5000 quadrortx6000 "
     "quadrortx8000 t400 t500 t550 t600 t1000 t1200 t2000 quadrot1000 quadrot2000 mx450 mx550"},
    {"sm_86", NULL,
     "2050 mx570 a500 a1000 a2 a10 a16 a40 a2000 a3000 a4000 a4500 a5500 a5000 a6000"},
    {NULL,
     "names several: type sm_80 for A100 or A30, sm_86 for A10, A40 or RTX 30, sm_87 for Orin",
     "ampere"},
    {"sm_80", NULL, "a100 a800 a30"},
    {"sm_87", NULL, "orin"},
    {"sm_89", NULL,
     "ada lovelace l4 l40 l20 l2 2000ada 3000ada 3500ada 4000ada 4000sffada 4500ada 5000ada "
     "5880ada 6000ada"},
    {"sm_90", NULL, "hopper h100 h200 h800 h20 gh200"},
    {NULL,
     "names several: type sm_100 for B200, sm_103 for B300, sm_110 for Thor, sm_120 for RTX 50, "
     "sm_121 for Spark",
     "blackwell"},
    {"sm_100", NULL, "b100 b200 gb200"},
    {"sm_103", NULL, "b300 gb300"},
    {"sm_120", NULL, "pro500 pro1000 pro2000 pro3000 pro4000 pro4500 pro5000 pro6000"},
    {"sm_110", NULL, "thor"},
    {"sm_121", NULL, "gb10 spark"},
    {NULL, OLD, "volta pascal maxwell v100 p100 p40 p4 m40 k80 titanv titanx"},
};

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

static const char *const archs[] = {"sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
                                    "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};

/* Finds the arch of a compute capability, "8.6" or "compute_86"; NULL: the text is none. */
static const char *capability(const char *text)
{
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

/* Whether the name stands for more than one device. */
static bool is_family(const char *name, size_t length)
{
    static const char *const families[] = {"turing", "ada", "lovelace", "hopper"};

    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        if (strlen(families[i]) == length && strncmp(families[i], name, length) == 0)
            return true;
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
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !*found && !advice; i++)
        for (const char *at = names[i].names; *at; at += strspn(at, " ")) {
            const size_t length = strcspn(at, " ");

            if (strncmp(name, at, length) == 0 && !isdigit((unsigned char)name[length])) {
                advice = names[i].advice;
                *found = names[i].arch;
                *device = !is_family(at, length);
            }
            at += length;
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

/* Finds the arch of a name that only a profile of the data folder has. */
static bool profiled(const char *name, int *cc)
{
    struct gt_device device;
    char *data_dir = NULL;
    bool found = false;

    if (gt_data_dir(&data_dir, NULL))
        return false;
    for (size_t i = 0; i < sizeof(archs) / sizeof(*archs) && !found; i++) {
        *cc = (int)strtol(archs[i] + strlen("sm_"), NULL, 10);
        found = !gt_device_profile_of(&device, data_dir, *cc, name, NULL) &&
                gt_device_called(device.name, name);
    }
    free(data_dir);
    return found;
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
    if (rc && !found && profiled(text, cc)) {
        device = true;
        rc = GT_OK;
    }
    *name = device ? text : NULL;
    return rc;
}

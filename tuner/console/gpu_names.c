/* gpu_names.c - the arch of a GPU whose name somebody types; see gpu_names.h.  The compute
 * capabilities are those of NVIDIA's list, developer.nvidia.com/cuda-gpus. */
#include "console/gpu_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

#define OLD "is older than sm_75, the first that NVRTC 13 compiles for"

/* Names begin so, in small letters without blanks and dashes; no digit follows. */
static const struct {
    const char *name, *arch, *advice; /* advice: instead of an arch */
} names[] = {
    {"turing", "sm_75", NULL},
    {"t4", "sm_75", NULL},
    {"titanrtx", "sm_75", NULL},
    {"quadrortx", "sm_75", NULL},
    {"ampere", NULL,
     "names several: type sm_80 for A100 or A30, sm_86 for A10, A40 or RTX 30, sm_87 for Orin"},
    {"a100", "sm_80", NULL},
    {"a800", "sm_80", NULL},
    {"a30", "sm_80", NULL},
    {"a2", "sm_86", NULL},
    {"a10", "sm_86", NULL},
    {"a16", "sm_86", NULL},
    {"a40", "sm_86", NULL},
    {"a4000", "sm_86", NULL},
    {"a5000", "sm_86", NULL},
    {"a6000", "sm_86", NULL},
    {"orin", "sm_87", NULL},
    {"ada", "sm_89", NULL},
    {"lovelace", "sm_89", NULL},
    {"l4", "sm_89", NULL},
    {"l40", "sm_89", NULL},
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
    {"thor", "sm_110", NULL},
    {"gb10", "sm_121", NULL},
    {"spark", "sm_121", NULL},
    {"volta", NULL, OLD},
    {"pascal", NULL, OLD},
    {"maxwell", NULL, OLD},
    {"v100", NULL, OLD},
    {"p100", NULL, OLD},
};

/* The GeForce series: the first two of four digits. */
static const struct {
    const char *digits, *arch;
} series[] = {{"16", "sm_75"}, {"20", "sm_75"}, {"30", "sm_86"}, {"40", "sm_89"}, {"50", "sm_120"}};

/* The text in small letters, without what stands in front of models and between words. */
static void tidy(char name[40], const char *text)
{
    static const char *const makers[] = {"nvidia", "geforce", "tesla", "jetson",
                                         "agx",    "dgx",     "rtx",   "gtx"};
    size_t length = 0;

    for (; *text && length < 39; text++)
        if (!strchr(" -_", *text))
            name[length++] = (char)tolower((unsigned char)*text);
    name[length] = '\0';
    for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
        if (strncmp(name, makers[i], strlen(makers[i])) == 0)
            memmove(name, name + strlen(makers[i]), length + 1 - strlen(makers[i]));
}

/* Finds the arch of a compute capability, "8.6" or "compute_86"; NULL: it is none. */
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

/* The arch of a GeForce, such as "4090", "4070ti" or "3080laptop"; NULL: it is none. */
static const char *geforce(const char *name)
{
    const bool model = strspn(name, "0123456789") == 4 && strchr("56789", name[2]) &&
                       (name[3] == '0' || !strncmp(name, "16", 2));

    for (size_t i = 0; model && i < sizeof(series) / sizeof(*series); i++)
        if (strncmp(name, series[i].digits, 2) == 0)
            return series[i].arch;
    return NULL;
}

int gt_gpu_arch(const char **text, struct gt_err *err)
{
    char name[40];
    const char *found = capability(*text);

    tidy(name, *text);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !found; i++) {
        const size_t length = strlen(names[i].name);

        if (strncmp(name, names[i].name, length) != 0 || isdigit((unsigned char)name[length]))
            continue;
        if (names[i].advice)
            return gt_err_set(err, GT_ENOTFOUND, "arch \"%.40s\" %s", *text, names[i].advice);
        found = names[i].arch;
    }
    found = found ? found : geforce(name);
    *text = found ? found : *text;
    return GT_OK;
}

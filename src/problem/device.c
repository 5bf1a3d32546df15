/* device.c - vocabulary: names of archs, device profiles, occupancy. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "problem/device.h"
#include "problem/types.h"

/* The archs NVRTC 13 compiles for. */
static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
#define ARCHS       (sizeof(archs) / sizeof(*archs))
#define KNOWN_ARCHS "sm_75 80 86 87 88 89 90 100 103 110 120 121"

bool gt_arch_known(int cc)
{
    for (size_t i = 0; i < ARCHS; i++)
        if (archs[i] == cc)
            return true;
    return false;
}

int gt_arch_parse(const char *text, int *cc, struct gt_err *err)
{
    const char *at = strncasecmp(text, "sm", 2) ? text : text + 2 + (text[2] == '_');
    int value = 0, digits = 0;

    for (; isdigit((unsigned char)*at) && digits < 4; at++, digits++)
        value = value * 10 + *at - '0';
    if (value >= 90 && strchr("afAF", *at) && *at) /* sm_90a: the same device */
        at++;
    if (digits && !*at && gt_arch_known(value)) {
        *cc = value;
        return GT_OK;
    }
    return gt_err_set(err, GT_ENOTFOUND, "unknown arch \"%.40s\"; known: " KNOWN_ARCHS, text);
}

static int read_limits(struct gt_device *device, const cJSON *root, const char *path,
                       struct gt_err *err)
{
    const struct {
        const char *key;
        int64_t *to;
        int64_t least, most;
    } bytes[] = {
        {"smem_block", &device->smem_block, 16384, 1 << 24},
        {"smem_sm", &device->smem_sm, 16384, 1 << 24},
        {"smem_reserved", &device->smem_reserved, 0, 65536},
        {"regs_sm", &device->regs_sm, 1024, 1 << 24},
        {"l2_bytes", &device->l2_bytes, 1, (int64_t)1 << 40},
        {"memory_bytes", &device->memory_bytes, 1, (int64_t)1 << 50},
    };
    const struct {
        const char *key;
        int *to;
        int64_t least, most;
    } counts[] = {
        {"sms", &device->sms, 1, 4096},
        {"max_threads_sm", &device->max_threads_sm, 1024, 65536},
        {"max_blocks_sm", &device->max_blocks_sm, 1, 1024},
        {"fma_lanes", &device->fma_lanes, 1, 4096},
        {"tensor_tf32", &device->tensor_tf32, 0, 1 << 20},
        {"tensor_f16", &device->tensor_f16, 0, 1 << 20},
        {"tensor_f8", &device->tensor_f8, 0, 1 << 20},
        {"tensor_s8", &device->tensor_s8, 0, 1 << 20},
        {"fma_f64", &device->fma_f64, 1, 4096},
        {"tensor_f64", &device->tensor_f64, 0, 1 << 20},
    };
    const struct {
        const char *key;
        double *to;
    } rates[] = {{"clock_mhz", &device->clock_mhz},
                 {"memory_gbps", &device->memory_gbps},
                 {"l2_gbps", &device->l2_gbps}};
    int rc = GT_OK;

    for (size_t i = 0; !rc && i < sizeof(bytes) / sizeof(*bytes); i++)
        rc = gt_json_integer(bytes[i].to, root, path, bytes[i].key, bytes[i].least, bytes[i].most,
                             GT_REQUIRED, err);
    for (size_t i = 0; !rc && i < sizeof(counts) / sizeof(*counts); i++) {
        int64_t value = 0;

        rc = gt_json_integer(&value, root, path, counts[i].key, counts[i].least, counts[i].most,
                             GT_REQUIRED, err);
        *counts[i].to = (int)value;
    }
    for (size_t i = 0; !rc && i < sizeof(rates) / sizeof(*rates); i++)
        rc = gt_json_real(rates[i].to, root, path, rates[i].key, 1, 1e7, GT_REQUIRED, err);
    if (!rc && device->smem_block + device->smem_reserved > device->smem_sm)
        rc = gt_err_set(err, GT_ECONFIG,
                        "%s: smem_block + smem_reserved exceed smem_sm; a block could never run",
                        path);
    return rc;
}

/* The next word of a device's name, and its length; 0: there is none.  Parts that the names of many
 * models have in common are left out, also from words such as "rtx4090". */
static size_t next_word(const char **at)
{
    static const char common[][8] = {"profile", "nvidia", "geforce", "tesla", "rtx", "gtx", "gpu"};
    size_t length = 0, i = 0;

    while (!length && *(*at += strspn(*at, " -_()")))
        for (length = strcspn(*at, " -_()"), i = 0; i < sizeof(common) / 8; i++)
            if (!strncasecmp(*at, common[i], strlen(common[i]))) {
                *at += strlen(common[i]);
                length = 0;
                break;
            }
    return length;
}

/* Whether it is the name of a slice of a GPU: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". */
static bool is_slice(const char *name)
{
    return strcasestr(name, "MIG ");
}

bool gt_device_called(const char *name, const char *asked)
{
    bool called = false;

    if (is_slice(name) && !is_slice(asked)) /* the whole GPU's name does not mean a part of it */
        return false;
    for (size_t left, length; (left = next_word(&asked)); called = true)
        for (; left; asked += length, left -= length) {
            size_t word;

            length = 0;
            for (const char *at = name; (word = next_word(&at)); at += word)
                if (word > length && word <= left && !strncasecmp(at, asked, word))
                    length = word;
            if (!length)
                return false;
        }
    return called;
}

bool gt_device_same(const char *x, const char *y)
{
    return strcmp(x, y) == 0 || (gt_device_called(x, y) && gt_device_called(y, x));
}

/* How well the name fits the profile's name: 2 if both have the same words, 1 if the name has some
 * of the profile's words and no others, 0 otherwise. */
static int likeness(const cJSON *profile, const char *name)
{
    const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile, "device"));

    return !own || !gt_device_called(own, name) ? 0 : 1 + gt_device_called(name, own);
}

/* Replaces members of the profile by the members of the listed device that the name fits best ("RTX
 * 2080" is no RTX 2080 Ti), unless the name fits the profile itself.  Members that the profile
 * lacks are added, so that read_profile refuses them. */
static void take_listed(cJSON *root, const char *name)
{
    cJSON *listed, *item, *was, *found = NULL;
    int best = likeness(root, name);

    cJSON_ArrayForEach(listed, cJSON_GetObjectItemCaseSensitive(root, "devices"))
    {
        const int like = likeness(listed, name);

        if (like > best) {
            best = like;
            found = listed;
        }
    }
    while (found && (item = cJSON_DetachItemFromArray(found, 0)))
        if (!((was = cJSON_GetObjectItemCaseSensitive(root, item->string))
                  ? cJSON_ReplaceItemViaPointer(root, was, item)
                  : cJSON_AddItemToArray(root, item)))
            cJSON_Delete(item);
}

static int read_profile(struct gt_device *device, const cJSON *root, const char *path, int cc,
                        struct gt_err *err)
{
    static const char allowed[] =
        "device cc doc source sms smem_block smem_sm regs_sm smem_reserved max_threads_sm "
        "max_blocks_sm "
        "l2_bytes clock_mhz memory_gbps memory_bytes l2_gbps fma_lanes tensor_tf32 tensor_f16 "
        "tensor_f8 tensor_s8 fma_f64 tensor_f64 devices";
    const char *name = NULL, *source, *doc;
    int64_t value = 0;
    int rc;

    rc = gt_json_keys(root, path, allowed, err);
    GT_STEP(rc, gt_json_string(&name, root, path, "device", GT_REQUIRED, err));
    GT_STEP(rc, gt_json_string(&doc, root, path, "doc", GT_OPTIONAL, err));
    GT_STEP(rc, gt_json_string(&source, root, path, "source", GT_REQUIRED, err));
    GT_STEP(rc, gt_json_integer(&value, root, path, "cc", cc, cc, GT_REQUIRED, err));
    if (!rc && strlen(name) >= sizeof(device->name))
        rc = gt_err_set(err, GT_ECONFIG, "%s: \"device\" is longer than %zu characters", path,
                        sizeof(device->name) - 1);
    if (rc)
        return rc;
    snprintf(device->name, sizeof(device->name), "%s", name);
    return read_limits(device, root, path, err);
}

/* Sets the error for an arch without a profile; it lists the profiles that exist. */
static int no_profile(const char *data_dir, int cc, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    for (size_t i = 0; i < ARCHS; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/configs/devices/sm_%d.json", data_dir, archs[i]);
        if (!access(path, R_OK))
            gt_strbuf_addf(&text, " sm_%d", archs[i]);
    }
    rc = gt_err_set(err, GT_ENOTFOUND,
                    "no device profile of sm_%d in %s/configs/devices; there %s%s", cc, data_dir,
                    text.length ? "are" : "is none", text.length ? text.text : "");
    gt_strbuf_release(&text);
    return rc;
}

static int read_named(struct gt_device *device, const char *path, int cc, const char *name,
                      struct gt_err *err)
{
    cJSON *root = NULL;
    int rc = gt_json_load(&root, path, err);

    *device = (struct gt_device){.profile = true, .cc = cc, .ordinal = -1};
    if (!rc && name)
        take_listed(root, name);
    GT_STEP(rc, read_profile(device, root, path, cc, err));
    cJSON_Delete(root);
    return rc;
}

int gt_device_read(struct gt_device *device, const char *path, int cc, struct gt_err *err)
{
    return read_named(device, path, cc, NULL, err);
}

int gt_device_profile(struct gt_device *device, const char *data_dir, int cc, struct gt_err *err)
{
    return gt_device_profile_of(device, data_dir, cc, NULL, err);
}

int gt_device_profile_of(struct gt_device *device, const char *data_dir, int cc, const char *name,
                         struct gt_err *err)
{
    struct gt_strbuf path = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_addf(&path, "%s/configs/devices/sm_%d.json", data_dir, cc);
    rc = gt_strbuf_check(&path, err);
    if (!rc && access(path.text, F_OK))
        rc = no_profile(data_dir, cc, err);
    GT_STEP(rc, read_named(device, path.text, cc, name, err));
    gt_strbuf_release(&path);
    return rc;
}

int gt_device_tensor_rate(const struct gt_device *device, enum gt_dtype type)
{
    const int rate[GT_RATE_COUNT] = {
        [GT_RATE_TF32] = device->tensor_tf32,
        [GT_RATE_F16] = device->tensor_f16,
        [GT_RATE_BF16] = device->cc >= 80 ? device->tensor_f16 : 0,
        [GT_RATE_F8] = device->tensor_f8,
        [GT_RATE_S8] = device->tensor_s8,
        [GT_RATE_F64] = device->tensor_f64,
    };

    return rate[gt_type_of(type)->rate];
}

#define WARP              32
#define MAX_THREAD_REGS   255
#define REGISTER_GRANULE  256 /* registers, per warp */
#define SUB_PARTITIONS    4   /* sub-partitions of an SM; a warp's registers lie in one of them */
#define MAX_BLOCK_THREADS 1024

/* The warps of an SM whose registers fit, in all sub-partitions together. */
static int64_t warps_by_registers(const struct gt_device *device, int registers)
{
    int64_t granules = (registers * WARP + REGISTER_GRANULE - 1) / REGISTER_GRANULE;

    if (!granules)
        granules = 1;
    return device->regs_sm / SUB_PARTITIONS / (granules * REGISTER_GRANULE) * SUB_PARTITIONS;
}

int gt_device_occupancy(const struct gt_device *device, int registers, int threads,
                        int64_t shared_bytes)
{
    int64_t granule = device->cc >= 80 ? 128 : 256; /* granule of shared memory in bytes */
    int64_t warps = (threads + WARP - 1) / WARP;
    int64_t shared, blocks, by_registers;

    if (threads < 1 || threads > MAX_BLOCK_THREADS || registers > MAX_THREAD_REGS ||
        registers < 0 || shared_bytes < 0 || shared_bytes > device->smem_block)
        return 0;
    blocks = device->max_threads_sm / WARP / warps;
    by_registers = warps_by_registers(device, registers) / warps;
    if (by_registers < blocks)
        blocks = by_registers;
    shared = (shared_bytes + device->smem_reserved + granule - 1) / granule * granule;
    if (shared && device->smem_sm / shared < blocks)
        blocks = device->smem_sm / shared;
    return (int)(blocks < device->max_blocks_sm ? blocks : device->max_blocks_sm);
}

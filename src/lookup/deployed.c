/* deployed.c - stage: files that `tune export --format deploy` writes: reading, checking and
 * answering from them. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"

/* A GPU that is open, or a module that is loaded on it. */
struct made {
    struct made *next;
    struct gt_gpu *gpu;
    struct gt_module *module; /* NULL: the entry is a GPU */
};

struct gt_deployed {
    char *path;
    int fd;      /* file that holds the images; -1: there are none to load */
    char *bytes; /* the file's bytes before the images */
    struct gt_deployed_head head;
    const struct gt_deployed_item *item;
    const struct gt_deployed_launch *launch;
    const struct gt_deployed_map *map;
    const struct gt_deployed_image *image;
    const char *text;
    struct gt_problem_key *key; /* key of each item's problem */
    uint32_t *slot;             /* hash table of items: index + 1, 0 is empty */
    uint32_t slots;             /* a power of two, at least twice the items */
    _Atomic(struct made *) gpus;
    _Atomic(struct made *) *module; /* list of each item's modules, on any GPU */
};

/* ---- reading ---- */

size_t gt_deployed_index_bytes(const struct gt_deployed_head *head)
{
    return sizeof(*head) + head->items * sizeof(struct gt_deployed_item) +
           head->launches * sizeof(struct gt_deployed_launch) +
           head->maps * sizeof(struct gt_deployed_map) +
           head->images * sizeof(struct gt_deployed_image) + head->text_bytes;
}

int gt_deployed_index_digest(const void *bytes, size_t size, char hex[GT_DEPLOYED_DIGEST],
                             struct gt_err *err)
{
    struct gt_deployed_head head;
    struct gt_digest digest;

    if (gt_digest_init(&digest))
        return gt_err_nomem(err);
    memcpy(&head, bytes, sizeof(head));
    memset(head.digest, 0, sizeof(head.digest));
    gt_digest_add(&digest, &head, sizeof(head));
    gt_digest_add(&digest, (const char *)bytes + sizeof(head), size - sizeof(head));
    memset(hex, 0, GT_DEPLOYED_DIGEST);
    gt_digest_final(&digest, hex);
    return GT_OK;
}

/* Checks the head by itself; size: the file's. */
static int check_head(const struct gt_deployed *deployed, uint64_t size, struct gt_err *err)
{
    const struct gt_deployed_head *head = &deployed->head;
    const char *path = deployed->path;

    if (memcmp(head->magic, GT_DEPLOYED_MAGIC, sizeof(head->magic)) != 0)
        return gt_err_set(err, GT_ESTALE, "%s: not a file of `tune export --format deploy`", path);
    if (head->order != GT_DEPLOYED_ORDER || head->version != GT_DEPLOYED_VERSION)
        return gt_err_set(err, GT_ESTALE,
                          "%s: of version %u, and this library reads version %d of machines of its "
                          "own byte order; export it again",
                          path, head->version, GT_DEPLOYED_VERSION);
    if (head->file_bytes != size)
        return gt_err_set(err, GT_EDB, "%s: of %llu bytes, but it says %llu: copy it again", path,
                          (unsigned long long)size, (unsigned long long)head->file_bytes);
    if (head->items > GT_DEPLOYED_MOST || head->launches > GT_DEPLOYED_MOST ||
        head->maps > GT_DEPLOYED_MOST || head->images > GT_DEPLOYED_MOST ||
        head->text_bytes > GT_DEPLOYED_TEXTS || gt_deployed_index_bytes(head) > size)
        return gt_err_set(err, GT_EDB, "%s: damaged: counts beyond its size", path);
    return GT_OK;
}

/* ---- checking ----
 *
 * Digests find damage.  The checks of this section find errors of the program that wrote the file:
 * nothing in the file may point outside of it, or lead to a call that the driver does not check
 * itself. */

static bool within(uint32_t first, uint32_t count, uint32_t most, uint32_t all)
{
    return count <= most && first <= all && count <= all - first;
}

static bool is_flag(int32_t value)
{
    return value == 0 || value == 1;
}

static bool is_text(const struct gt_deployed *deployed, uint32_t text, bool needed)
{
    return text < deployed->head.text_bytes && (!needed || text);
}

static bool is_time(double us)
{
    return isfinite(us) && us >= 0;
}

static bool item_is_sound(const struct gt_deployed *deployed, const struct gt_deployed_item *item)
{
    const struct gt_deployed_head *head = &deployed->head;

    return is_text(deployed, item->problem, true) && is_text(deployed, item->device, true) &&
           is_text(deployed, item->kernel, true) && is_text(deployed, item->point, true) &&
           is_text(deployed, item->tuned_for, false) &&
           is_text(deployed, item->passed_over, false) &&
           is_text(deployed, item->cublaslt, false) && item->workspace_bytes >= 0 &&
           item->trials >= 0 && is_time(item->us) && is_time(item->tuned_us) &&
           is_time(item->expected_us) && is_time(item->expected_loss) &&
           is_time(item->baseline_us) && item->cc >= 10 && item->cc <= 999 && item->sms >= 1 &&
           item->tier >= GT_TIER_EXACT && item->tier < GT_TIER_NONE && is_flag(item->predicted) &&
           is_flag(item->contested) && is_flag(item->varies) && item->image < head->images &&
           within(item->first_launch, item->launches, GT_MAX_LAUNCHES, head->launches) &&
           within(item->first_map, item->maps, GT_MAX_MAPS, head->maps) &&
           deployed->image[item->image].cc == item->cc;
}

#define ENTRIES_MOST 64 /* characters of an entry's name, with the NUL (src/cuda/module.c) */

static bool launch_is_sound(const struct gt_deployed *deployed,
                            const struct gt_deployed_launch *launch)
{
    for (int i = 0; i < 3; i++)
        if (launch->cluster[i] < 1 || launch->cluster[i] > 16)
            return false;
    return is_text(deployed, launch->entry, true) &&
           strlen(deployed->text + launch->entry) < ENTRIES_MOST && launch->carveout >= -1 &&
           launch->carveout <= 100 && launch->shared_bytes <= INT32_MAX && is_flag(launch->pdl) &&
           launch->arguments >= 0 && launch->arguments <= 3;
}

/* Whether the images' bytes follow one another up to the end of the file, each byte once. */
static bool images_are_sound(const struct gt_deployed *deployed)
{
    const struct gt_deployed_head *head = &deployed->head;
    uint64_t at = gt_deployed_index_bytes(head);

    for (uint32_t i = 0; i < head->images; i++) {
        const struct gt_deployed_image *image = &deployed->image[i];

        if (image->offset != at || !image->size || image->size > head->file_bytes - at ||
            image->nvrtc < 0)
            return false;
        at += image->size;
    }
    return at == head->file_bytes;
}

/* 0, or a power of two times `least`, up to four times. */
static bool is_doubling(int32_t bytes, int32_t least)
{
    return bytes == 0 || bytes == least || bytes == 2 * least || bytes == 4 * least;
}

static bool map_is_sound(const struct gt_deployed_map *map)
{
    return is_flag(map->used) && map->operand >= 0 && map->operand <= GT_MAP_WORKSPACE &&
           map->element >= 0 && map->element < GT_DTYPE_COUNT && map->rank >= 0 &&
           map->rank <= GT_MAX_MAP_RANK && (map->rank >= 1 || !map->used) &&
           is_doubling(map->swizzle, 32) && is_doubling(map->promotion, 64) && !map->unused;
}

/* Checks what a digest cannot check: offsets, counts and ranges. */
static int check(const struct gt_deployed *deployed, struct gt_err *err)
{
    const struct gt_deployed_head *head = &deployed->head;
    const char *wrong = NULL;
    uint32_t at = 0;

    if (!head->text_bytes || deployed->text[0] || deployed->text[head->text_bytes - 1])
        wrong = "text";
    if (!wrong && !images_are_sound(deployed))
        wrong = "image";
    for (uint32_t i = 0; i < head->items && !wrong; at = i++)
        if (!item_is_sound(deployed, &deployed->item[i]))
            wrong = "item";
    for (uint32_t i = 0; i < head->launches && !wrong; at = i++)
        if (!launch_is_sound(deployed, &deployed->launch[i]))
            wrong = "launch";
    for (uint32_t i = 0; i < head->maps && !wrong; at = i++)
        if (!map_is_sound(&deployed->map[i]))
            wrong = "tensor map";
    return wrong ? gt_err_set(err, GT_EDB,
                              "%s: %s %u is outside of what is allowed; export it again with this "
                              "version",
                              deployed->path, wrong, at)
                 : GT_OK;
}

/* ---- taking the bytes that were read ---- */

static void place(struct gt_deployed *deployed)
{
    const struct gt_deployed_head *head = &deployed->head;

    deployed->item = (const void *)(deployed->bytes + sizeof(*head));
    deployed->launch = (const void *)(deployed->item + head->items);
    deployed->map = (const void *)(deployed->launch + head->launches);
    deployed->image = (const void *)(deployed->map + head->maps);
    deployed->text = (const void *)(deployed->image + head->images);
}

/* Makes the hash table of problems, whose texts are already checked. */
static int list_problems(struct gt_deployed *deployed, struct gt_err *err)
{
    const uint32_t items = deployed->head.items;

    for (deployed->slots = 4; deployed->slots < 2 * items;)
        deployed->slots *= 2;
    deployed->slot = calloc(deployed->slots, sizeof(*deployed->slot));
    deployed->key = calloc(items + 1, sizeof(*deployed->key));
    deployed->module = calloc(items + 1, sizeof(*deployed->module));
    if (!deployed->slot || !deployed->key || !deployed->module)
        return gt_err_nomem(err);
    for (uint32_t i = 0; i < items; i++) {
        struct gt_lookup_key key = {.arch = deployed->item[i].cc};
        struct gt_problem problem;
        struct gt_err why = {0};
        int rc = gt_problem_parse(&problem, deployed->text + deployed->item[i].problem, &why);
        uint64_t at;

        GT_STEP(rc, gt_problem_check(&problem, &why));
        if (rc == GT_ENOMEM)
            return gt_err_nomem(err);
        if (rc)
            return gt_err_set(err, GT_EDB, "%s: %.900s", deployed->path, why.msg);
        gt_problem_key(&key.problem, &problem);
        deployed->key[i] = key.problem;
        for (at = gt_lookup_hash(&key); deployed->slot[at & (deployed->slots - 1)];)
            at++;
        deployed->slot[at & (deployed->slots - 1)] = i + 1;
    }
    return GT_OK;
}

/* Takes everything in front of the images, which has been read into `bytes`. */
static int take(struct gt_deployed *deployed, struct gt_err *err)
{
    const size_t size = gt_deployed_index_bytes(&deployed->head);
    char digest[GT_DEPLOYED_DIGEST];
    int rc = gt_deployed_index_digest(deployed->bytes, size, digest, err);

    if (rc)
        return rc;
    if (memcmp(digest, ((const struct gt_deployed_head *)(const void *)deployed->bytes)->digest,
               sizeof(digest)) != 0)
        return gt_err_set(
            err, GT_EDB,
            "%s does not match its digest: it was damaged, or changed by hand; export "
            "it again with `tune export --format deploy`",
            deployed->path);
    place(deployed);
    rc = check(deployed, err);
    return rc ? rc : list_problems(deployed, err);
}

static int allocate(struct gt_deployed *deployed, struct gt_err *err)
{
    deployed->bytes = malloc(gt_deployed_index_bytes(&deployed->head));
    return deployed->bytes ? GT_OK : gt_err_nomem(err);
}

static struct gt_deployed *begin(const char *path)
{
    struct gt_deployed *deployed = calloc(1, sizeof(*deployed));

    if (!deployed)
        return NULL;
    deployed->fd = -1;
    deployed->path = strdup(path);
    if (deployed->path)
        return deployed;
    free(deployed);
    return NULL;
}

/* Hands out the new struct gt_deployed, or closes it after a failure. */
static int finish(struct gt_deployed **deployed, struct gt_deployed *made, int rc)
{
    if (rc)
        gt_deployed_close(made);
    *deployed = rc ? NULL : made;
    return rc;
}

int gt_deployed_parse(struct gt_deployed **deployed, const char *path, const void *bytes,
                      size_t size, struct gt_err *err)
{
    struct gt_deployed *made = begin(path);
    int rc = made ? GT_OK : gt_err_nomem(err);

    if (!rc && size < sizeof(made->head))
        rc = gt_err_set(err, GT_EDB, "%s: cut off within its head", path);
    if (!rc)
        memcpy(&made->head, bytes, sizeof(made->head));
    GT_STEP(rc, check_head(made, size, err));
    GT_STEP(rc, allocate(made, err));
    if (!rc)
        memcpy(made->bytes, bytes, gt_deployed_index_bytes(&made->head));
    GT_STEP(rc, take(made, err));
    return finish(deployed, made, rc);
}

/* Reads exactly `bytes` bytes from that offset. */
static int read_at(const struct gt_deployed *deployed, void *to, size_t bytes, uint64_t offset,
                   struct gt_err *err)
{
    char *at = to;

    while (bytes) {
        const ssize_t got = pread(deployed->fd, at, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gt_err_set(err, GT_EIO, "%s: cannot read: %s", deployed->path, strerror(errno));
        if (got == 0)
            return gt_err_set(err, GT_EDB, "%s: cut off: copy it again", deployed->path);
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return GT_OK;
}

/* Opens the file, which must be a regular file that nobody else may write. */
static int open_file(struct gt_deployed *deployed, struct stat *status, struct gt_err *err)
{
    deployed->fd = open(deployed->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (deployed->fd < 0 || fstat(deployed->fd, status))
        return gt_err_set(err, GT_EIO, "%s: cannot open: %s", deployed->path, strerror(errno));
    if (!S_ISREG(status->st_mode))
        return gt_err_set(err, GT_EIO, "%s: not a file", deployed->path);
    if (!gt_cache_owned(status))
        return gt_err_set(err, GT_EIO,
                          "%s holds code for this user's GPU, and must belong to this user or to "
                          "root and be writable by nobody else: copy it, or use chown and chmod",
                          deployed->path);
    return GT_OK;
}

static int read_index(struct gt_deployed *deployed, struct gt_err *err)
{
    struct stat status;
    int rc = open_file(deployed, &status, err);

    GT_STEP(rc, read_at(deployed, &deployed->head, sizeof(deployed->head), 0, err));
    GT_STEP(rc, check_head(deployed, (uint64_t)status.st_size, err));
    GT_STEP(rc, allocate(deployed, err));
    GT_STEP(rc,
            read_at(deployed, deployed->bytes, gt_deployed_index_bytes(&deployed->head), 0, err));
    /* The file may have changed between the two readings. */
    if (!rc && memcmp(deployed->bytes, &deployed->head, sizeof(deployed->head)) != 0)
        rc = gt_err_set(err, GT_EDB, "%s: changed while it was read", deployed->path);
    return rc ? rc : take(deployed, err);
}

int gt_deployed_open(struct gt_deployed **deployed, const char *path, struct gt_err *err)
{
    struct gt_deployed *made = begin(path);

    return finish(deployed, made, made ? read_index(made, err) : gt_err_nomem(err));
}

bool gt_deployed_is(const char *path)
{
    char magic[sizeof(GT_DEPLOYED_MAGIC)] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is;

    if (fd < 0)
        return false;
    is = pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
         memcmp(magic, GT_DEPLOYED_MAGIC, sizeof(magic)) == 0;
    close(fd);
    return is;
}

int gt_deployed_image(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                      void **image, size_t *size, struct gt_err *err)
{
    const struct gt_deployed_image *stored = &deployed->image[item->image];
    char digest[GT_DEPLOYED_DIGEST] = "";
    int rc;

    *size = stored->size;
    *image = malloc(stored->size + 1);
    if (!*image)
        return gt_err_nomem(err);
    ((char *)*image)[stored->size] = '\0';
    rc = read_at(deployed, *image, stored->size, stored->offset, err);
    if (!rc)
        gt_digest_bytes(*image, stored->size, digest);
    if (!rc && memcmp(digest, stored->digest, sizeof(digest)) != 0)
        rc = gt_err_set(err, GT_EDB,
                        "%s: the code of kernel %s does not match its digest: it was damaged; "
                        "export or copy it again",
                        deployed->path, gt_deployed_text(deployed, item->kernel));
    if (rc) {
        free(*image);
        *image = NULL;
    }
    return rc;
}

/* ---- answering ---- */

uint32_t gt_deployed_items(const struct gt_deployed *deployed)
{
    return deployed->head.items;
}

const struct gt_deployed_item *gt_deployed_item(const struct gt_deployed *deployed, uint32_t index)
{
    return &deployed->item[index];
}

const char *gt_deployed_text(const struct gt_deployed *deployed, uint32_t text)
{
    return text ? deployed->text + text : NULL;
}

void gt_deployed_geometry(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                          struct gt_geometry *geometry)
{
    *geometry = (struct gt_geometry){.launches = item->launches,
                                     .maps = item->maps,
                                     .workspace_bytes = (size_t)item->workspace_bytes,
                                     .deterministic = !item->varies,
                                     .code_arch = item->cc};
    memcpy(geometry->launch_param, item->launch_param, sizeof(geometry->launch_param));
    for (uint32_t i = 0; i < item->launches; i++) {
        const struct gt_deployed_launch *from = &deployed->launch[item->first_launch + i];
        struct gt_launch_geometry *to = &geometry->launch[i];

        to->entry = deployed->text + from->entry;
        memcpy(to->grid, from->grid, sizeof(to->grid));
        memcpy(to->block, from->block, sizeof(to->block));
        memcpy(to->cluster, from->cluster, sizeof(to->cluster));
        to->shared_bytes = from->shared_bytes;
        to->carveout = from->carveout;
        to->pdl = from->pdl;
        to->maps = from->arguments & 1;
        to->more = from->arguments & 2;
    }
    for (uint32_t i = 0; i < item->maps; i++) {
        const struct gt_deployed_map *from = &deployed->map[item->first_map + i];
        struct gt_map_geometry *to = &geometry->map[i];

        *to = (struct gt_map_geometry){.used = from->used,
                                       .operand = (enum gt_map_operand)from->operand,
                                       .element = (enum gt_dtype)from->element,
                                       .offset = from->offset,
                                       .rank = from->rank,
                                       .swizzle = from->swizzle,
                                       .promotion = from->promotion};
        memcpy(to->dims, from->dims, sizeof(to->dims));
        memcpy(to->strides, from->strides, sizeof(to->strides));
        memcpy(to->box, from->box, sizeof(to->box));
    }
}

/* The item for this problem and arch: the named device's item, else an item whose launches suit a
 * GPU with that many multiprocessors (0: any number); NULL if there is none. */
static const struct gt_deployed_item *find(const struct gt_deployed *deployed,
                                           const struct gt_lookup_key *key, const char *name,
                                           int sms, bool *named)
{
    const struct gt_deployed_item *other = NULL;
    uint64_t at = gt_lookup_hash(key);
    uint32_t index;

    *named = true;
    while ((index = deployed->slot[at++ & (deployed->slots - 1)]) != 0) {
        const struct gt_deployed_item *item = &deployed->item[index - 1];

        if (item->cc != key->arch || (sms && sms != item->sms) ||
            memcmp(&deployed->key[index - 1], &key->problem, sizeof(key->problem)) != 0)
            continue;
        if (!name || gt_device_same(name, deployed->text + item->device))
            return item;
        if (!other)
            other = item;
    }
    *named = false;
    return other;
}

static void fill_answer(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                        bool named, struct gt_answer *answer)
{
    const bool exact = named && item->tier == GT_TIER_EXACT;

    *answer =
        (struct gt_answer){.tier = named                         ? (enum gt_tier)item->tier
                                   : item->tier == GT_TIER_EXACT ? GT_TIER_NEAR
                                                                 : (enum gt_tier)item->tier,
                           .kernel = gt_deployed_text(deployed, item->kernel),
                           .point = gt_deployed_text(deployed, item->point),
                           .device = gt_deployed_text(deployed, item->device),
                           .tuned_for = gt_deployed_text(deployed, item->tuned_for),
                           .passed_over = gt_deployed_text(deployed, item->passed_over),
                           .predicted = item->predicted,
                           .expected_loss = item->expected_loss + (named ? 0 : GT_LOSS_DEVICE),
                           .tuned_us = item->tuned_us,
                           .baseline_us = item->baseline_us};
    if (named)
        answer->expected_us = item->expected_us;
    if (exact) {
        answer->us = item->us;
        answer->contested = item->contested;
        answer->trials = item->trials;
        answer->cublaslt = gt_deployed_text(deployed, item->cublaslt);
    }
}

/* Whether the item's launches suit the GPU (sms 0: a GPU of any number of multiprocessors). */
static bool suits(const struct gt_deployed_item *item, const struct gt_device *device)
{
    return item->cc == device->cc && (!device->sms || item->sms == device->sms);
}

#define NAMED 3 /* problems that a phrase names, at most */

/* Names the first problems that suit the device, in parentheses. */
static void add_names(struct gt_strbuf *text, const struct gt_deployed *deployed,
                      const struct gt_device *device)
{
    uint32_t named = 0;

    for (uint32_t i = 0; i < deployed->head.items && named <= NAMED; i++)
        if (suits(&deployed->item[i], device)) {
            gt_strbuf_addf(text, "%s%s", named ? ", " : " (",
                           named < NAMED ? deployed->text + deployed->item[i].problem : "...");
            named++;
        }
    gt_strbuf_add_char(text, ')');
}

/* Makes a phrase on what the file holds in place of an answer, malloc'ed. */
static int explain(const struct gt_deployed *deployed, const struct gt_device *device,
                   char **phrase, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    const char *separator = "";
    uint32_t here = 0, fitting = 0;

    for (uint32_t i = 0; i < deployed->head.items; i++) {
        here += deployed->item[i].cc == device->cc;
        fitting += suits(&deployed->item[i], device);
    }
    gt_strbuf_addf(&text, "%s holds ", deployed->path);
    if (fitting) {
        gt_strbuf_addf(&text, "%u other problem%s of sm_%d", fitting, fitting == 1 ? "" : "s",
                       device->cc);
        add_names(&text, deployed, device);
        gt_strbuf_add(&text, ", and nothing else is searched");
    } else if (here) {
        gt_strbuf_addf(&text, "kernels of sm_%d, but none for %d multiprocessors", device->cc,
                       device->sms);
    } else {
        gt_strbuf_addf(&text, "no kernel for sm_%d; it was exported for ", device->cc);
        for (int cc = 10; cc <= 999; cc++)
            for (uint32_t i = 0; i < deployed->head.items; i++)
                if (deployed->item[i].cc == cc) {
                    gt_strbuf_addf(&text, "%ssm_%d", separator, cc);
                    separator = ", ";
                    break;
                }
    }
    *phrase = gt_strbuf_detach(&text);
    return *phrase ? GT_OK : gt_err_nomem(err);
}

int gt_deployed_resolve(const struct gt_deployed *deployed, const char *device_name,
                        struct gt_resolved *resolved, struct gt_err *err)
{
    const struct gt_device *device = &resolved->device;
    struct gt_lookup_key key = {.arch = device->cc};
    bool named;
    char *phrase = NULL;
    int rc;

    gt_problem_key(&key.problem, &resolved->problem);
    resolved->item = find(deployed, &key, device_name, device->sms, &named);
    if (resolved->item) {
        fill_answer(deployed, resolved->item, named, &resolved->answer);
        gt_deployed_geometry(deployed, resolved->item, &resolved->geometry);
        gt_answer_take_geometry(&resolved->answer, &resolved->geometry);
        return gt_resolved_own_texts(resolved, err);
    }
    resolved->answer = (struct gt_answer){.tier = GT_TIER_NONE};
    rc = explain(deployed, device, &phrase, err);
    resolved->answer.passed_over = phrase;
    return rc;
}

/* ---- GPUs and modules: made once, then shared by all plans ----
 *
 * Lists only grow, at their heads, by compare-and-swap, until the file is closed.  Threads that
 * find the same GPU or module missing at the same moment each make one, and the first is kept. */

static struct made *find_gpu(struct made *at, int ordinal)
{
    while (at && (gt_gpu_device(at->gpu)->ordinal != ordinal || !gt_gpu_alive(at->gpu)))
        at = at->next;
    return at;
}

static struct made *find_module(struct made *at, const struct gt_gpu *gpu)
{
    while (at && at->gpu != gpu)
        at = at->next;
    return at;
}

int gt_deployed_gpu(struct gt_deployed *deployed, int ordinal, struct gt_gpu **gpu,
                    struct gt_err *err)
{
    struct made *first = atomic_load(&deployed->gpus), *found = find_gpu(first, ordinal), *made;
    int rc;

    *gpu = found ? found->gpu : NULL;
    if (found)
        return GT_OK;
    made = calloc(1, sizeof(*made));
    rc = made ? gt_gpu_open(&made->gpu, ordinal, true, err) : gt_err_nomem(err);
    if (rc) {
        free(made);
        return rc;
    }
    *gpu = made->gpu;
    for (made->next = first; !atomic_compare_exchange_weak(&deployed->gpus, &made->next, made);)
        if ((found = find_gpu(made->next, ordinal))) { /* another thread has made it first */
            gt_gpu_close(made->gpu);
            free(made);
            *gpu = found->gpu;
            return GT_OK;
        }
    return GT_OK;
}

/* Refuses code that is newer than the driver.  The driver would refuse such code, too, but with a
 * number that explains little. */
static int check_driver(const struct gt_deployed *deployed, const struct gt_gpu *gpu,
                        const struct gt_deployed_item *item, struct gt_err *err)
{
    const int driver = gt_gpu_device(gpu)->driver, nvrtc = deployed->image[item->image].nvrtc;

    if (gt_device_takes_code(gt_gpu_device(gpu), nvrtc))
        return GT_OK;
    return gt_err_set(err, GT_ERANGE,
                      "%s: kernel %s was compiled by CUDA %d.%d, and this driver is of CUDA %d.%d: "
                      "it needs a driver of CUDA %d, or an export made with NVRTC %d",
                      deployed->path, gt_deployed_text(deployed, item->kernel), nvrtc / 1000,
                      nvrtc % 1000 / 10, driver / 1000, driver % 1000 / 10, nvrtc / 1000,
                      driver / 1000);
}

static int load(struct gt_deployed *deployed, struct gt_gpu *gpu,
                const struct gt_deployed_item *item, struct gt_module **module, struct gt_err *err)
{
    struct gt_geometry geometry;
    void *image = NULL;
    size_t size;
    int rc = check_driver(deployed, gpu, item, err);

    GT_STEP(rc, gt_deployed_image(deployed, item, &image, &size, err));
    if (rc)
        return rc;
    gt_deployed_geometry(deployed, item, &geometry);
    rc = gt_module_load(module, gpu, image, size, &geometry, err);
    free(image);
    return rc ? gt_err_prefix(err, rc, "%s: kernel %s", deployed->path,
                              gt_deployed_text(deployed, item->kernel))
              : GT_OK;
}

int gt_deployed_module(struct gt_deployed *deployed, struct gt_gpu *gpu,
                       const struct gt_deployed_item *item, struct gt_module **module,
                       struct gt_err *err)
{
    _Atomic(struct made *) *list = &deployed->module[item - deployed->item];
    struct made *first = atomic_load(list), *found = find_module(first, gpu), *made;
    int rc;

    *module = found ? found->module : NULL;
    if (found)
        return GT_OK;
    made = calloc(1, sizeof(*made));
    rc = made ? load(deployed, gpu, item, &made->module, err) : gt_err_nomem(err);
    if (rc) {
        free(made);
        return rc;
    }
    made->gpu = gpu;
    *module = made->module;
    for (made->next = first; !atomic_compare_exchange_weak(list, &made->next, made);)
        if ((found = find_module(made->next, gpu))) {
            gt_module_free(made->module);
            free(made);
            *module = found->module;
            return GT_OK;
        }
    return GT_OK;
}

/* Frees a list and its modules or GPUs. */
static void free_list(struct made *at)
{
    while (at) {
        struct made *next = at->next;

        if (at->module)
            gt_module_free(at->module);
        else
            gt_gpu_close(at->gpu);
        free(at);
        at = next;
    }
}

void gt_deployed_close(struct gt_deployed *deployed)
{
    if (!deployed)
        return;
    for (uint32_t i = 0; deployed->module && i < deployed->head.items; i++)
        free_list(atomic_load(&deployed->module[i]));
    free_list(atomic_load(&deployed->gpus));
    if (deployed->fd >= 0)
        close(deployed->fd);
    free(deployed->module);
    free(deployed->slot);
    free(deployed->key);
    free(deployed->bytes);
    free(deployed->path);
    free(deployed);
}

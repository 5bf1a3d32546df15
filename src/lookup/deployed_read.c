/* deployed_read.c - reads a deployed file into memory and lists its problems; see deployed.h. */
#include "lookup/deployed_impl.h"

#include "base/err.h"
#include "cuda/cache_folder.h"
#include "problem/problem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Checks the head by itself; size: of the file. */
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
    rc = gt_deployed_check(deployed, err);
    return rc ? rc : list_problems(deployed, err);
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

int gt_deployed_parse(struct gt_deployed **deployed, const char *path, const void *bytes,
                      size_t size, struct gt_err *err)
{
    struct gt_deployed *made = begin(path);
    int rc = GT_OK;

    *deployed = NULL;
    if (!made)
        return gt_err_nomem(err);
    if (size < sizeof(made->head))
        rc = gt_err_set(err, GT_EDB, "%s: cut off within its head", path);
    if (!rc) {
        memcpy(&made->head, bytes, sizeof(made->head));
        rc = check_head(made, size, err);
    }
    if (!rc) {
        made->bytes = malloc(gt_deployed_index_bytes(&made->head));
        if (!made->bytes)
            rc = gt_err_nomem(err);
    }
    if (!rc) {
        memcpy(made->bytes, bytes, gt_deployed_index_bytes(&made->head));
        rc = take(made, err);
    }
    if (rc)
        gt_deployed_close(made);
    else
        *deployed = made;
    return rc;
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
    if (rc)
        return rc;
    deployed->bytes = malloc(gt_deployed_index_bytes(&deployed->head));
    if (!deployed->bytes)
        return gt_err_nomem(err);
    rc = read_at(deployed, deployed->bytes, gt_deployed_index_bytes(&deployed->head), 0, err);
    /* The file may have changed between the two readings. */
    if (!rc && memcmp(deployed->bytes, &deployed->head, sizeof(deployed->head)) != 0)
        rc = gt_err_set(err, GT_EDB, "%s: changed while it was read", deployed->path);
    return rc ? rc : take(deployed, err);
}

int gt_deployed_open(struct gt_deployed **deployed, const char *path, struct gt_err *err)
{
    struct gt_deployed *made = begin(path);
    int rc;

    *deployed = NULL;
    if (!made)
        return gt_err_nomem(err);
    rc = read_index(made, err);
    if (rc)
        gt_deployed_close(made);
    else
        *deployed = made;
    return rc;
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

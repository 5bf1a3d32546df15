/* deployed.h - stage: one file to deploy, which holds winners and everything that running them
 * needs.
 *
 * `tune export --format deploy` writes it (tuner/commands/deploy.c); gt_open reads it in place of
 * every table.  For each problem on each device the file holds the answer, the launches and tensor
 * maps in numbers, and the machine code.  So neither descriptions, templates nor a compiler are
 * needed.
 *
 * The file: a head; then items, launches, maps, images and texts, each an array without gaps; then
 * the images' bytes, one behind the other, to the end of the file.  Numbers are those of a
 * little-endian machine.  The head's digest covers everything before the images' bytes, and each
 * image has its own digest, so that no byte of the file is outside a digest.  What stands before
 * the images is read, checked and kept in memory by gt_deployed_open; an image is read and checked
 * when it is loaded.  The file is not mapped, so that a file that is cut off later causes an error
 * sentence and no signal. */
#ifndef GT_DEPLOYED_H
#define GT_DEPLOYED_H

#include "base/digest.h"
#include "cuda/gpu.h"
#include "kernel/kernel.h"
#include "lookup/lookup.h"

#define GT_DEPLOYED_MAGIC   "gemmtune deploy" /* with its NUL: 16 bytes */
#define GT_DEPLOYED_VERSION 1
#define GT_DEPLOYED_ORDER   0x01020304u /* has this value on a machine of the same byte order */
#define GT_DEPLOYED_MOST    (1u << 20)  /* most items, launches, maps or images */
#define GT_DEPLOYED_TEXTS   (64u << 20) /* bytes */
#define GT_DEPLOYED_DIGEST  40          /* 32 digits, then NULs */

struct gt_deployed_head {
    char magic[16];
    uint32_t version, order;
    uint64_t file_bytes;
    uint32_t items, launches, maps, images, text_bytes, unused; /* unused: 0 */
    char digest[GT_DEPLOYED_DIGEST]; /* digest of the bytes before the images', computed with this
                                        field zeroed */
};

/* An answer to one problem on one device.  Texts are offsets of NUL-terminated bytes; 0: none. */
struct gt_deployed_item {
    int64_t workspace_bytes, trials;
    double us, tuned_us, expected_us, expected_loss, baseline_us; /* as in gt_answer */
    uint32_t problem, device, kernel, point, tuned_for, passed_over, cublaslt;
    int32_t cc, sms; /* of the device; the launches are made for so many multiprocessors */
    int32_t tier, predicted, contested, varies;
    uint32_t image, first_launch, launches, first_map, maps;
    int32_t launch_param[16];
};

struct gt_deployed_launch {
    uint32_t entry, grid[3], block[3], cluster[3], shared_bytes;
    int32_t carveout, pdl;
    int32_t arguments; /* behind gt_args: 1: gt_maps, 2: gt_more, 3: both */
};

struct gt_deployed_map {
    int64_t offset;
    uint64_t dims[GT_MAX_MAP_RANK], strides[GT_MAX_MAP_RANK];
    uint32_t box[GT_MAX_MAP_RANK];
    int32_t used, operand, element, rank, swizzle, promotion, unused; /* unused: 0 */
};

struct gt_deployed_image {
    uint64_t offset, size; /* bytes, from the beginning of the file */
    char digest[GT_DEPLOYED_DIGEST];
    int32_t cc, nvrtc; /* arch it was compiled for, and the compiler's version: 13010 for 13.1 */
};

_Static_assert(sizeof(struct gt_deployed_head) == 96 && sizeof(struct gt_deployed_item) == 192 &&
                   sizeof(struct gt_deployed_launch) == 56 &&
                   sizeof(struct gt_deployed_map) == 136 && sizeof(struct gt_deployed_image) == 64,
               "structures of the file have no padding");

/* Number of bytes before the images' bytes, from the head's counts, which may have any value. */
size_t gt_deployed_index_bytes(const struct gt_deployed_head *head);

/* Computes the head's digest of the bytes, which begin with a head.  The head's own digest counts
 * as zeroed. */
int gt_deployed_index_digest(const void *bytes, size_t size, char digest[GT_DEPLOYED_DIGEST],
                             struct gt_err *err);

struct gt_deployed;

/* Whether the file at `path` begins like a deployed file; false also if it cannot be read. */
bool gt_deployed_is(const char *path);

/* Reads and checks all but the images' bytes.  GT_EIO: the file cannot be read, or others than root
 * and this user may write it (it holds code for this user's GPU); GT_ESTALE: it is of another
 * version or byte order; GT_EDB: it is damaged.  Free with gt_deployed_close. */
int gt_deployed_open(struct gt_deployed **deployed, const char *path, struct gt_err *err);
void gt_deployed_close(struct gt_deployed *deployed); /* NULL accepted */

/* As gt_deployed_open, for the bytes of a file in memory, which are copied; path: for sentences.
 * The images of such a file cannot be loaded. */
int gt_deployed_parse(struct gt_deployed **deployed, const char *path, const void *bytes,
                      size_t size, struct gt_err *err);

uint32_t gt_deployed_items(const struct gt_deployed *deployed);
const struct gt_deployed_item *gt_deployed_item(const struct gt_deployed *deployed, uint32_t index);
const char *gt_deployed_text(const struct gt_deployed *deployed, uint32_t text); /* NULL: none */
void gt_deployed_geometry(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                          struct gt_geometry *geometry);

/* Reads the bytes of an item's image, malloc'ed, and checks their digest. */
int gt_deployed_image(const struct gt_deployed *deployed, const struct gt_deployed_item *item,
                      void **image, size_t *size, struct gt_err *err);

/* Fills answer, item and geometry of resolved, whose problem and device are set; device.sms 0: no
 * GPU is there, and an item for any device of the arch will do.  A device of another name gets, as
 * tier NEAR, an item that was made for a device of the same arch and number of multiprocessors.
 * Tier NONE is an answer, and its passed_over says what the file holds instead.  Point and
 * passed_over are malloc'ed. */
int gt_deployed_resolve(const struct gt_deployed *deployed, const char *device_name,
                        struct gt_resolved *resolved, struct gt_err *err);

/* The GPU, opened for guests, and an item's module on it: both are made when they are first asked
 * for, kept until gt_deployed_close, and made again if the program has reset the device meanwhile.
 * Any number of threads may ask at once; no thread waits for another.  GT_ERANGE: the driver is
 * older than the code. */
int gt_deployed_gpu(struct gt_deployed *deployed, int ordinal, struct gt_gpu **gpu,
                    struct gt_err *err);
int gt_deployed_module(struct gt_deployed *deployed, struct gt_gpu *gpu,
                       const struct gt_deployed_item *item, struct gt_module **module,
                       struct gt_err *err);

#endif

/* deploy_file.c - builds a deployed file; see deploy_file.h, and src/lookup/deployed.h for its
 * layout. */
#include "commands/deploy_file.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

void gt_deploy_file_init(struct gt_deploy_file *file)
{
    memset(file, 0, sizeof(*file));
    gt_strbuf_init(&file->items);
    gt_strbuf_init(&file->launches);
    gt_strbuf_init(&file->maps);
    gt_strbuf_init(&file->images);
    gt_strbuf_init(&file->texts);
    gt_strbuf_init(&file->code);
    gt_strbuf_add_char(&file->texts, '\0'); /* so that offset 0 means that there is no text */
}

void gt_deploy_file_release(struct gt_deploy_file *file)
{
    gt_strbuf_release(&file->items);
    gt_strbuf_release(&file->launches);
    gt_strbuf_release(&file->maps);
    gt_strbuf_release(&file->images);
    gt_strbuf_release(&file->texts);
    gt_strbuf_release(&file->code);
}

/* Returns the offset of the text, which is stored once; 0 if the text is NULL. */
static uint32_t add_text(struct gt_deploy_file *file, const char *text)
{
    const struct gt_strbuf *texts = &file->texts;
    const size_t length = text ? strlen(text) + 1 : 0;
    uint32_t at;

    if (!text)
        return 0;
    for (size_t i = 1; i + length <= texts->length; i += strlen(texts->text + i) + 1)
        if (memcmp(texts->text + i, text, length) == 0)
            return (uint32_t)i;
    at = (uint32_t)texts->length;
    gt_strbuf_add_bytes(&file->texts, text, length);
    return at;
}

static uint32_t add_image(struct gt_deploy_file *file, const struct gt_binary *binary, int cc,
                          int nvrtc)
{
    struct gt_deployed_image image = {.size = binary->size, .cc = cc, .nvrtc = nvrtc};

    gt_digest_bytes(binary->image, binary->size, image.digest);
    for (uint32_t i = 0; i < file->image_count; i++) {
        struct gt_deployed_image other;

        memcpy(&other, file->images.text + i * sizeof(other), sizeof(other));
        if (other.size == image.size && other.cc == cc && other.nvrtc == nvrtc &&
            memcmp(other.digest, image.digest, sizeof(image.digest)) == 0)
            return i;
    }
    image.offset = file->code.length; /* what precedes the code is added at the end */
    gt_strbuf_add_bytes(&file->images, &image, sizeof(image));
    gt_strbuf_add_bytes(&file->code, binary->image, binary->size);
    return file->image_count++;
}

static void add_launches(struct gt_deploy_file *file, const struct gt_geometry *geometry)
{
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *from = &geometry->launch[i];
        struct gt_deployed_launch to = {.entry = add_text(file, from->entry),
                                        .shared_bytes = from->shared_bytes,
                                        .carveout = from->carveout,
                                        .pdl = from->pdl,
                                        .maps = from->maps};

        memcpy(to.grid, from->grid, sizeof(to.grid));
        memcpy(to.block, from->block, sizeof(to.block));
        memcpy(to.cluster, from->cluster, sizeof(to.cluster));
        gt_strbuf_add_bytes(&file->launches, &to, sizeof(to));
    }
    file->launch_count += (uint32_t)geometry->launches;
}

static void add_maps(struct gt_deploy_file *file, const struct gt_geometry *geometry)
{
    for (size_t i = 0; i < geometry->maps; i++) {
        const struct gt_map_geometry *from = &geometry->map[i];
        struct gt_deployed_map to = {.used = from->used,
                                     .operand = (int32_t)from->operand,
                                     .element = (int32_t)from->element,
                                     .offset = from->offset,
                                     .rank = from->rank,
                                     .swizzle = from->swizzle,
                                     .promotion = from->promotion};

        memcpy(to.dims, from->dims, sizeof(to.dims));
        memcpy(to.strides, from->strides, sizeof(to.strides));
        memcpy(to.box, from->box, sizeof(to.box));
        gt_strbuf_add_bytes(&file->maps, &to, sizeof(to));
    }
    file->map_count += (uint32_t)geometry->maps;
}

int gt_deploy_file_add(struct gt_deploy_file *file, const struct gt_resolved *resolved,
                       const struct gt_binary *binary, int nvrtc, struct gt_err *err)
{
    const struct gt_answer *answer = &resolved->answer;
    const struct gt_geometry *geometry = &resolved->geometry;
    char problem[GT_PROBLEM_TEXT_MAX];
    struct gt_deployed_item item = {.workspace_bytes = (int64_t)geometry->workspace_bytes,
                                    .trials = answer->trials,
                                    .us = answer->us,
                                    .tuned_us = answer->tuned_us,
                                    .expected_us = answer->expected_us,
                                    .expected_loss = answer->expected_loss,
                                    .baseline_us = answer->baseline_us,
                                    .cc = resolved->device.cc,
                                    .sms = resolved->device.sms,
                                    .tier = (int32_t)answer->tier,
                                    .predicted = answer->predicted,
                                    .contested = answer->contested,
                                    .varies = answer->varies,
                                    .first_launch = file->launch_count,
                                    .launches = (uint32_t)geometry->launches,
                                    .first_map = file->map_count,
                                    .maps = (uint32_t)geometry->maps};

    gt_problem_format(&resolved->problem, problem);
    item.problem = add_text(file, problem);
    item.device = add_text(file, resolved->device.name);
    item.kernel = add_text(file, answer->kernel);
    item.point = add_text(file, answer->point);
    item.tuned_for = add_text(file, answer->tuned_for);
    item.passed_over = add_text(file, answer->passed_over);
    item.cublaslt = add_text(file, answer->cublaslt);
    memcpy(item.launch_param, geometry->launch_param, sizeof(item.launch_param));
    item.image = add_image(file, binary, resolved->device.cc, nvrtc);
    add_launches(file, geometry);
    add_maps(file, geometry);
    gt_strbuf_add_bytes(&file->items, &item, sizeof(item));
    file->item_count++;
    if (file->item_count > GT_DEPLOYED_MOST || file->launch_count > GT_DEPLOYED_MOST ||
        file->map_count > GT_DEPLOYED_MOST || file->texts.length > GT_DEPLOYED_TEXTS)
        return gt_err_set(err, GT_ERANGE, "a deployed file takes at most %u answers",
                          GT_DEPLOYED_MOST);
    return gt_strbuf_check(&file->items, err);
}

/* Makes the offsets of the images count from the beginning of the file. */
static void move_images(struct gt_deploy_file *file, uint64_t by)
{
    for (uint32_t i = 0; i < file->image_count; i++) {
        char *at = file->images.text + i * sizeof(struct gt_deployed_image);
        struct gt_deployed_image image;

        memcpy(&image, at, sizeof(image));
        image.offset += by;
        memcpy(at, &image, sizeof(image));
    }
}

int gt_deploy_file_write(struct gt_deploy_file *file, FILE *to, size_t *bytes, struct gt_err *err)
{
    const struct gt_strbuf *const parts[] = {&file->items, &file->launches, &file->maps,
                                             &file->images, &file->texts};
    struct gt_deployed_head head = {.magic = GT_DEPLOYED_MAGIC,
                                    .version = GT_DEPLOYED_VERSION,
                                    .order = GT_DEPLOYED_ORDER,
                                    .items = file->item_count,
                                    .launches = file->launch_count,
                                    .maps = file->map_count,
                                    .images = file->image_count,
                                    .text_bytes = (uint32_t)file->texts.length};
    struct gt_strbuf index = GT_STRBUF_INIT;
    size_t size = sizeof(head);
    int rc = gt_strbuf_check(&file->code, err);

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !rc; i++) {
        rc = gt_strbuf_check(parts[i], err);
        size += parts[i]->length;
    }
    if (rc)
        return rc;
    move_images(file, size);
    head.file_bytes = size + file->code.length;
    gt_strbuf_add_bytes(&index, &head, sizeof(head));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        gt_strbuf_add_bytes(&index, parts[i]->text, parts[i]->length);
    rc = gt_strbuf_check(&index, err);
    GT_STEP(rc, gt_deployed_index_digest(index.text, index.length, head.digest, err));
    errno = 0;
    if (!rc &&
        (fwrite(&head, 1, sizeof(head), to) != sizeof(head) ||
         fwrite(index.text + sizeof(head), 1, size - sizeof(head), to) != size - sizeof(head) ||
         fwrite(file->code.text, 1, file->code.length, to) != file->code.length))
        rc = gt_err_set(err, GT_EIO, "cannot write the file: %s",
                        errno ? strerror(errno) : "only a part was taken");
    gt_strbuf_release(&index);
    *bytes = head.file_bytes;
    return rc;
}

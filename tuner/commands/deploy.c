/* deploy.c - decides what goes into a file to deploy and obtains the machine code; see deploy.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "commands/deploy.h"
#include "console/cmd_write.h"
#include "console/options.h"
#include "cuda/cache.h"
#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"
#include "lookup/table.h"
#include "problem/device.h"

#define SAY_SECONDS  10 /* seconds between two progress lines */
#define SAY_LEFT_OUT 10 /* lines that name problems left out; with --verbose all are named */

/* A problem on a device; their answer goes into the file. */
struct target {
    const char *device; /* owned by the table */
    int cc, sms;        /* sms 0: as in the arch's profile */
    int64_t l2_bytes;
    const struct gt_problem *problem;
};

struct deploying {
    struct gt_cli *cli;
    const struct gt_deploy_request *request;
    struct gt_deploy_counts *counts;
    struct gt *gt;
    struct gt_table table;
    struct target *target;
    size_t targets, capacity;
    struct gt_deploy_file file;
    struct gt_strbuf left_out; /* a line for each problem */
};

/* ---- targets ---- */

static bool same_target(const struct target *x, const struct target *y)
{
    struct gt_problem_key a, b;

    if (x->cc != y->cc || strcmp(x->device, y->device) != 0)
        return false;
    gt_problem_key(&a, x->problem);
    gt_problem_key(&b, y->problem);
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static int add_target(struct deploying *deploying, const struct target *target, struct gt_err *err)
{
    int rc;

    for (size_t i = 0; i < deploying->targets; i++)
        if (same_target(&deploying->target[i], target))
            return GT_OK;
    rc = GT_ARRAY_RESERVE(&deploying->target, deploying->targets + 1, &deploying->capacity, err);
    if (!rc)
        deploying->target[deploying->targets++] = *target;
    return rc;
}

/* Lists the targets: the problem of each winner or, if problems were named, each of them on each
 * device that has winners. */
static int list_targets(struct deploying *deploying, struct gt_err *err)
{
    const struct gt_deploy_request *request = deploying->request;
    const struct gt_table *table = &deploying->table;
    int rc = GT_OK;

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++) {
        struct target target = {row->device, row->cc, row->sms, row->l2_bytes, &row->problem};

        if ((request->rows.cc && row->cc != request->rows.cc) ||
            !gt_row_asked(&request->rows, row->device))
            continue;
        if (request->kernel && !request->problems && strcmp(row->kernel, request->kernel) != 0)
            continue;
        if (!request->problems)
            rc = add_target(deploying, &target, err);
        for (size_t i = 0; i < request->problems && !rc; i++) {
            target.problem = &request->problem[i];
            rc = add_target(deploying, &target, err);
        }
        if (rc)
            return rc;
    }
    return GT_OK;
}

/* ---- answers and their code ---- */

__attribute__((format(printf, 2, 3))) static void leave_out(struct deploying *deploying,
                                                            const char *format, ...)
{
    struct gt_deploy_counts *counts = deploying->counts;
    char why[sizeof(counts->why)];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    gt_copy_clean(why, sizeof(why), why);
    if (!counts->left_out++ && !deploying->request->kernel)
        memcpy(counts->why, why, sizeof(why));
    if (counts->left_out <= SAY_LEFT_OUT || deploying->cli->verbose)
        gt_strbuf_addf(&deploying->left_out, "left out: %s\n", why);
}

static int device_of(const struct deploying *deploying, const struct target *target,
                     struct gt_device *device, struct gt_err *err)
{
    int rc =
        gt_device_profile_of(device, deploying->cli->data_dir, target->cc, target->device, err);

    if (rc)
        return rc;
    snprintf(device->name, sizeof(device->name), "%s", target->device);
    if (target->sms > 0)
        device->sms = target->sms;
    if (target->l2_bytes > 0)
        device->l2_bytes = target->l2_bytes;
    return GT_OK;
}

/* Whether the answer belongs in the file; if it does not, records why. */
static bool is_wanted(struct deploying *deploying, const struct gt_problem *asked,
                      const struct gt_resolved *resolved)
{
    const struct gt_deploy_request *request = deploying->request;
    const struct gt_answer *answer = &resolved->answer;
    char problem[GT_PROBLEM_TEXT_MAX], why[GT_UNSERVED_MAX];

    const bool other =
        request->kernel && answer->kernel && strcmp(answer->kernel, request->kernel) != 0;

    if (request->measured && answer->predicted && !request->problems)
        return false;
    gt_problem_format(asked, problem);
    if (answer->tier == GT_TIER_NONE)
        gt_lookup_unserved(why, deploying->gt, &resolved->problem, &resolved->device);
    if (answer->tier == GT_TIER_NONE)
        leave_out(deploying, "%s: no kernel serves it on %s: %s", problem, resolved->device.name,
                  why);
    else if (request->measured && answer->predicted)
        leave_out(deploying, "%s on %s: it was predicted and not measured", problem,
                  resolved->device.name);
    else if (other && request->problems)
        leave_out(deploying, "%s on %s: kernel %s is the answer", problem, resolved->device.name,
                  answer->kernel);
    else if (other || (answer->tier != GT_TIER_EXACT && !request->problems))
        leave_out(deploying, "%s on %s: %s; tune it again, or name it with --problem", problem,
                  resolved->device.name,
                  answer->passed_over ? answer->passed_over : "its winner cannot run any more");
    else
        return true;
    return false;
}

static int add_answer(struct deploying *deploying, const struct target *target, struct gt_err *err)
{
    const struct gt_options *options = gt_lookup_options(deploying->gt);
    struct gt_resolved resolved = {.kernel = NULL};
    struct gt_binary binary = {0};
    struct gt_device device;
    int nvrtc = 0, rc = device_of(deploying, target, &device, err);

    GT_STEP(rc, gt_lookup_device(deploying->gt, &device, target->problem, &resolved, err));
    if (!rc && is_wanted(deploying, target->problem, &resolved)) {
        rc = gt_plan_binary(options, &resolved, NULL, &binary, &nvrtc, err);
        resolved.problem = *target->problem; /* programs find the answer by the problem asked,
                                                whatever problem computes it */
        GT_STEP(rc, gt_deploy_file_add(&deploying->file, &resolved, &binary, nvrtc, err));
    }
    gt_binary_release(&binary);
    gt_resolved_release(&resolved);
    return rc;
}

static int open_sources(struct deploying *deploying, struct gt_err *err)
{
    const struct gt_deploy_request *request = deploying->request;
    const char *const folders[] = {request->kernels_dir, NULL};
    struct gt_options options = {GT_OPTIONS_INIT,
                                 .user_db = request->db,
                                 .data_dir = deploying->cli->data_dir,
                                 .allow_nvrtc = 1,
                                 .kernels_dirs = request->kernels_dir ? folders : NULL,
                                 .include_dirs = request->include_dirs};
    char *cubins = NULL;
    int rc;

    if (gt_deployed_is(request->db))
        return gt_err_set(err, GT_EDB,
                          "%s is a deployed file already; export from the database it was made of",
                          request->db);
    gt_cache_dir(&cubins, NULL); /* without a cache everything is compiled */
    options.cubin_dir = cubins;
    rc = gt_open(&deploying->gt, &options, err);
    GT_STEP(rc, gt_table_load(&deploying->table, request->db, err));
    free(cubins);
    return rc;
}

/* ---- the file ---- */

static int write_file(void *context, FILE *to, struct gt_err *err)
{
    struct deploying *deploying = context;

    return gt_deploy_file_write(&deploying->file, to, &deploying->counts->bytes, err);
}

static int check_file(void *context, const char *path, struct gt_err *err)
{
    struct gt_deployed *deployed;
    int rc = gt_deployed_open(&deployed, path, err);

    (void)context;
    for (uint32_t i = 0; !rc && i < gt_deployed_items(deployed); i++) {
        void *image = NULL;
        size_t size;

        rc = gt_deployed_image(deployed, gt_deployed_item(deployed, i), &image, &size, err);
        free(image);
    }
    gt_deployed_close(deployed);
    return rc;
}

static int fill(struct deploying *deploying, struct gt_err *err)
{
    double said = gt_clock_s();
    int rc = open_sources(deploying, err);

    GT_STEP(rc, list_targets(deploying, err));
    for (size_t i = 0; i < deploying->targets && !rc; i++) {
        rc = add_answer(deploying, &deploying->target[i], err);
        if (!rc && !deploying->cli->quiet && gt_clock_s() - said > SAY_SECONDS) {
            said = gt_clock_s();
            fprintf(deploying->cli->log, "%zu of %zu problems; what the cache lacks is compiled\n",
                    i + 1, deploying->targets);
        }
    }
    if (!rc && !deploying->file.item_count && *deploying->counts->why)
        rc = gt_err_set(err, GT_ENOTFOUND, "%s has nothing to deploy: %s", deploying->request->db,
                        deploying->counts->why);
    else if (!rc && !deploying->file.item_count)
        rc = gt_err_set(err, GT_ENOTFOUND, "%s has no winner of what was asked for",
                        deploying->request->db);
    return rc;
}

int gt_deploy(struct gt_cli *cli, const struct gt_deploy_request *request,
              struct gt_deploy_counts *counts, struct gt_err *err)
{
    struct deploying deploying = {
        .cli = cli, .request = request, .counts = counts, .left_out = GT_STRBUF_INIT};
    /* The mode does not depend on the umask: nobody else may write a file that holds code (see
     * gt_deployed_open). */
    const struct gt_cmd_writing file = {write_file, check_file, &deploying, 0644};
    int rc;

    memset(counts, 0, sizeof(*counts));
    gt_deploy_file_init(&deploying.file);
    rc = fill(&deploying, err);
    counts->answers = deploying.file.item_count;
    counts->images = deploying.file.image_count;
    GT_STEP(rc, gt_cmd_write_file(request->path, &file, err));
    if (deploying.left_out.text && (!rc || counts->left_out > 1)) /* a single one is in the error */
        fputs(deploying.left_out.text, cli->log);
    gt_strbuf_release(&deploying.left_out);
    gt_deploy_file_release(&deploying.file);
    gt_table_release(&deploying.table);
    gt_close(deploying.gt);
    free(deploying.target);
    return rc;
}

/* ---- the parts of a deployed file (src/lookup/deployed.h) ---- */

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

/* Stores a text once and returns its offset; 0 if the text is NULL. */
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
    image.offset = file->code.length; /* the offset of the code is added at the end */
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
                                        .arguments = from->maps | from->more << 1};

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

/* Makes the images' offsets count from the beginning of the file. */
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

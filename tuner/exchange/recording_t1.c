/* recording_t1.c - a space that is described in T1 and answered from the recording that it names:
 * T1 says which points there are, the recording what became of them. */
#include "exchange/recording_impl.h"

#include "base/err.h"
#include "exchange/t1.h"

#include <stdlib.h>
#include <string.h>

/* Makes the recording's path, which is relative to the folder of the T1 file. */
static int recording_path(struct gt_strbuf *path, const struct gt_t1 *t1, const char *t1_path,
                          struct gt_err *err)
{
    const char *slash = strrchr(t1_path, '/');

    if (!*t1->recording)
        return gt_err_set(err, GT_ECONFIG,
                          "%s describes a space and names no recording to answer from: add "
                          "\"SimulationInput\": \"FILE\" to its KernelSpecification, or name "
                          "it with --space beside --device replay:FILE",
                          t1_path);
    if (slash && *t1->recording != '/')
        gt_strbuf_add_bytes(path, t1_path, (size_t)(slash - t1_path) + 1);
    gt_strbuf_add(path, t1->recording);
    return gt_strbuf_check(path, err);
}

/* Presets the reader with T1's parameters and values, in T1's order, before it reads the recording.
 */
static int preset(struct gt_recording_reader *reader, const struct gt_t1 *t1)
{
    int rc = GT_OK;

    reader->preset = reader->listed = true;
    for (size_t p = 0; p < t1->params && !rc; p++) {
        rc = gt_recording_add_param(reader, t1->param[p].name);
        for (size_t i = 0; i < t1->param[p].count && !rc; i++) {
            const struct gt_python_value *value = &t1->param[p].value[i];

            rc = gt_recording_add_value(
                reader, &reader->param[p],
                (struct gt_recorded_value){(char *)value->text, value->number});
        }
    }
    return rc;
}

/* Keeps of T1's points (*count of them, by index) those that were recorded, each with its result:
 * of the others nobody knows what would become of them. */
static int select_points(struct gt_recording *recording, const struct gt_t1 *t1, uint8_t *index,
                         size_t *count, struct gt_err *err)
{
    struct gt_recorded *selected = calloc(*count, sizeof(*selected));
    struct gt_kernel *kernel = recording->kernel;
    struct gt_space space = {0};
    int rc = selected ? gt_recording_space(&space, recording, NULL, NULL, err) : gt_err_nomem(err);
    size_t found = 0;

    for (size_t i = 0; i < *count && !rc; i++) {
        struct gt_point point = {{0}};
        size_t at;

        for (size_t p = 0; p < t1->params; p++)
            point.value[p] = kernel->param[p].value[index[i * t1->params + p]];
        at = gt_space_find(&space, &point);
        if (at == SIZE_MAX)
            continue;
        memmove(index + found * t1->params, index + i * t1->params, t1->params);
        selected[found++] = recording->point[at];
    }
    gt_space_release(&space);
    if (!rc && !found)
        rc = gt_err_set(err, GT_ECONFIG, "%s: the recording has none of its points", t1->kernel);
    if (rc) {
        free(selected);
        return rc;
    }
    free(recording->point);
    recording->point = selected;
    recording->described = *count;
    *count = found;
    for (size_t p = 0; p < t1->params; p++) /* T1's values come first */
        kernel->param[p].count = t1->param[p].count;
    return GT_OK;
}

static int answer_from(struct gt_recording *recording, const struct gt_t1 *t1, const char *path,
                       struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_recording_reader reader = {.recording = recording, .path = path, .ms = 1, .err = err};
    uint8_t *index = NULL;
    size_t count = 0;
    int rc = gt_recording_read_text(&text, path, err);

    GT_STEP(rc, preset(&reader, t1));
    if (rc)
        gt_recording_release_params(&reader);
    else
        rc = gt_recording_parse_into(&reader, text.text, text.length);
    GT_STEP(rc, gt_t1_points(t1, GT_SPACE_LIMIT, &index, &count, err));
    GT_STEP(rc, select_points(recording, t1, index, &count, err));
    gt_strbuf_release(&text);
    if (rc) {
        free(index);
        return rc;
    }
    free(recording->index);
    recording->index = index;
    recording->points = count;
    free(recording->kernel->name);
    recording->kernel->name = strdup(t1->kernel);
    return recording->kernel->name ? GT_OK : gt_err_nomem(err);
}

/* What is wrong with a file's Python or its lists is a mistake of the file, whatever found it. */
static int malformed(const char *path, struct gt_err *err)
{
    if (err && !strstr(err->msg, path))
        gt_err_prefix(err, err->code, "%s", path);
    if (err)
        err->code = GT_ECONFIG;
    return GT_ECONFIG;
}

/* from: path of the recording; NULL: the one that the T1 file names. */
static int load(struct gt_recording *recording, const char *path, const char *text, size_t length,
                const char *from, struct gt_err *err)
{
    struct gt_strbuf named = GT_STRBUF_INIT;
    struct gt_t1 t1;
    int rc = gt_recording_begin(recording, err);

    if (rc)
        return rc;
    rc = gt_t1_parse(&t1, path, text, length, err);
    if (!rc && !from)
        rc = recording_path(&named, &t1, path, err);
    GT_STEP(rc, answer_from(recording, &t1, from ? from : named.text, err));
    GT_STEP(rc, gt_recording_sign(recording, text, length, err));
    gt_strbuf_release(&named);
    gt_t1_release(&t1);
    return rc == GT_ESYNTAX || rc == GT_ERANGE || rc == GT_ENOTFOUND ? malformed(path, err) : rc;
}

int gt_recording_load_t1(struct gt_recording *recording, const char *path, const char *text,
                         size_t length, struct gt_err *err)
{
    return load(recording, path, text, length, NULL, err);
}

int gt_recording_load_space(struct gt_recording *recording, const char *path, const char *space,
                            struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    *recording = (struct gt_recording){0};
    rc = gt_recording_read_text(&text, space, err);
    GT_STEP(rc, load(recording, space, text.text, text.length, path, err));
    gt_strbuf_release(&text);
    return rc;
}

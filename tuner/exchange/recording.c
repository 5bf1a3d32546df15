/* recording.c - a recorded space: reads the file (zlib reads plain and gzipped files), converts
 * times to microseconds, and makes a space for the strategies. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/json.h"
#include "exchange/recording_impl.h"
#include "exchange/t1.h"

#define CHUNK      ((unsigned)1 << 20)
#define TEXT_LIMIT ((size_t)1 << 30)  /* bytes of an unpacked file, at most */
#define FREE_TEXT  ((size_t)64 << 20) /* bytes that any file may unpack to; above: INFLATION */
#define INFLATION  200                /* times the file's size; JSON is compressed 10 to 40 times */

/* Replaces NaN and Infinity, which Python's json writes but JSON does not have.  Outside strings
 * they become empty texts, which count as no times. */
static void replace_nan(char *text, size_t length)
{
    static const char *const word[] = {"NaN", "-Infinity", "Infinity"};
    bool quoted = false;

    for (size_t i = 0; i < length; i++) {
        if (quoted) {
            i += text[i] == '\\'; /* an escaped quote does not end the string */
            quoted = i >= length || text[i] != '"' || text[i - 1] == '\\';
            continue;
        }
        quoted = text[i] == '"';
        for (size_t w = 0; w < 3; w++) {
            size_t size = strlen(word[w]);

            if (text[i] != *word[w] || strncmp(text + i, word[w], size) != 0)
                continue;
            memset(text + i, ' ', size);
            text[i] = text[i + 1] = '"';
            i += size - 1;
            break;
        }
    }
}

/* Opens a regular file: a pipe may never be written to, and a device may never end. */
static int open_file(gzFile *file, size_t *bytes, const char *path, struct gt_err *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;

    if (fd < 0)
        return gt_err_set(err, GT_EIO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return gt_err_set(err, GT_EIO, "%s: a recording is a regular file", path);
    }
    *bytes = (size_t)status.st_size;
    *file = gzdopen(fd, "rb");
    if (*file)
        return GT_OK;
    close(fd);
    return gt_err_nomem(err);
}

int gt_recording_read_text(struct gt_strbuf *text, const char *path, struct gt_err *err)
{
    char *chunk = malloc(CHUNK);
    gzFile file = NULL;
    size_t bytes = 0;
    int got = 0, rc = chunk ? open_file(&file, &bytes, path, err) : gt_err_nomem(err);

    if (rc)
        goto out;
    while ((got = gzread(file, chunk, CHUNK)) > 0) {
        gt_strbuf_add_bytes(text, chunk, (size_t)got);
        rc = gt_strbuf_check(text, err);
        if (!rc && text->length > TEXT_LIMIT)
            rc = gt_err_set(err, GT_ERANGE, "%s: more than 1 GiB of text", path);
        if (!rc && text->length > FREE_TEXT && text->length / INFLATION > bytes)
            rc = gt_err_set(err, GT_ERANGE, "%s: unpacks to more than %d times its size", path,
                            INFLATION);
        if (rc)
            goto out;
    }
    /* Only gzclose reports a stream that was cut short. */
    if (got < 0) {
        int number;
        const char *why = gzerror(file, &number);

        rc = gt_err_set(err, GT_EIO, "%s: %s", path, number == Z_ERRNO ? strerror(errno) : why);
    }
out:
    free(chunk);
    if (file && gzclose(file) != Z_OK && !rc)
        rc = gt_err_set(err, GT_EIO, "%s: the gzipped data are cut short", path);
    return rc;
}

bool gt_recording_begins(const char *path, const char *start)
{
    const int length = (int)strlen(start);
    char found[64] = "";
    gzFile file = NULL;
    size_t bytes;
    bool so;

    if (length >= (int)sizeof(found) || open_file(&file, &bytes, path, NULL))
        return false;
    so = gzread(file, found, (unsigned)length) == length && memcmp(found, start, length) == 0;
    gzclose(file);
    return so;
}

/* ---- what was read ---- */

/* Converts a recorded time to microseconds. */
static int scale_time(float *time, double us, const struct gt_recording_reader *reader)
{
    if (!(us >= GT_LEAST_US && us < GT_MOST_US))
        return gt_err_set(reader->err, GT_ECONFIG,
                          "%s: a time is %g us; a time must be from 1e-6 to 1e12 us", reader->path,
                          us);
    *time = (float)us;
    return GT_OK;
}

/* Converts the file's unit of time to microseconds (times) and milliseconds (costs). */
static int scale(const struct gt_recording_reader *reader)
{
    struct gt_recording *recording = reader->recording;
    const double ms = reader->ms;
    int rc = GT_OK;

    for (size_t i = 0; i < recording->samples && !rc; i++)
        rc = scale_time(&recording->sample[i], recording->sample[i] * ms * 1e3, reader);
    for (size_t i = 0; i < recording->points && !rc; i++) {
        struct gt_recorded *point = &recording->point[i];

        if (point->status == GT_STATUS_OK)
            rc = scale_time(&point->us, point->us * ms * 1e3, reader);
        point->compile_ms = (float)(point->compile_ms * ms);
        point->prove_ms = (float)(point->prove_ms * ms);
        point->time_ms = (float)(point->time_ms * ms);
        point->other_ms = (float)(point->other_ms * ms);
    }
    return rc;
}

/* Makes the signature depend also on text[0..length). */
static int sign(struct gt_recording *recording, const char *text, size_t length, struct gt_err *err)
{
    struct gt_digest digest;

    if (gt_digest_init(&digest))
        return gt_err_nomem(err);
    gt_digest_add(&digest, text, length);
    gt_digest_add(&digest, recording->kernel->signature, GT_DIGEST_HEX);
    gt_digest_final(&digest, recording->kernel->signature);
    return GT_OK;
}

/* Makes an empty recording, to be released also after a failure. */
static int begin(struct gt_recording *recording, struct gt_err *err)
{
    *recording = (struct gt_recording){
        .kernel = calloc(1, sizeof(*recording->kernel)),
        .device = strdup(""),
        .problem = strdup(""),
        .objective = strdup(""),
    };
    return recording->kernel && recording->device && recording->problem && recording->objective
               ? GT_OK
               : gt_err_nomem(err);
}

/* Drops repeated points.  The results of a search (T4) name a point as often as the search asked
 * for it.  The first result that is ok counts, or without one the first result. */
static int drop_repeats(struct gt_recording *recording, struct gt_err *err)
{
    size_t params = recording->kernel->params, size = 64, kept = 0;
    uint32_t *slot; /* 1 + the index of a kept point */

    while (size < 2 * recording->points)
        size *= 2;
    slot = calloc(size, sizeof(*slot));
    if (!slot)
        return gt_err_nomem(err);
    for (size_t i = 0; i < recording->points; i++) {
        const uint8_t *index = recording->index + i * params;
        uint64_t hash = params;
        size_t at;

        for (size_t p = 0; p < params; p++) {
            hash = (hash ^ index[p]) * 0x9e3779b97f4a7c15ull;
            hash ^= hash >> 32; /* the low bits of a product do not depend on the high ones */
        }
        at = hash % size;
        while (slot[at] && memcmp(recording->index + (slot[at] - 1) * params, index, params) != 0)
            at = (at + 1) % size;
        if (slot[at]) {
            struct gt_recorded *first = &recording->point[slot[at] - 1];

            if (first->status != GT_STATUS_OK)
                *first = recording->point[i];
            continue;
        }
        memmove(recording->index + kept * params, index, params);
        recording->point[kept++] = recording->point[i];
        slot[at] = (uint32_t)kept;
    }
    recording->points = kept;
    free(slot);
    return GT_OK;
}

/* Changes the signature if values are words, because older databases have points with numbers in
 * place of these words. */
static int sign_words(struct gt_recording *recording, struct gt_err *err)
{
    const struct gt_kernel *kernel = recording->kernel;
    bool words = false;

    for (size_t p = 0; p < kernel->params; p++)
        words |= kernel->param[p].word != NULL;
    return words ? sign(recording, "words", 5, err) : GT_OK;
}

/* As gt_recording_parse, with a reader whose recording is begun and whose parameters may be
 * preset.  Releases the parameters. */
static int parse_into(struct gt_recording_reader *reader, char *text, size_t length)
{
    struct gt_recording *recording = reader->recording;
    int rc = GT_OK;

    reader->at = text;
    reader->end = text + length;
    gt_digest_bytes(text, length, recording->kernel->signature);
    replace_nan(text, length);
    if (memchr(text, '\0', length) || gt_json_escapes_nul(text))
        rc = gt_err_set(reader->err, GT_ECONFIG, "%s: contains a NUL byte; it is no JSON text",
                        reader->path);
    GT_STEP(rc, gt_recording_read(reader));
    GT_STEP(rc, gt_recording_finish_params(reader));
    gt_recording_release_params(reader);
    GT_STEP(rc, sign_words(recording, reader->err));
    GT_STEP(rc, drop_repeats(recording, reader->err));
    return rc ? rc : scale(reader);
}

int gt_recording_parse(struct gt_recording *recording, const char *path, char *text, size_t length,
                       struct gt_err *err)
{
    struct gt_recording_reader reader = {.recording = recording, .path = path, .ms = 1, .err = err};
    int rc = begin(recording, err);

    return rc ? rc : parse_into(&reader, text, length);
}

/* ---- a space that is described in T1 ----
 * T1 lists the points; the recording that T1 names has their results. */

/* Keeps only the recorded ones of T1's points (*count of them, by index), each with its result,
 * because the results of the others are not known. */
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

/* Presets the reader with T1's parameters and values, in T1's order, before it reads the recording.
 */
static int preset(struct gt_recording_reader *reader, const struct gt_t1 *t1)
{
    int rc = GT_OK;

    reader->preset = reader->listed = true;
    for (size_t p = 0; p < t1->params && !rc; p++) {
        rc = gt_recording_add_param(reader, t1->param[p].name);
        for (size_t i = 0; i < t1->param[p].count && !rc; i++)
            rc = gt_t1_value(&reader->param[p], &t1->param[p].value[i], &(uint8_t){0}, reader->err);
    }
    return rc;
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
    GT_STEP(rc, parse_into(&reader, text.text, text.length));
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

/* Turns an error in a file's Python or lists into an error of the file. */
static int malformed(const char *path, struct gt_err *err)
{
    if (err && !strstr(err->msg, path))
        gt_err_prefix(err, err->code, "%s", path);
    if (err)
        err->code = GT_ECONFIG;
    return GT_ECONFIG;
}

/* Makes the path of the recording, which T1 gives relative to the folder of the T1 file. */
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

static int load_t1(struct gt_recording *recording, const char *path, const char *text,
                   size_t length, const char *from, struct gt_err *err)
{
    struct gt_strbuf named = GT_STRBUF_INIT;
    struct gt_t1 t1;
    int rc = begin(recording, err);

    if (rc)
        return rc;
    rc = gt_t1_parse(&t1, path, text, length, err);
    if (!rc && !from)
        rc = recording_path(&named, &t1, path, err);
    GT_STEP(rc, answer_from(recording, &t1, from ? from : named.text, err));
    GT_STEP(rc, sign(recording, text, length, err));
    gt_strbuf_release(&named);
    gt_t1_release(&t1);
    return rc == GT_ESYNTAX || rc == GT_ERANGE || rc == GT_ENOTFOUND ? malformed(path, err) : rc;
}

/* from: the recording that answers for a T1 file; NULL: the recording that the T1 file names. */
static int load_file(struct gt_recording *recording, const char *path, const char *from,
                     struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    *recording = (struct gt_recording){0};
    rc = gt_recording_read_text(&text, path, err);
    if (!rc && (from || gt_t1_is(text.text, text.length)))
        rc = load_t1(recording, path, text.text, text.length, from, err);
    else if (!rc)
        rc = gt_recording_parse(recording, path, text.text, text.length, err);
    gt_strbuf_release(&text);
    return rc;
}

int gt_recording_load(struct gt_recording *recording, const char *path, struct gt_err *err)
{
    return load_file(recording, path, NULL, err);
}

int gt_recording_load_space(struct gt_recording *recording, const char *path, const char *space,
                            struct gt_err *err)
{
    return load_file(recording, space, path, err);
}

void gt_recording_release(struct gt_recording *recording)
{
    gt_kernel_free(recording->kernel);
    free(recording->device);
    free(recording->problem);
    free(recording->objective);
    free(recording->point);
    free(recording->index);
    free(recording->sample);
    *recording = (struct gt_recording){0};
}

int gt_recording_space(struct gt_space *space, const struct gt_recording *recording,
                       const struct gt_problem *problem, const struct gt_device *device,
                       struct gt_err *err)
{
    return gt_space_list(space, recording->kernel, problem, device, recording->index,
                         recording->points, err);
}

/* recording.c - a recorded space: reads files (zlib reads plain and gzipped ones), has
 * recordings.py convert the forms of other programs, and reads the form that it writes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "exchange/recording.h"
#include "exchange/recordings_py.h"
#include "problem/problem.h"

#define CHUNK      ((unsigned)1 << 20)
#define TEXT_LIMIT ((size_t)1 << 30)  /* bytes of an unpacked file, at most */
#define FREE_TEXT  ((size_t)64 << 20) /* bytes that any file may unpack to; above: INFLATION */
#define INFLATION  200                /* times the file's size; JSON is compressed 10 to 40 times */

#define OWN "{\"gemmtune_recording\"" /* how the form of recordings.py begins */

/* ---- files ---- */

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

/* ---- other programs' forms ---- */

/* Makes a file in memory. */
static FILE *open_memory(void)
{
    const int fd = memfd_create("gemmtune-recording", MFD_CLOEXEC);

    return fd < 0 ? NULL : fdopen(fd, "w+");
}

static bool put(FILE *file, const struct gt_strbuf *text)
{
    return fwrite(text->text, 1, text->length, file) == text->length;
}

#define NO_PYTHON 127 /* the exit status if python3 could not be started */

/* Runs recordings.py and waits for its end.  -I and -S: no variable of Python's and no folder but
 * Python's own names code that is run. */
static int run_python(const char *const argument[3], FILE *in, FILE *out)
{
    const char *const argv[] = {"python3",   "-I",        "-S",        "-c", gt_recordings_py,
                                argument[0], argument[1], argument[2], NULL};
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(fileno(in), 0) == 0 && dup2(fileno(out), 1) == 1)
            execvp(argv[0], (char *const *)argv); /* the cast: nothing writes to arguments */
        _exit(NO_PYTHON);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int read_converted(struct gt_strbuf *text, FILE *out, const char *path, int status,
                          struct gt_err *err)
{
    char name[32];

    if (status == NO_PYTHON)
        return gt_err_set(err, GT_EIO,
                          "%s: the forms of other programs are written and read by python3, which "
                          "is not in $PATH; without it only what share/gemmtune/recordings.py made "
                          "elsewhere is read",
                          path);
    if (status)
        return gt_err_set(err, GT_EIO, "%s: python3 ended before it had converted the text", path);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fileno(out));
    return gt_recording_read_text(text, name, err);
}

int gt_recording_convert(struct gt_strbuf *text, const struct gt_strbuf *before,
                         const char *const argument[3], struct gt_err *err)
{
    FILE *in = open_memory(), *out = open_memory();
    int rc = GT_OK;

    if (!in || !out || (before && !put(in, before)) || !put(in, text) || fflush(in) != 0 ||
        fseek(in, 0, SEEK_SET) != 0)
        rc = gt_err_set(err, GT_EIO, "%s: cannot be kept in memory: %s", argument[0],
                        strerror(errno));
    gt_strbuf_reset(text);
    GT_STEP(rc, read_converted(text, out, argument[0], run_python(argument, in, out), err));
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return rc;
}

/* ---- our own form ----
 * A line of JSON for the space, then one for each point, as recordings.py writes them. */

struct reader {
    struct gt_recording *recording;
    char where[512];        /* for sentences: the file, and the line if the file has our own form */
    size_t points, samples; /* as many as the first line says */
    struct gt_err *err;
};

static int refuse(const struct reader *reader, const char *what)
{
    return gt_err_set(reader->err, GT_ECONFIG, "%s: %s", reader->where, what);
}

/* Replaces *text by a copy of the member; if there is none, it stays. */
static int copy_text(char **text, struct reader *reader, const cJSON *object, const char *key)
{
    const char *found = NULL;
    int rc = gt_json_string(&found, object, reader->where, key, GT_OPTIONAL, reader->err);

    if (rc || !found)
        return rc;
    free(*text);
    *text = strdup(found);
    return *text ? GT_OK : gt_err_nomem(reader->err);
}

/* Whether a text may stand in a point, where commas separate the values. */
static bool is_word(const cJSON *item)
{
    const char *text = cJSON_GetStringValue(item);
    bool is = text && *text;

    for (size_t i = 0; is && text[i]; i++)
        is = text[i] != ',' && !gt_is_control(text, i);
    return is;
}

/* Makes the values' names, in one block of pointers and texts. */
static int copy_words(char ***words, size_t *count, struct reader *reader, const cJSON *list)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    const cJSON *item;
    size_t bytes;
    char *at;
    int rc = GT_OK;

    cJSON_ArrayForEach(item, list)
    {
        if (!is_word(item))
            rc = refuse(reader, "a word that cannot stand in a point");
        else
            gt_strbuf_add_bytes(&text, item->valuestring, strlen(item->valuestring) + 1);
        *count += 1;
    }
    bytes = (*count + 1) * sizeof(**words);
    GT_STEP(rc, gt_strbuf_check(&text, reader->err));
    *words = rc ? NULL : malloc(bytes + text.length);
    if (*words) {
        at = memcpy((char *)*words + bytes, text.text, text.length);
        for (size_t i = 0; i < *count; i++, at += strlen(at) + 1)
            (*words)[i] = at;
        (*words)[*count] = NULL;
    }
    gt_strbuf_release(&text);
    return rc || *words ? rc : gt_err_nomem(reader->err);
}

static int read_values(struct gt_param *param, size_t words, struct reader *reader,
                       const cJSON *list)
{
    const int64_t most = param->word ? (int64_t)words - 1 : (int64_t)1e15;
    const int64_t least = param->word ? 0 : -most;
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        int64_t value;
        bool known = param->count > UINT8_MAX || !gt_json_whole(item, least, most, &value);

        for (size_t i = 0; i < param->count && !known; i++)
            known = param->value[i] == value;
        if (known)
            return refuse(reader, "values are at most 256 whole numbers, each once");
        param->value[param->count++] = value;
    }
    return param->count ? GT_OK : refuse(reader, "a parameter has no value");
}

static int read_param(struct reader *reader, const cJSON *item)
{
    struct gt_kernel *kernel = reader->recording->kernel;
    struct gt_param *param = &kernel->param[kernel->params];
    const cJSON *values = NULL, *words = NULL;
    size_t count = 0;
    int rc;

    if (kernel->params == GT_MAX_PARAMS)
        return refuse(reader, "too many parameters");
    kernel->params++;
    *param = (struct gt_param){.name = strdup(""),
                               .doc = strdup("recorded"),
                               .value = calloc(UINT8_MAX + 1, sizeof(*param->value))};
    if (!param->name || !param->doc || !param->value)
        return gt_err_nomem(reader->err);
    rc = copy_text(&param->name, reader, item, "name");
    GT_STEP(rc,
            gt_json_bool(&param->launch, item, reader->where, "launch", GT_OPTIONAL, reader->err));
    GT_STEP(rc, gt_json_get(&words, item, reader->where, "words", cJSON_Array, GT_OPTIONAL,
                            reader->err));
    GT_STEP(rc, gt_json_get(&values, item, reader->where, "values", cJSON_Array, GT_REQUIRED,
                            reader->err));
    if (words)
        GT_STEP(rc, copy_words(&param->word, &count, reader, words));
    return rc ? rc : read_values(param, count, reader, values);
}

/* Lets the kernel serve every problem without scales and groups, because nobody can check which
 * problem the recording is of. */
static int serve_everything(struct gt_kernel *kernel, struct gt_err *err)
{
    kernel->production = true;
    kernel->entries = 1;
    kernel->entry[0] = (struct gt_serves){.types = UINT_MAX,
                                          .outs = UINT_MAX,
                                          .types_b = UINT_MAX,
                                          .biases = UINT_MAX,
                                          .sums = UINT_MAX,
                                          .gates = UINT_MAX,
                                          .layouts = UINT_MAX,
                                          .epilogues = UINT_MAX,
                                          .max_cc = INT_MAX,
                                          .max_m = GT_MAX_EXTENT,
                                          .accuracy = GT_ACCURACY_STRICT,
                                          .batched = true};
    kernel->name = strdup("recorded");
    kernel->doc = strdup("a recorded space");
    kernel->text = strdup("");
    return kernel->name && kernel->doc && kernel->text ? GT_OK : gt_err_nomem(err);
}

/* Reads the numbers of points and samples, and makes room for them; no text of `length` bytes holds
 * more of either. */
static int read_sizes(struct reader *reader, const cJSON *head, size_t length)
{
    struct gt_recording *recording = reader->recording;
    int64_t points = 0, samples = 0;
    int rc = gt_json_integer(&points, head, reader->where, "points", 1, (int64_t)length,
                             GT_REQUIRED, reader->err);

    GT_STEP(rc, gt_json_integer(&samples, head, reader->where, "samples", 0, (int64_t)length,
                                GT_REQUIRED, reader->err));
    if (rc)
        return rc;
    reader->points = (size_t)points;
    reader->samples = (size_t)samples;
    recording->point = calloc(reader->points, sizeof(*recording->point));
    recording->index = calloc(reader->points, recording->kernel->params + 1);
    recording->sample = calloc(reader->samples + 1, sizeof(*recording->sample));
    return recording->point && recording->index && recording->sample ? GT_OK
                                                                     : gt_err_nomem(reader->err);
}

static int read_head(struct reader *reader, const cJSON *head, size_t length)
{
    struct gt_recording *recording = reader->recording;
    const cJSON *params = NULL, *item;
    int64_t version = 0, cc = 0, described = 0;
    int rc = gt_json_integer(&version, head, reader->where, "gemmtune_recording", 1, 1, GT_REQUIRED,
                             reader->err);

    GT_STEP(rc, copy_text(&recording->kernel->name, reader, head, "kernel"));
    GT_STEP(rc, copy_text(&recording->device, reader, head, "device"));
    GT_STEP(rc, copy_text(&recording->problem, reader, head, "problem"));
    GT_STEP(rc, copy_text(&recording->objective, reader, head, "objective"));
    GT_STEP(rc, gt_json_integer(&cc, head, reader->where, "cc", 0, 9999, GT_OPTIONAL, reader->err));
    GT_STEP(rc, gt_json_integer(&described, head, reader->where, "described", 0, GT_SPACE_LIMIT,
                                GT_OPTIONAL, reader->err));
    GT_STEP(rc, gt_json_bool(&recording->predicted, head, reader->where, "predicted", GT_OPTIONAL,
                             reader->err));
    GT_STEP(rc, gt_json_bool(&recording->costs, head, reader->where, "costs", GT_OPTIONAL,
                             reader->err));
    GT_STEP(rc, gt_json_get(&params, head, reader->where, "params", cJSON_Array, GT_REQUIRED,
                            reader->err));
    cJSON_ArrayForEach(item, params) GT_STEP(rc, read_param(reader, item));
    if (!rc && !recording->kernel->params)
        rc =
            gt_err_set(reader->err, GT_ECONFIG, "%s: the points have no parameters", reader->where);
    recording->cc = (int)cc;
    recording->described = (size_t)described;
    return rc ? rc : read_sizes(reader, head, length);
}

static int read_time(struct reader *reader, float *time, double us)
{
    if (!(us >= GT_LEAST_US && us < GT_MOST_US))
        return gt_err_set(reader->err, GT_ECONFIG,
                          "%s: a time is %g us; a time must be from 1e-6 to 1e12 us", reader->where,
                          us);
    *time = (float)us;
    return GT_OK;
}

static int read_samples(struct reader *reader, struct gt_recorded *point, const cJSON *list)
{
    struct gt_recording *recording = reader->recording;
    const cJSON *item;
    int rc = GT_OK;

    point->first = (uint32_t)recording->samples;
    cJSON_ArrayForEach(item, list)
    {
        if (!rc && recording->samples == reader->samples)
            rc = refuse(reader, "too many samples");
        GT_STEP(rc, read_time(reader, &recording->sample[recording->samples], item->valuedouble));
        recording->samples += !rc;
    }
    point->samples = (uint32_t)(recording->samples - point->first);
    return rc;
}

static int read_index(struct reader *reader, uint8_t *index, const cJSON *list)
{
    const struct gt_kernel *kernel = reader->recording->kernel;
    const cJSON *item;
    size_t p = 0;

    cJSON_ArrayForEach(item, list)
    {
        int64_t value;

        if (p == kernel->params ||
            !gt_json_whole(item, 0, (int64_t)kernel->param[p].count - 1, &value))
            break;
        index[p++] = (uint8_t)value;
    }
    return !item && p == kernel->params ? GT_OK
                                        : refuse(reader, "\"point\" is no point of the space");
}

static int read_point(struct reader *reader, const cJSON *line)
{
    struct gt_recording *recording = reader->recording;
    struct gt_recorded *point = &recording->point[recording->points];
    static const char *const keys[] = {"compile_ms", "prove_ms", "time_ms", "other_ms"};
    float *const costs[] = {&point->compile_ms, &point->prove_ms, &point->time_ms,
                            &point->other_ms};
    const cJSON *index = NULL, *samples = NULL;
    const char *status = "";
    double us = 0, cost;
    int rc = recording->points < reader->points ? GT_OK : refuse(reader, "too many points");

    GT_STEP(rc, gt_json_get(&index, line, reader->where, "point", cJSON_Array, GT_REQUIRED,
                            reader->err));
    GT_STEP(rc, read_index(reader, recording->index + recording->points * recording->kernel->params,
                           index));
    GT_STEP(rc, gt_json_string(&status, line, reader->where, "status", GT_REQUIRED, reader->err));
    GT_STEP(rc, gt_json_get(&samples, line, reader->where, "samples", cJSON_Array, GT_REQUIRED,
                            reader->err));
    GT_STEP(rc, read_samples(reader, point, samples));
    for (size_t i = 0; i < 4 && !rc; i++) {
        cost = 0;
        rc = gt_json_real(&cost, line, reader->where, keys[i], 0, 1e30, GT_OPTIONAL, reader->err);
        *costs[i] = (float)cost;
    }
    GT_STEP(rc, gt_json_real(&us, line, reader->where, "us", 0, 1e30, GT_OPTIONAL, reader->err));
    if (rc) /* there may be no room for the point */
        return rc;
    point->status = gt_status_parse(status);
    if (!point->status || (point->status == GT_STATUS_OK && !point->samples))
        rc = refuse(reader, "\"status\" is no status, or needs a sample");
    if (!rc && point->status == GT_STATUS_OK)
        rc = read_time(reader, &point->us, us);
    recording->points += !rc;
    return rc;
}

/* Reads one line; an error that recordings.py found is a line, too. */
static int read_line(struct reader *reader, const char *line, size_t size, size_t left)
{
    const cJSON *error, *range;
    cJSON *object = NULL;
    int rc = gt_json_parse(&object, reader->where, line, size, reader->err);

    error = rc ? NULL : cJSON_GetObjectItemCaseSensitive(object, "error");
    range = cJSON_GetObjectItemCaseSensitive(object, "range");
    if (cJSON_IsString(error))
        rc = gt_err_set(reader->err, cJSON_IsTrue(range) ? GT_ERANGE : GT_ECONFIG, "%s",
                        error->valuestring);
    GT_STEP(rc, reader->recording->point ? read_point(reader, object)
                                         : read_head(reader, object, left));
    cJSON_Delete(object);
    return rc;
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
               ? serve_everything(recording->kernel, err)
               : gt_err_nomem(err);
}

/* Reads a text in our own form into a recording that is begun.  numbered: sentences name lines. */
static int read_lines(struct gt_recording *recording, const char *path, bool numbered, char *text,
                      size_t length, struct gt_err *err)
{
    struct reader reader = {.recording = recording, .err = err};
    size_t number = 1;
    int rc = GT_OK;

    for (char *line = text, *end; line < text + length && !rc; line = end + 1, number++) {
        end = line + strcspn(line, "\n");
        *end = '\0';
        snprintf(reader.where, sizeof(reader.where), numbered ? "%.480s:%zu" : "%.480s", path,
                 number);
        rc = read_line(&reader, line, (size_t)(end - line), (size_t)(text + length - line));
    }
    if (!rc && (!recording->points || recording->points != reader.points))
        rc = gt_err_set(err, GT_ECONFIG, "%s: the text ends too early", path);
    return rc;
}

int gt_recording_parse(struct gt_recording *recording, const char *path, char *text, size_t length,
                       struct gt_err *err)
{
    int rc = begin(recording, err);

    GT_STEP(rc, read_lines(recording, path, true, text, length, err));
    return rc;
}

/* ---- files of any form ---- */

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

/* A file in T1 that describes the space. */
struct t1 {
    const char *path;
    struct gt_strbuf text;
};

/* Makes the path of the recording, which T1 gives relative to the folder of its own file. */
static int named_recording(struct gt_strbuf *path, const struct t1 *t1, struct gt_err *err)
{
    const char *slash = strrchr(t1->path, '/'), *recording = NULL;
    const cJSON *object = NULL;
    cJSON *root;
    int rc = gt_json_parse(&root, t1->path, t1->text.text, t1->text.length, err);

    GT_STEP(rc, gt_json_get(&object, root, t1->path, "ConfigurationSpace", cJSON_Object,
                            GT_REQUIRED, err));
    GT_STEP(rc, gt_json_get(&object, root, t1->path, "KernelSpecification", cJSON_Object,
                            GT_REQUIRED, err));
    GT_STEP(rc, gt_json_string(&recording, object, t1->path, "SimulationInput", GT_OPTIONAL, err));
    if (!rc && !recording)
        rc = gt_err_set(err, GT_ECONFIG,
                        "%s describes a space and names no recording to answer from: add "
                        "\"SimulationInput\": \"FILE\" to its KernelSpecification, or name "
                        "it with --space beside --device replay:FILE",
                        t1->path);
    if (!rc && slash && *recording != '/')
        gt_strbuf_add_bytes(path, t1->path, (size_t)(slash - t1->path) + 1);
    gt_strbuf_add(path, rc ? "" : recording);
    cJSON_Delete(root);
    return rc ? rc : gt_strbuf_check(path, err);
}

/* Reads the text of a recording in any form.  t1: NULL, or what describes its space. */
static int load_text(struct gt_recording *recording, const char *path, struct gt_strbuf *text,
                     const struct t1 *t1, struct gt_err *err)
{
    const bool own = strncmp(text->text, OWN, strlen(OWN)) == 0 && !t1;
    char signature[GT_DIGEST_HEX], length[24];
    const char *const argument[] = {path, t1 ? length : NULL, t1 ? t1->path : NULL};
    int rc = GT_OK;

    snprintf(length, sizeof(length), "%zu", t1 ? t1->text.length : 0);
    gt_digest_bytes(text->text, text->length, signature);
    if (memchr(text->text, '\0', text->length) || gt_json_escapes_nul(text->text))
        rc = gt_err_set(err, GT_ECONFIG, "%s: contains a NUL byte; it is no JSON text", path);
    if (!own)
        GT_STEP(rc, gt_recording_convert(text, t1 ? &t1->text : NULL, argument, err));
    GT_STEP(rc, read_lines(recording, path, own, text->text, text->length, err));
    memcpy(recording->kernel->signature, signature, sizeof(signature));
    GT_STEP(rc, sign_words(recording, err));
    if (t1)
        GT_STEP(rc, sign(recording, t1->text.text, t1->text.length, err));
    return rc;
}

/* from: the recording that answers for a T1 file; NULL: the recording that the T1 file names. */
static int load_file(struct gt_recording *recording, const char *path, const char *from,
                     struct gt_err *err)
{
    static const char key[] = "\"ConfigurationSpace\""; /* of every T1 */
    struct t1 t1 = {.path = path, .text = GT_STRBUF_INIT};
    struct gt_strbuf text = GT_STRBUF_INIT, named = GT_STRBUF_INIT;
    int rc = begin(recording, err);

    GT_STEP(rc, gt_recording_read_text(&t1.text, path, err));
    if (!rc && !from && !memmem(t1.text.text, t1.text.length, key, strlen(key))) {
        rc = load_text(recording, path, &t1.text, NULL, err);
    } else {
        if (!from)
            GT_STEP(rc, named_recording(&named, &t1, err));
        from = from ? from : named.text;
        GT_STEP(rc, gt_recording_read_text(&text, from, err));
        GT_STEP(rc, load_text(recording, from, &text, &t1, err));
    }
    gt_strbuf_release(&t1.text);
    gt_strbuf_release(&text);
    gt_strbuf_release(&named);
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

/* trials.c - reads a file of measured trials.  See trials.h. */
#include "exchange/trials.h"

#include "base/digest.h"
#include "base/err.h"
#include "exchange/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    int line;
    struct gt_named_trial named; /* the facts of the next trials from the lines so far */
    const char *names;           /* the names of the kernel's parameters; NULL: no kernel yet */
    struct gt_strbuf point;
    gt_named_trial_visit *visit;
    void *context;
};

bool gt_trials_found(const char *path)
{
    const size_t length = strlen(path), size = strlen(GT_TRIALS_ENDING);

    return (length >= size && strcmp(path + length - size, GT_TRIALS_ENDING) == 0) ||
           gt_recording_begins(path, "# gemmtune trials "); /* a file of any version */
}

bool gt_trials_hold(const struct gt_named_trial *named)
{
    const enum gt_status status = named->trial.status;

    return named->timing == 0 && (status == GT_STATUS_OK || status == GT_STATUS_SPILLS ||
                                  (status == GT_STATUS_SLOW && named->trial.us > 0));
}

static int fail(const struct reading *reading, const char *what, struct gt_err *err)
{
    return gt_err_set(err, GT_EDB, "%s:%d: %s", reading->path, reading->line, what);
}

/* The next word, or NULL at the end; *rest moves behind the word. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");

    if (!*word)
        return NULL;
    *rest = word + strcspn(word, " ");
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

static int read_device(struct reading *reading, char *rest, struct gt_err *err)
{
    const char *word = next_word(&rest);
    char *end = NULL;
    const long cc = word ? strtol(word, &end, 10) : 0;

    rest += strspn(rest, " ");
    if (cc < 10 || cc > 999 || *end || !*rest)
        return fail(reading, "a device is its compute capability (90) and its name", err);
    reading->named.cc = (int)cc;
    reading->named.device = rest;
    return GT_OK;
}

static int read_problem(struct reading *reading, char *rest, struct gt_err *err)
{
    reading->named.problem = next_word(&rest);
    return reading->named.problem && !next_word(&rest)
               ? GT_OK
               : fail(reading, "a problem is one word, such as 64x64x64:f32:nn", err);
}

static int read_kernel(struct reading *reading, char *rest, struct gt_err *err)
{
    reading->named.kernel = next_word(&rest);
    reading->named.signature = next_word(&rest);
    reading->names = next_word(&rest);
    return reading->names && !next_word(&rest)
               ? GT_OK
               : fail(reading, "a kernel is its name, signature and parameters", err);
}

/* Joins the kernel's names "A,B" and the values "1,2" to "A=1,B=2".  false: names and values do not
 * match. */
static bool join_point(struct reading *reading, const char *values)
{
    const char *name = reading->names;

    gt_strbuf_reset(&reading->point);
    for (;;) {
        const size_t name_size = strcspn(name, ","), size = strcspn(values, ",");

        if (!name_size || !size || strspn(values, "-0123456789") < size)
            return false;
        gt_strbuf_addf(&reading->point, "%s%.*s=%.*s", reading->point.length ? "," : "",
                       (int)name_size, name, (int)size, values);
        name += name_size;
        values += size;
        if (!*name || !*values)
            return !*name && !*values;
        name++;
        values++;
    }
}

static bool read_number(const char *word, double *value)
{
    char *end = NULL;

    *value = word ? strtod(word, &end) : 0;
    return word && end != word && !*end && isfinite(*value) && *value >= 0 && *value < 1e12;
}

static int read_trial(struct reading *reading, char *rest, struct gt_err *err)
{
    struct gt_named_trial *named = &reading->named;
    const char *values = next_word(&rest);
    const bool read = read_number(next_word(&rest), &named->trial.us) &&
                      read_number(next_word(&rest), &named->trial.clock_mhz);
    const char *status = read ? next_word(&rest) : NULL;

    named->trial.status = status ? gt_status_parse(status) : GT_STATUS_NONE;
    if (!status || next_word(&rest) || !gt_trials_hold(named) ||
        (named->trial.status == GT_STATUS_OK && !(named->trial.us > 0)))
        return fail(reading, "a trial is values, microseconds, MHz and ok, slow or spills", err);
    if (!named->device || !named->problem || !reading->names)
        return fail(reading, "a trial stands before its device, problem or kernel", err);
    if (!join_point(reading, values))
        return fail(reading, "a trial has other values than its kernel has parameters", err);
    if (gt_strbuf_check(&reading->point, err))
        return GT_ENOMEM;
    named->point = reading->point.text;
    return reading->visit(reading->context, named, err);
}

static int read_line(struct reading *reading, char *line, struct gt_err *err)
{
    static const struct {
        const char *word;
        int (*read)(struct reading *reading, char *rest, struct gt_err *err);
    } kinds[] = {{"device ", read_device}, {"problem ", read_problem}, {"kernel ", read_kernel}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const size_t size = strlen(kinds[i].word);

        if (strncmp(line, kinds[i].word, size) == 0)
            return kinds[i].read(reading, line + size, err);
    }
    return read_trial(reading, line, err);
}

int gt_trials_parse(const char *path, const char *text, size_t length, gt_named_trial_visit *visit,
                    void *context, struct gt_err *err)
{
    static const struct gt_digested kind = {GT_TRIALS_MAGIC,
                                            "is no file of gemmtune's trials of this version",
                                            "export it again with tune export --format trials"};
    struct reading reading = {.path = path,
                              .line = 1,
                              .named = {.uuid = "", .date = ""},
                              .point = GT_STRBUF_INIT,
                              .visit = visit,
                              .context = context};
    char *body = NULL;
    int rc = gt_digest_body(&body, &kind, path, text, length, err);

    for (char *line = body, *end; !rc && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        reading.line++;
        rc = read_line(&reading, line, err);
    }
    gt_strbuf_release(&reading.point);
    free(body);
    return rc;
}

int gt_trials_read(const char *path, gt_named_trial_visit *visit, void *context, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_recording_read_text(&text, path, err);

    GT_STEP(rc, gt_trials_parse(path, text.text, text.length, visit, context, err));
    gt_strbuf_release(&text);
    return rc;
}

/* export_trials.c - writes measured trials as a compact text to learn from (trials.h).  Parameters
 * are named once for all trials of a kernel that follow one another. */
#include "exchange/export_format.h"
#include "exchange/trials.h"

#include "base/err.h"

#include <string.h>

struct writing {
    struct gt_export_out *out;
    struct gt_strbuf device, problem, kernel; /* the latest line of each */
    struct gt_strbuf line, names, values;
};

/* Whether a text of the database can stand in the file: it has no control characters. */
static bool fits(const char *text, bool blanks)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || (*at == ' ' && !blanks))
            return false;
    return *text != '\0';
}

/* Writes the line if it is another one than the latest of its kind, and begins the next one. */
static int put_head(struct writing *writing, struct gt_strbuf *latest, struct gt_err *err)
{
    struct gt_strbuf *line = &writing->line;
    int rc = gt_strbuf_check(line, err);

    if (!rc && strcmp(latest->text, line->text) != 0) {
        gt_strbuf_reset(latest);
        gt_strbuf_add(latest, line->text);
        gt_strbuf_add(writing->out->text, line->text);
        rc = gt_strbuf_check(latest, err);
    }
    gt_strbuf_reset(line);
    return rc;
}

/* Takes a point apart: "A=1,B=2" into "A,B" and "1,2".  false: it has no names, as the vendor
 * library's algorithms have none. */
static bool split_point(struct writing *writing, const char *point)
{
    gt_strbuf_reset(&writing->names);
    gt_strbuf_reset(&writing->values);
    for (const char *at = point; *at;) {
        const size_t size = strcspn(at, ","), name = strcspn(at, "=,");

        if (name == size || name == 0)
            return false;
        gt_strbuf_addf(&writing->names, "%s%.*s", at > point ? "," : "", (int)name, at);
        gt_strbuf_addf(&writing->values, "%s%.*s", at > point ? "," : "", (int)(size - name - 1),
                       at + name + 1);
        at += size + (at[size] == ',');
    }
    return fits(point, false);
}

static int add_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct writing *writing = context;
    struct gt_strbuf *line = &writing->line;
    int rc = GT_OK;

    if (!gt_trials_hold(named) || !split_point(writing, named->point) ||
        !fits(named->device, true) || !fits(named->kernel, false) || !fits(named->problem, false))
        return GT_OK;
    gt_strbuf_addf(line, "device %d %s\n", named->cc, named->device);
    GT_STEP(rc, put_head(writing, &writing->device, err));
    gt_strbuf_addf(line, "problem %s\n", named->problem);
    GT_STEP(rc, put_head(writing, &writing->problem, err));
    gt_strbuf_addf(line, "kernel %s %s %s\n", named->kernel, named->signature, writing->names.text);
    GT_STEP(rc, put_head(writing, &writing->kernel, err));
    GT_STEP(rc, gt_strbuf_check(&writing->names, err));
    GT_STEP(rc, gt_strbuf_check(&writing->values, err));
    gt_strbuf_addf(writing->out->text, "%s %.7g %.0f %s\n", writing->values.text, named->trial.us,
                   named->trial.clock_mhz, gt_status_name(named->trial.status));
    writing->out->rows++;
    GT_STEP(rc, gt_strbuf_check(writing->out->text, err));
    return rc;
}

static int rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct writing writing = {out,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT,
                              GT_STRBUF_INIT};
    int rc = gt_store_trials(store, out->filter, add_trial, &writing, err);

    gt_strbuf_release(&writing.device);
    gt_strbuf_release(&writing.problem);
    gt_strbuf_release(&writing.kernel);
    gt_strbuf_release(&writing.line);
    gt_strbuf_release(&writing.names);
    gt_strbuf_release(&writing.values);
    return rc;
}

static int end(struct gt_export_out *out, struct gt_err *err)
{
    return gt_export_seal(out->text, GT_TRIALS_MAGIC, err);
}

const struct gt_export_ops gt_export_trials = {.rows = rows, .end = end, .measured = true};

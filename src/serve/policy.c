/* policy.c - reads the policy; see policy.h. */
#include "serve/policy.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"

enum key {
#define KEY_ENUM(key, variable, values) KEY_##key,
    GT_POLICY_MAP(KEY_ENUM)
#undef KEY_ENUM
        KEYS
};

static const struct {
    const char *name, *variable, *values;
} keys[] = {
#define KEY_ROW(key, variable, values) {#key, variable, values},
    GT_POLICY_MAP(KEY_ROW)
#undef KEY_ROW
};

/* The index of the value among the words, or -1. */
static int choice(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return -1;
}

static bool take_flag(bool *to, const char *value)
{
    static const char *const words[] = {"0", "1", NULL};
    const int found = choice(value, words);

    if (found >= 0)
        *to = found;
    return found >= 0;
}

static bool take_path(char to[GT_POLICY_TEXT], const char *value)
{
    size_t length = strlen(value);

    if (length >= GT_POLICY_TEXT)
        return false;
    memcpy(to, value, length + 1);
    return true;
}

static bool take_real(double *to, const char *value, double most)
{
    const locale_t before = gt_locale_enter();
    char *end;
    double number = strtod(value, &end);

    gt_locale_leave(before);
    if (end == value || *end || !(number >= 0 && number <= most))
        return false;
    *to = number;
    return true;
}

static bool take(struct gt_policy *policy, enum key key, const char *value)
{
    static const char *const serves[] = {"0", "1", "any", NULL};
    static const char *const accuracies[] = {"strict", "f32", "tf32", NULL};
    double number;
    int found;

    switch (key) {
    case KEY_serve:
        found = choice(value, serves);
        if (found >= 0)
            policy->serve = (enum gt_policy_serve)found;
        return found >= 0;
    case KEY_db:
        return take_path(policy->db, value);
    case KEY_accuracy:
        found = choice(value, accuracies);
        if (found >= 0)
            policy->accuracy = (enum gt_accuracy)found;
        return found >= 0;
    case KEY_margin:
        return take_real(&policy->margin, value, 100);
    case KEY_cublaslt:
        return take_flag(&policy->cublaslt, value);
    case KEY_compile:
        return take_flag(&policy->compile, value);
    case KEY_wait:
        return take_flag(&policy->wait, value);
    case KEY_check:
        if (!take_real(&number, value, 1e15) || number != floor(number))
            return false;
        policy->check = (int64_t)number;
        return true;
    case KEY_report:
        return take_path(policy->report, value);
    case KEY_capture:
        return take_path(policy->capture, value);
    default:
        return false;
    }
}

int gt_policy_set(struct gt_policy *policy, const char *key, const char *value, struct gt_err *err)
{
    const char *names[KEYS];
    const char *near;

    for (int i = 0; i < KEYS; i++) {
        names[i] = keys[i].name;
        if (strcmp(key, keys[i].name) != 0)
            continue;
        if (take(policy, (enum key)i, value))
            return GT_OK;
        return gt_err_set(err, GT_ERANGE, "%s is '%.200s', not %s", key, value, keys[i].values);
    }
    near = gt_near(key, strlen(key), names, KEYS);
    return gt_err_set(err, GT_ENOTFOUND, "unknown key '%.100s'%s%s%s", key,
                      near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* Removes blanks from both ends, in place. */
static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* Takes a line "key = value", whose text is changed. */
static int take_line(struct gt_policy *policy, char *line, struct gt_err *err)
{
    char *value;

    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (!*line)
        return GT_OK;
    value = strchr(line, '=');
    if (!value)
        return gt_err_set(err, GT_ESYNTAX, "'%.100s' should be key = value", line);
    *value++ = '\0';
    return gt_policy_set(policy, trim(line), trim(value), err);
}

int gt_policy_parse(struct gt_policy *policy, const char *path, const char *text,
                    struct gt_err *err)
{
    int rc = GT_OK, number = 0;

    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* byte-order mark of Windows' editors */
        text += 3;
    while (!rc && *text) {
        const size_t length = strcspn(text, "\n");
        char *line = strndup(text, length);

        number++;
        rc = line ? take_line(policy, line, err) : gt_err_nomem(err);
        if (rc && rc != GT_ENOMEM)
            rc = gt_err_prefix(err, rc, "%.400s: line %d", path, number);
        free(line);
        text += length + (text[length] == '\n');
    }
    return rc;
}

char *gt_policy_path(const struct gt_policy *policy, const char *path)
{
    const size_t length = strlen(policy->folder);
    char *whole;

    /* A server's address (SCHEME://) is no path. */
    if (*path == '/' || strstr(path, "://") || !length || length + 1 + strlen(path) >= PATH_MAX)
        return strdup(path);
    return asprintf(&whole, "%s/%s", policy->folder, path) < 0 ? NULL : whole;
}

static int read_file(struct gt_policy *policy, const char *name, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    char *path = gt_policy_path(policy, name);
    int rc = path ? gt_strbuf_add_file(&text, path, err) : gt_err_nomem(err);

    GT_STEP(rc, gt_policy_parse(policy, name, text.text, err));
    gt_strbuf_release(&text);
    free(path);
    return rc;
}

static void take_folder(struct gt_policy *policy, const char *folder)
{
    const char *named = secure_getenv(GT_POLICY_FOLDER);

    if (named && *named == '/')
        folder = named;
    if (folder && strlen(folder) < sizeof(policy->folder))
        memcpy(policy->folder, folder, strlen(folder) + 1);
}

int gt_policy_read(struct gt_policy *policy, const char *folder, struct gt_err *err)
{
    const char *path = secure_getenv(GT_POLICY_FILE);
    const char *tf32 = secure_getenv("NVIDIA_TF32_OVERRIDE");
    struct gt_err inner;
    int rc = GT_OK;

    *policy = (struct gt_policy){.serve = GT_SERVE_RECORD, .margin = 1.03};
    take_folder(policy, folder);
    policy->no_tf32 = tf32 && strcmp(tf32, "0") == 0;
    if (path && *path)
        rc = read_file(policy, path, &inner);
    for (int i = 0; i < KEYS; i++) {
        const char *value = secure_getenv(keys[i].variable);
        struct gt_err why;

        if (!value || gt_policy_set(policy, keys[i].name, value, &why) == GT_OK || rc)
            continue;
        rc = gt_err_set(&inner, why.code, "%s: %.900s", keys[i].variable, why.msg);
    }
    /* A capture is to show the unchanged program, so nothing is served unless the user asked for
     * serving. */
    if (policy->serve == GT_SERVE_RECORD && !*policy->capture)
        policy->serve = GT_SERVE_TUNED;
    return gt_err_pass(err, &inner, rc);
}

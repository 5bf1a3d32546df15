/* problemset.c - vocabulary: the reader of configs/problems and of plain lists of problems. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "exchange/foreign.h"
#include "exchange/recording.h"
#include "problem/problem.h"
#include "session/problemset.h"

/* ---- lists and ranges of sizes ---- */

#define QUOTED 100 /* characters of the text repeated in a sentence */

struct sizes {
    int64_t value[GT_RANGES_MOST];
    size_t count;
};

struct reading {
    const char *text, *at;
    struct gt_err *err;
};

static int refuse(const struct reading *reading, const char *from, int length, const char *what)
{
    return gt_err_set(reading->err, GT_ESYNTAX, "problem \"%.*s\": \"%.*s\" %s", QUOTED,
                      reading->text, length < QUOTED ? length : QUOTED, from, what);
}

static bool is_number(const char *at)
{
    return isdigit((unsigned char)*at);
}

/* A whole number up to the largest size. */
static int read_number(struct reading *reading, int64_t *value)
{
    const char *from = reading->at;

    for (*value = 0; is_number(reading->at) && *value <= GT_MAX_EXTENT; reading->at++)
        *value = *value * 10 + (*reading->at - '0');
    if (reading->at == from)
        return refuse(reading, from, (int)strcspn(from, ",:x"), "is not a size");
    return *value <= GT_MAX_EXTENT ? GT_OK
                                   : refuse(reading, from, (int)strspn(from, "0123456789"),
                                            "is outside the allowed sizes 0 to 2147483647");
}

static int append(const struct reading *reading, struct sizes *sizes, int64_t value)
{
    if (sizes->count == GT_RANGES_MOST)
        return gt_err_set(reading->err, GT_ERANGE,
                          "problem \"%.*s\": one size has more than %d values", QUOTED,
                          reading->text, GT_RANGES_MOST);
    sizes->value[sizes->count++] = value;
    return GT_OK;
}

/* START, START:STOP:STEP or START:STOP:xFACTOR. */
static int read_member(struct reading *reading, struct sizes *sizes)
{
    const char *from = reading->at;
    int64_t start, stop, step = 0;
    bool times = false;
    int rc = read_number(reading, &start);

    if (rc || reading->at[0] != ':' || !is_number(reading->at + 1))
        return rc ? rc : append(reading, sizes, start);
    reading->at++;
    rc = read_number(reading, &stop);
    if (!rc && reading->at[0] == ':') {
        times = reading->at[1] == 'x';
        if (is_number(reading->at + 1 + times)) {
            reading->at += 1 + times;
            rc = read_number(reading, &step);
        }
    }
    if (!rc && (step < 1 + times || start < times || start > stop))
        rc = refuse(reading, from, (int)(reading->at - from),
                    "is no range of sizes: write START:STOP:STEP, or START:STOP:xFACTOR with a "
                    "factor of 2 or more, from a smaller size to a larger one");
    while (!rc && start <= stop) {
        rc = append(reading, sizes, start);
        start = times ? start * step : start + step;
    }
    return rc;
}

/* One size: members and commas. */
static int read_sizes(struct reading *reading, struct sizes *sizes)
{
    int rc = read_member(reading, sizes);

    while (!rc && *reading->at == ',') {
        reading->at++;
        rc = read_member(reading, sizes);
    }
    return rc;
}

/* Where the sizes end: at a letter, with which a type, a layout or a key begins. */
static const char *end_of_sizes(const char *text)
{
    while (*text && !(text[0] == ':' && !is_number(text + 1) && text[1] != 'x'))
        text++;
    return text;
}

bool gt_ranges_any(const char *text)
{
    const char *end = end_of_sizes(text);
    int separators = 0;

    for (const char *at = text; at < end; at++)
        separators += at[0] == 'x' && (at == text || at[-1] != ':');
    return separators == 2 && strcspn(text, ",:") < (size_t)(end - text);
}

/* The three sizes; then reading->at is what stands behind them. */
static int read_all(struct reading *reading, struct sizes *sizes)
{
    int rc = GT_OK;

    for (int i = 0; i < 3 && !rc; i++) {
        rc = read_sizes(reading, &sizes[i]);
        if (!rc && i < 2 && *reading->at++ != 'x')
            rc = refuse(reading, reading->text, (int)strcspn(reading->text, ""),
                        "is not a size; write MxNxK, e.g. 1,2,4x4096x4096");
    }
    if (!rc && *reading->at && reading->at != end_of_sizes(reading->text))
        rc = refuse(reading, reading->at, (int)strlen(reading->at), "follows the sizes");
    if (!rc &&
        (double)sizes[0].count * (double)sizes[1].count * (double)sizes[2].count > GT_RANGES_MOST)
        rc = gt_err_set(reading->err, GT_ERANGE,
                        "problem \"%.*s\" stands for %.0f problems; at most %d are allowed", QUOTED,
                        reading->text,
                        (double)sizes[0].count * (double)sizes[1].count * (double)sizes[2].count,
                        GT_RANGES_MOST);
    return rc;
}

static int visit_all(const struct sizes *sizes, const char *rest, gt_ranges_visit *visit,
                     void *context, struct gt_err *err)
{
    const size_t inner = sizes[1].count * sizes[2].count, all = sizes[0].count * inner;
    int rc = GT_OK;

    for (size_t i = 0; i < all && !rc; i++) {
        struct gt_strbuf text = GT_STRBUF_INIT;

        gt_strbuf_addf(&text, "%lldx%lldx%lld%s", (long long)sizes[0].value[i / inner],
                       (long long)sizes[1].value[i % inner / sizes[2].count],
                       (long long)sizes[2].value[i % sizes[2].count], rest);
        rc = gt_strbuf_check(&text, err);
        GT_STEP(rc, visit(context, text.text, err));
        gt_strbuf_release(&text);
    }
    return rc;
}

int gt_ranges_expand(const char *text, gt_ranges_visit *visit, void *context, struct gt_err *err)
{
    struct reading reading = {text, text, err};
    struct sizes *sizes;
    int rc;

    if (!gt_ranges_any(text))
        return visit(context, text, err);
    sizes = calloc(3, sizeof(*sizes));
    if (!sizes)
        return gt_err_nomem(err);
    rc = read_all(&reading, sizes);
    GT_STEP(rc, visit_all(sizes, reading.at, visit, context, err));
    free(sizes);
    return rc;
}

#define WHERE_MAX 512
#define BLANKS    " \t\r\n" /* around JSON */

void gt_problemset_release(struct gt_problemset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->entry[i].name);
        free(set->entry[i].text);
    }
    free(set->entry);
    free(set->name);
    free(set->doc);
    free(set->remark);
    *set = (struct gt_problemset){0};
}

static int add_one(void *context, const char *text, struct gt_err *err)
{
    struct gt_problemset *set = context;
    struct gt_problem_entry *entry =
        realloc(set->entry, (set->count + 1) * sizeof(struct gt_problem_entry));
    int rc;

    if (!entry)
        return gt_err_nomem(err);
    set->entry = entry;
    entry += set->count;
    *entry = (struct gt_problem_entry){.weight = 1};
    rc = gt_problem_parse(&entry->problem, text, err);
    if (rc)
        return rc;
    entry->text = strdup(text);
    if (!entry->text)
        return gt_err_nomem(err);
    set->count++;
    return GT_OK;
}

int gt_problemset_add(struct gt_problemset *set, const char *text, const char *where,
                      struct gt_err *err)
{
    int rc = gt_ranges_expand(text, add_one, set, err);

    return rc ? gt_err_prefix(err, rc, "%s", where) : GT_OK;
}

static int copy_string(char **to, const cJSON *object, const char *where, const char *key,
                       struct gt_err *err)
{
    const char *text = NULL;
    int rc = gt_json_string(&text, object, where, key, GT_OPTIONAL, err);

    if (rc || !text)
        return rc;
    *to = strdup(text);
    return *to ? GT_OK : gt_err_nomem(err);
}

static int add_object(struct gt_problemset *set, const cJSON *object, const char *where,
                      struct gt_err *err)
{
    static const char allowed[] = "name problem weight";
    const size_t first = set->count;
    const char *text = "";
    double weight = 1;
    int rc = gt_json_keys(object, where, allowed, err);

    GT_STEP(rc, gt_json_string(&text, object, where, "problem", GT_REQUIRED, err));
    GT_STEP(rc, gt_problemset_add(set, text, where, err));
    GT_STEP(rc, gt_json_real(&weight, object, where, "weight", 0, 1e18, GT_OPTIONAL, err));
    for (size_t i = first; i < set->count && !rc; i++) {
        set->entry[i].weight = weight;
        rc = copy_string(&set->entry[i].name, object, where, "name", err);
    }
    return rc;
}

static int read_json(struct gt_problemset *set, const cJSON *root, const char *path,
                     struct gt_err *err)
{
    static const char allowed[] = "set doc problems";
    const cJSON *list = NULL, *item;
    char where[WHERE_MAX];
    int i = 0;
    int rc = gt_json_keys(root, path, allowed, err);

    GT_STEP(rc, copy_string(&set->name, root, path, "set", err));
    GT_STEP(rc, copy_string(&set->doc, root, path, "doc", err));
    GT_STEP(rc, gt_json_get(&list, root, path, "problems", cJSON_Array, GT_REQUIRED, err));
    if (rc)
        return rc;
    cJSON_ArrayForEach(item, list)
    {
        snprintf(where, sizeof(where), "%.440s: problems[%d]", path, i++);
        if (cJSON_IsString(item))
            rc = gt_problemset_add(set, item->valuestring, where, err);
        else if (cJSON_IsObject(item))
            rc = add_object(set, item, where, err);
        else
            rc = gt_err_set(err, GT_ECONFIG,
                            "%s must be a problem text such as \"512x512x512:f32:nt\" or an object",
                            where);
        if (rc)
            return rc;
    }
    return GT_OK;
}

/* Reads a set in JSON; a list alone, as `tune bench --list --json` prints, is the list of
 * problems. */
static int read_json_text(struct gt_problemset *set, const char *text, size_t length,
                          const char *path, struct gt_err *err)
{
    const bool bare = text[strspn(text, BLANKS)] == '[';
    struct gt_strbuf whole = GT_STRBUF_INIT;
    cJSON *root = NULL;
    int rc;

    gt_strbuf_add(&whole, bare ? "{\"problems\":" : "");
    gt_strbuf_add_bytes(&whole, text, length);
    gt_strbuf_add(&whole, bare ? "}" : "");
    rc = gt_strbuf_check(&whole, err);
    GT_STEP(rc, gt_json_parse(&root, path, whole.text, whole.length, err));
    GT_STEP(rc, read_json(set, root, path, err));
    cJSON_Delete(root);
    gt_strbuf_release(&whole);
    return rc;
}

/* `count=N` or `weight=X`; word is NUL-terminated. */
static int take_word(struct gt_problem_entry *entry, const char *word, bool *weighed,
                     const char *where, struct gt_err *err)
{
    const char *value = strchr(word, '=');
    const size_t name = value ? (size_t)(value - word) : 0;
    const bool count = name == 5 && memcmp(word, "count", 5) == 0;
    char *end = NULL;
    double number = value ? strtod(value + 1, &end) : 0;

    if (!count && !(name == 6 && memcmp(word, "weight", 6) == 0))
        return gt_err_set(
            err, GT_ESYNTAX,
            "%s: '%.60s' behind the problem; only count=N and weight=X may stand there", where,
            word);
    if (end == value + 1 || *end || !(number >= 0 && number <= 1e18) ||
        (count && number != floor(number)))
        return gt_err_set(err, GT_ERANGE, "%s: '%.60s' is not a %snumber from 0 to 1e18", where,
                          word, count ? "whole " : "");
    if (count)
        entry->count = number;
    if (!count || !*weighed)
        entry->weight = number;
    *weighed |= !count;
    return GT_OK;
}

static int add_line(struct gt_problemset *set, char *line, const char *where, struct gt_err *err)
{
    static const char blanks[] = " \t\r";
    char *rest = line + strcspn(line, blanks), *word;
    const size_t first = set->count;
    bool weighed = false;
    int rc;

    if (*rest)
        *rest++ = '\0';
    rc = gt_problemset_add(set, line, where, err);
    while (!rc && *(rest += strspn(rest, blanks))) {
        word = rest;
        rest += strcspn(rest, blanks);
        if (*rest)
            *rest++ = '\0';
        rc = take_word(&set->entry[first], word, &weighed, where, err);
    }
    for (size_t i = first + 1; i < set->count && !rc; i++) {
        set->entry[i].weight = set->entry[first].weight;
        set->entry[i].count = set->entry[first].count;
    }
    return rc;
}

static int read_lines(struct gt_problemset *set, char *text, const char *path, struct gt_err *err)
{
    int rc = GT_OK, number = 1;

    for (char *line = text, *next; !rc && line; line = next, number++) {
        char *end = line + strcspn(line, "#\n");
        char where[WHERE_MAX];

        next = strchr(line, '\n');
        next = next ? next + 1 : NULL;
        while (end > line && isspace((unsigned char)end[-1]))
            end--;
        *end = '\0';
        line += strspn(line, " \t\r");
        snprintf(where, sizeof(where), "%.440s: line %d", path, number);
        if (*line)
            rc = add_line(set, line, where, err);
    }
    return rc;
}

/* ---- files of other programs ---- */

#define BUCKETS 4096

/* The entries of a set by the digest of their text. */
struct gathering {
    struct gt_problemset *set;
    size_t bucket[BUCKETS]; /* 1 + the index of the bucket's last entry; 0: none */
    size_t *before;         /* for each entry 1 + the entry before it in its bucket */
    size_t capacity;
};

static int gather(void *context, const struct gt_problem *problem, double times, bool counted,
                  struct gt_err *err)
{
    struct gathering *gathering = context;
    struct gt_problemset *set = gathering->set;
    char text[GT_PROBLEM_TEXT_MAX];
    unsigned hash = 0;
    size_t i;
    int rc = GT_OK;

    gt_problem_format(problem, text);
    for (const char *c = text; *c; c++)
        hash = hash * 31 + (unsigned char)*c;
    i = gathering->bucket[hash % BUCKETS];
    while (i && strcmp(set->entry[i - 1].text, text) != 0)
        i = gathering->before[i - 1];
    if (!i) {
        rc = GT_ARRAY_RESERVE(&gathering->before, set->count + 1, &gathering->capacity, err);
        GT_STEP(rc, add_one(set, text, err));
        if (rc)
            return rc;
        i = set->count;
        gathering->before[i - 1] = gathering->bucket[hash % BUCKETS];
        gathering->bucket[hash % BUCKETS] = i;
        set->entry[i - 1].weight = 0;
    }
    set->entry[i - 1].weight += times;
    set->entry[i - 1].count += counted ? times : 0;
    return GT_OK;
}

static int read_foreign(struct gt_problemset *set, const char *text, size_t length,
                        const char *path, struct gt_err *err)
{
    struct gathering *gathering = calloc(1, sizeof(*gathering));
    struct gt_strbuf remark = GT_STRBUF_INIT;
    struct gt_foreign foreign;
    int rc = GT_ENOMEM;

    if (!gathering)
        return gt_err_nomem(err);
    gathering->set = set;
    rc = gt_foreign_read(&foreign, text, length, gather, gathering, err);
    free(gathering->before);
    free(gathering);
    if (rc)
        return gt_err_prefix(err, rc, "%s", path);
    gt_strbuf_addf(&remark, "%s: %s", path, set->count ? "" : "no problem in it; ");
    gt_foreign_say(&remark, &foreign);
    rc = gt_strbuf_check(&remark, err);
    if (!rc && !set->count && foreign.left_out)
        rc = gt_err_set(err, GT_ECONFIG, "%s", remark.text);
    if (!rc && foreign.left_out)
        set->remark = gt_strbuf_detach(&remark);
    gt_strbuf_release(&remark);
    return rc;
}

static int read_input(struct gt_strbuf *text, struct gt_err *err)
{
    char part[4096];
    size_t got;

    while ((got = fread(part, 1, sizeof(part), stdin)) > 0)
        gt_strbuf_add_bytes(text, part, got);
    if (ferror(stdin))
        return gt_err_set(err, GT_EIO, "cannot read standard input");
    return gt_strbuf_check(text, err);
}

int gt_problemset_load(struct gt_problemset *set, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    const bool input = strcmp(path, "-") == 0;
    struct stat file;
    char first;
    size_t mark; /* bytes of the mark that some editors put before UTF-8 */
    int rc;

    *set = (struct gt_problemset){0};
    if (!input && stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode))
        return gt_err_set(err, GT_EIO, "%s: not a regular file; \"-\" is standard input", path);
    rc = input ? read_input(&text, err) : gt_strbuf_add_file(&text, path, err);
    if (!rc && !input && strncmp(text.text, "\x1f\x8b", 2) == 0) { /* gzipped */
        gt_strbuf_reset(&text);
        rc = gt_recording_read_text(&text, path, err);
    }
    if (input)
        path = "standard input";
    mark = strncmp(text.text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    first = text.text[mark + strspn(text.text + mark, BLANKS)];
    if (!rc && gt_foreign_is(text.text + mark, text.length - mark)) {
        rc = read_foreign(set, text.text + mark, text.length - mark, path, err);
    } else if (!rc && (first == '{' || first == '[')) {
        rc = read_json_text(set, text.text + mark, text.length - mark, path, err);
    } else if (!rc && memchr(text.text, '\0', text.length)) {
        rc =
            gt_err_set(err, GT_ECONFIG, "%s: contains a NUL byte; it is no list of problems", path);
    } else if (!rc && text.length) { /* an empty buffer is shared and must not be written to */
        rc = read_lines(set, text.text + mark, path, err);
    }
    if (!rc && !set->count)
        rc = gt_err_set(err, GT_ECONFIG, "%s: no problem in it", path);
    gt_strbuf_release(&text);
    if (rc)
        gt_problemset_release(set);
    return rc;
}

/* ---- sets of the data folder ---- */

static int is_json(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".json") == 0;
}

/* Appends the names of the files in the folder that are sets. */
static void list_sets(struct gt_strbuf *names, const char *folder)
{
    struct dirent **entry = NULL;
    int entries = scandir(folder, &entry, is_json, alphasort);

    for (int i = 0; i < entries; i++) {
        const char *name = entry[i]->d_name;
        struct gt_problemset set;
        char *path = NULL;

        if (asprintf(&path, "%s/%s", folder, name) >= 0 && !gt_problemset_load(&set, path, NULL)) {
            gt_strbuf_addf(names, "%s %.*s", names->length ? "," : "", (int)strlen(name) - 5, name);
            gt_problemset_release(&set);
        }
        free(path);
        free(entry[i]);
    }
    free(entry);
}

static int not_found(const char *name, const char *data_dir, struct gt_err *err)
{
    struct gt_strbuf names = GT_STRBUF_INIT;
    char *folder = NULL;
    struct stat file;
    int rc;

    if (!stat(name, &file))
        return gt_err_set(err, GT_EIO, "%s is a folder, not a file of problems", name);
    if (!data_dir)
        return gt_err_set(err, GT_EIO, "%s: no such file, and there is no data folder with sets",
                          name);
    if (asprintf(&folder, "%s/configs/problems", data_dir) < 0)
        return gt_err_nomem(err);
    list_sets(&names, folder);
    rc = gt_strbuf_check(&names, err);
    GT_STEP(rc, gt_err_set(err, GT_EIO, "%s: no such file; the sets of %s are%s", name, folder,
                           names.length ? names.text : " missing, too"));
    gt_strbuf_release(&names);
    free(folder);
    return rc;
}

int gt_problemset_find(char **path, const char *name, const char *data_dir, struct gt_err *err)
{
    static const struct {
        const char *folder, *suffix;
    } place[] = {{"", ""}, {"/configs/problems/", ".json"}, {"/configs/problems/", ""}, {"/", ""}};
    struct stat file;

    for (size_t i = 0; i < (data_dir ? sizeof(place) / sizeof(*place) : 1); i++) {
        if (asprintf(path, "%s%s%s%s", i ? data_dir : "", place[i].folder, name, place[i].suffix) <
            0)
            return gt_err_nomem(err);
        if (strcmp(name, "-") == 0 || (!stat(*path, &file) && !S_ISDIR(file.st_mode)))
            return GT_OK;
        free(*path);
    }
    *path = NULL;
    return not_found(name, data_dir, err);
}

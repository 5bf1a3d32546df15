/* cmd_write.c - files that commands write; see cmd_write.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/quiet.h"
#include "base/scratch.h"
#include "base/strbuf.h"
#include "console/cmd_write.h"
#include "console/options.h"
#include "exchange/export_format.h"

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
}

/* Syncs the file's folder: only then is the rename durable. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

static int fail(const char *path, struct gt_err *err)
{
    return gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
}

/* GT_EIO: the path is a database, which holds measurements and must not be overwritten. */
static int keep_database(const char *path, struct gt_err *err)
{
    return gt_is_database(path)
               ? gt_err_set(err, GT_EIO,
                            "%s is a database, and nothing is written over it; name another file",
                            path)
               : GT_OK;
}

/* ---- new files ---- */

/* Opens a new file beside the path. */
static int open_fresh(struct gt_cmd_output *output, struct gt_err *err)
{
    int fd, rc = keep_database(output->path, err);

    if (rc)
        return rc;
    if (asprintf(&output->fresh, "%s" GT_PART, output->path) < 0) {
        output->fresh = NULL;
        return gt_err_nomem(err);
    }
    gt_remove_left_overs(output->fresh, S_IFREG);
    fd = mkostemp(output->fresh, O_CLOEXEC); /* O_EXCL: follows no link */
    if (fd >= 0)
        output->file = fdopen(fd, "w");
    if (!output->file) {
        rc = fail(output->path, err);
        if (fd >= 0) {
            close(fd);
            unlink(output->fresh);
        }
        return rc;
    }
    flock(fd, LOCK_EX | LOCK_NB); /* without locks the file is safe for an hour */
    return GT_OK;
}

/* Opens a device or a pipe (/dev/stdout), which must not be replaced. */
static int open_direct(struct gt_cmd_output *output, struct gt_err *err)
{
    const int fd = gt_open_special(output->path, 0);
    int rc;

    output->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (output->file) {
        fflush(stdout); /* stdout may be the same file */
        return GT_OK;
    }
    rc = fail(output->path, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

static void release(struct gt_cmd_output *output)
{
    free(output->path);
    free(output->fresh);
    *output = (struct gt_cmd_output){NULL, NULL, NULL};
}

int gt_cmd_output_open(struct gt_cmd_output *output, const char *path, struct gt_err *err)
{
    int rc;

    *output = (struct gt_cmd_output){.path = strdup(path)};
    if (!output->path)
        return gt_err_nomem(err);
    rc = gt_is_special(path) ? open_direct(output, err) : open_fresh(output, err);
    if (rc)
        release(output);
    return rc;
}

/* Gives the file its mode and its name. */
static int finish(struct gt_cmd_output *output, const struct gt_cmd_writing *writing, int rc,
                  struct gt_err *err)
{
    const mode_t mask = umask(0);

    umask(mask);
    errno = 0;
    if (!rc && output->fresh &&
        (fflush(output->file) || fchmod(fileno(output->file), writing->mode & ~mask) ||
         fsync(fileno(output->file))))
        rc = fail(output->path, err);
    if (!rc && ferror(output->file))
        rc = errno ? fail(output->path, err)
                   : gt_err_set(err, GT_EIO, "%s: cannot write all of it", output->path);
    if (fclose(output->file) && !rc)
        rc = fail(output->path, err);
    if (!rc && output->fresh && writing->check &&
        writing->check(writing->context, output->fresh, err))
        rc = gt_err_prefix(err, GT_EDB, "what was exported cannot be read back");
    if (!rc && output->fresh && rename(output->fresh, output->path))
        rc = gt_err_set(err, GT_EIO, "%s: cannot replace it: %s", output->path, strerror(errno));
    if (rc && output->fresh)
        unlink(output->fresh);
    else if (output->fresh)
        sync_folder(output->path);
    release(output);
    return rc;
}

int gt_cmd_output_close(struct gt_cmd_output *output, int rc, struct gt_err *err)
{
    const struct gt_cmd_writing plain = {.mode = 0666};

    return output->file ? finish(output, &plain, rc, err) : rc;
}

int gt_cmd_write_file(const char *path, const struct gt_cmd_writing *writing, struct gt_err *err)
{
    struct gt_cmd_output output;
    int rc;

    if (strcmp(path, "-") == 0)
        return writing->write(writing->context, stdout, err); /* main() checks and closes stdout */
    rc = gt_cmd_output_open(&output, path, err);
    if (rc)
        return rc;
    rc = writing->write(writing->context, output.file, err);
    if (rc && ferror(output.file))
        gt_err_prefix(err, rc, "%s", path);
    return finish(&output, writing, rc, err);
}

struct bytes {
    const void *bytes;
    size_t size;
};

static int put_bytes(void *context, FILE *file, struct gt_err *err)
{
    const struct bytes *text = context;

    if (fwrite(text->bytes, 1, text->size, file) == text->size)
        return GT_OK;
    return gt_err_set(err, GT_EIO, "cannot write: %s", strerror(errno));
}

int gt_cmd_write_bytes(const char *path, const void *bytes, size_t size, struct gt_err *err)
{
    struct bytes text = {bytes, size};
    const struct gt_cmd_writing writing = {.write = put_bytes, .context = &text, .mode = 0666};

    return gt_cmd_write_file(path, &writing, err);
}

int gt_cmd_may_write(const char *path, struct gt_err *err)
{
    char *folder = folder_of(path);
    struct stat status;
    int rc = GT_OK;

    if (!folder)
        return gt_err_nomem(err);
    if (strcmp(path, "-") == 0) {
        ; /* standard output */
    } else if (gt_is_special(path)) {
        errno = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? EISDIR : 0;
        if (errno || access(path, W_OK))
            rc = fail(path, err);
    } else if (access(folder, W_OK | X_OK)) {
        rc = fail(path, err);
    } else {
        rc = keep_database(path, err);
    }
    free(folder);
    return rc;
}

/* ---- CSV files ---- */

struct gt_csv {
    struct gt_cmd_output output;
    FILE *file;   /* the output's */
    bool inside;  /* a field of the current record was written */
    bool records; /* a record was written */
};

int gt_csv_new(struct gt_csv **csv, const char *path, const char *heading, struct gt_err *err)
{
    struct gt_csv *made;
    int rc;

    if (strcmp(path, "-") == 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--csv names a file, not \"-\": standard output has the table already");
    made = calloc(1, sizeof(*made));
    if (!made)
        return gt_err_nomem(err);
    rc = gt_cmd_output_open(&made->output, path, err);
    if (rc) {
        free(made);
        return rc;
    }
    made->file = made->output.file;
    fprintf(made->file, "%s\n", heading);
    *csv = made;
    return GT_OK;
}

int gt_csv_close(struct gt_csv *csv, struct gt_err *err)
{
    int rc;

    if (!csv)
        return GT_OK;
    rc = gt_cmd_output_close(&csv->output, !err && !csv->records ? GT_EIO : GT_OK, err);
    free(csv);
    return rc;
}

void gt_csv_text(struct gt_csv *csv, const char *text)
{
    if (!csv)
        return;
    if (csv->inside)
        fputc(',', csv->file);
    csv->inside = true;
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, csv->file);
        return;
    }
    fputc('"', csv->file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', csv->file);
        fputc(*text, csv->file);
    }
    fputc('"', csv->file);
}

void gt_csv_format(struct gt_csv *csv, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gt_csv_text(csv, text);
}

void gt_csv_real(struct gt_csv *csv, double value, int digits, bool known)
{
    if (known)
        gt_csv_format(csv, "%.*f", digits, value);
    else
        gt_csv_text(csv, "");
}

void gt_csv_end(struct gt_csv *csv)
{
    if (!csv)
        return;
    fputc('\n', csv->file);
    fflush(csv->file);
    csv->inside = false;
    csv->records = true;
}

void gt_csv_line(struct gt_csv *csv, const char *record)
{
    if (!csv)
        return;
    fputs(record, csv->file);
    gt_csv_end(csv);
}

void gt_record_text(const struct gt_record *record, const char *key, const char *text)
{
    if (record->json && text)
        cJSON_AddStringToObject(record->json, key, text);
    gt_csv_text(record->csv, text ? text : "");
}

void gt_record_bool(const struct gt_record *record, const char *key, bool value)
{
    if (record->json)
        cJSON_AddBoolToObject(record->json, key, value);
    gt_csv_text(record->csv, value ? "1" : "0");
}

void gt_record_real(const struct gt_record *record, const char *key, double value, int digits,
                    bool known)
{
    if (record->json && known)
        cJSON_AddNumberToObject(record->json, key, value);
    gt_csv_real(record->csv, value, digits, known);
}

/* ---- JSON documents ---- */

static bool failed; /* a global, because cJSON's hooks have no argument */

static void *allocate(size_t size)
{
    void *block = malloc(size);

    failed |= !block;
    return block;
}

static void release_json(void *block)
{
    free(block);
}

void gt_cmd_json_watch(void)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = release_json};

    failed = false;
    cJSON_InitHooks(&hooks);
}

/* Prints a text of cJSON's as UTF-8 and frees it; false: memory did not suffice. */
static bool put(FILE *out, char *text)
{
    struct gt_strbuf clean = GT_STRBUF_INIT;
    bool whole;

    gt_export_utf8(&clean, text ? text : "");
    whole = text && gt_strbuf_check(&clean, NULL) == GT_OK;
    for (size_t i = 0; whole && i < clean.length; i++)
        if (gt_is_control(clean.text, i) && clean.text[i] != '\n' && clean.text[i] != '\t')
            clean.text[i] = (unsigned char)clean.text[i] < 0x80 ? ' ' : (char)0xbf; /* U+00BF */
    if (whole)
        fprintf(out, "%s\n", clean.text);
    gt_strbuf_release(&clean);
    free(text);
    return whole;
}

int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err)
{
    char *text = json && !failed ? cJSON_Print(json) : NULL;

    cJSON_Delete(json);
    return put(cli->out, text) ? GT_OK : gt_err_nomem(err);
}

static void add_members(cJSON *json, const char *members, va_list args)
{
    char key[64];

    for (const char *at = members; *at; at += *at == ' ') {
        const size_t length = strcspn(at, "=");

        snprintf(key, sizeof(key), "%.*s", (int)length, at);
        at += length + strlen("=%");
        if (*at == 's')
            cJSON_AddStringToObject(json, key, va_arg(args, const char *));
        else if (*at == 'i')
            cJSON_AddBoolToObject(json, key, va_arg(args, int));
        else
            cJSON_AddNumberToObject(json, key,
                                    *at == 'd'   ? va_arg(args, int)
                                    : *at == 'u' ? va_arg(args, unsigned)
                                                 : va_arg(args, double));
        at++;
    }
}

void gt_json_add(struct cJSON *json, const char *members, ...)
{
    va_list args;

    va_start(args, members);
    add_members(json, members, args);
    va_end(args);
}

void gt_json_add_triple(struct cJSON *json, const char *key, const unsigned value[3])
{
    cJSON *list = cJSON_AddArrayToObject(json, key);

    for (int i = 0; i < 3; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(value[i]));
}

struct cJSON *gt_json_append(struct cJSON *list, const char *members, ...)
{
    cJSON *json = cJSON_CreateObject();
    va_list args;

    cJSON_AddItemToArray(list, json);
    va_start(args, members);
    add_members(json, members, args);
    va_end(args);
    return json;
}

int gt_cmd_print_members(const struct gt_cli *cli, struct gt_err *err, const char *members, ...)
{
    cJSON *json = cJSON_CreateObject();
    va_list args;

    va_start(args, members);
    add_members(json, members, args);
    va_end(args);
    return gt_cmd_print_json(cli, json, err);
}

bool gt_cmd_json_error(FILE *out, const char *sentence, int code)
{
    cJSON *json;
    char *text;

    gt_cmd_json_watch();
    json = cJSON_CreateObject();
    gt_json_add(json, "error=%s code=%d", sentence, code);
    text = failed ? NULL : cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return put(out, text);
}

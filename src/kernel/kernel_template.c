/* kernel_template.c - vocabulary: a kernel's template: its text, the files it includes and the
 * signature that database rows and cubins are keyed by. */
#include "kernel/kernel_impl.h"

#include "base/digest.h"
#include "base/err.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#define MAX_CONDITIONS 64  /* nested #if */
#define MAX_INCLUDES   256 /* files, all together: ends a circle of includes under changing names */

/* Appends the text with comments turned into blanks; lines keep their numbers. */
static void strip_comments(struct gt_strbuf *to, const char *text)
{
    char quote = 0;

    for (const char *at = text; *at; at++) {
        if (quote) {
            if (*at == '\\' && at[1])
                gt_strbuf_add_char(to, *at++);
            else if (*at == quote || *at == '\n')
                quote = 0;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            for (at += 2; *at && !(at[0] == '*' && at[1] == '/'); at++)
                if (*at == '\n')
                    gt_strbuf_add_char(to, '\n');
            at += *at ? 2 : 0;
            gt_strbuf_add_char(to, ' ');
        }
        if (!*at)
            break;
        gt_strbuf_add_char(to, *at);
    }
}

/* Appends a line with each run of blanks as one, none at its ends, unless it is empty. */
static void add_squeezed(struct gt_strbuf *to, const char *line)
{
    size_t before = to->length;
    bool blank = false;

    for (; *line && *line != '\n'; line++) {
        if (*line == ' ' || *line == '\t' || *line == '\r') {
            blank = true;
            continue;
        }
        if (blank && to->length > before)
            gt_strbuf_add_char(to, ' ');
        gt_strbuf_add_char(to, *line);
        blank = false;
    }
    if (to->length > before)
        gt_strbuf_add_char(to, '\n');
}

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || !word_character(at[-1])) && !word_character(at[length]))
            return true;
    return false;
}

/* ---- includes ---- */

struct scan {
    const char *include_dir;
    struct gt_digest *digest;
    struct gt_strbuf seen; /* paths already in the digest, each "\n<path>\n" */
    size_t files;
    struct gt_err *err;
};

static int scan_text(struct scan *scan, const char *path, const char *text);

/* Reads one include into the digest and scans it in turn. */
static int scan_file(struct scan *scan, const char *name, const char *path)
{
    struct gt_strbuf text = GT_STRBUF_INIT, mark = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_addf(&mark, "\n%s\n", path);
    rc = gt_strbuf_check(&mark, scan->err);
    if (rc || strstr(scan->seen.text, mark.text))
        goto out;
    gt_strbuf_add(&scan->seen, mark.text);
    rc = gt_strbuf_check(&scan->seen, scan->err);
    if (!rc && ++scan->files > MAX_INCLUDES)
        rc = gt_err_set(scan->err, GT_ECONFIG, "%s: more than %d included files", path,
                        MAX_INCLUDES);
    if (!rc)
        rc = gt_strbuf_add_file(&text, path, scan->err);
    if (rc)
        goto out;
    gt_digest_add(scan->digest, name, strlen(name));
    rc = scan_text(scan, path, text.text);
out:
    gt_strbuf_release(&mark);
    gt_strbuf_release(&text);
    return rc;
}

/* Finds an include as NVRTC does: beside the file that includes it, then in the include folder. */
static int scan_include(struct scan *scan, const char *path, int line, const char *name)
{
    const char *slash = strrchr(path, '/');
    struct gt_strbuf beside = GT_STRBUF_INIT, in_folder = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_add_bytes(&beside, path, slash ? (size_t)(slash + 1 - path) : 0);
    gt_strbuf_add(&beside, name);
    gt_strbuf_addf(&in_folder, "%s/%s", scan->include_dir, name);
    rc = gt_strbuf_check(&beside, scan->err);
    if (!rc)
        rc = gt_strbuf_check(&in_folder, scan->err);
    if (rc)
        goto out;
    if (!access(in_folder.text, R_OK))
        rc = scan_file(scan, name, in_folder.text);
    else if (!access(beside.text, R_OK))
        rc = scan_file(scan, name, beside.text);
    else
        rc = gt_err_set(scan->err, GT_ECONFIG, "%s: line %d: include \"%.100s\" is not in %s", path,
                        line, name, scan->include_dir);
out:
    gt_strbuf_release(&beside);
    gt_strbuf_release(&in_folder);
    return rc;
}

/* The name in `#include "name"` if the line is one; includes in <> are the toolkit's. */
static bool include_name(const char *line, char name[256])
{
    size_t length;

    line += strspn(line, " \t");
    if (*line++ != '#')
        return false;
    line += strspn(line, " \t");
    if (strncmp(line, "include", 7))
        return false;
    line += 7 + strspn(line + 7, " \t");
    if (*line++ != '"')
        return false;
    length = strcspn(line, "\"\n");
    if (line[length] != '"' || !length || length > 255)
        return false;
    memcpy(name, line, length);
    name[length] = '\0';
    return true;
}

/* Which lines a GPU never sees: those under `#ifdef GT_EMULATE` (the CPU emulator's). */
struct conditions {
    int depth;                     /* of #if */
    bool emulated[MAX_CONDITIONS]; /* by depth: this branch is the emulator's */
    bool about[MAX_CONDITIONS];    /* the condition is GT_EMULATE: #else, #elif change sides */
};

/* The directive `#name`, if the line is one: what follows it; else NULL. */
static const char *directive(const char *line, const char *name)
{
    size_t length = strlen(name);

    line += strspn(line, " \t");
    if (*line++ != '#')
        return NULL;
    line += strspn(line, " \t");
    return !strncmp(line, name, length) && !word_character(line[length]) ? line + length : NULL;
}

static bool about_emulation(const char *rest)
{
    rest += strspn(rest, " \t");
    return !strncmp(rest, "GT_EMULATE", 10) && !word_character(rest[10]);
}

/* Follows the line; whether it belongs to the emulator. */
static bool emulated_line(struct conditions *c, const char *line)
{
    const char *ifdef = directive(line, "ifdef"), *ifndef = directive(line, "ifndef");

    if (ifdef || ifndef || directive(line, "if")) {
        if (c->depth < MAX_CONDITIONS - 1)
            c->depth++;
        c->about[c->depth] = (ifdef || ifndef) && about_emulation(ifdef ? ifdef : ifndef);
        c->emulated[c->depth] = c->emulated[c->depth - 1] || (c->about[c->depth] && ifdef);
    } else if ((directive(line, "else") || directive(line, "elif")) && c->about[c->depth]) {
        c->emulated[c->depth] = c->emulated[c->depth - 1] || !c->emulated[c->depth];
        c->about[c->depth] = !directive(line, "elif"); /* what follows is on this side too */
    } else if (directive(line, "endif") && c->depth) {
        c->depth--;
    }
    return c->emulated[c->depth];
}

/* Digests a text and its includes: only what a GPU compiles.  Comments, blanks and the emulator's
 * lines do not count, so that editing them makes nobody's measurements stale. */
static int scan_text(struct scan *scan, const char *path, const char *text)
{
    struct gt_strbuf code = GT_STRBUF_INIT, kept = GT_STRBUF_INIT;
    struct conditions conditions = {0};
    char name[256];
    int rc, number = 1;

    strip_comments(&code, text);
    rc = gt_strbuf_check(&code, scan->err);
    for (const char *line = code.text, *next; !rc && line; line = next, number++) {
        next = strchr(line, '\n');
        next = next ? next + 1 : NULL;
        if (emulated_line(&conditions, line))
            continue;
        add_squeezed(&kept, line);
        if (include_name(line, name))
            rc = scan_include(scan, path, number, name);
    }
    if (!rc)
        rc = gt_strbuf_check(&kept, scan->err);
    if (!rc)
        gt_digest_add(scan->digest, kept.text, kept.length);
    gt_strbuf_release(&code);
    gt_strbuf_release(&kept);
    return rc;
}

static int sign(struct gt_kernel *kernel, const char *template_path, const char *essence,
                struct gt_err *err)
{
    struct gt_digest digest;
    struct scan scan = {
        .include_dir = kernel->include_dir, .digest = &digest, .seen = GT_STRBUF_INIT, .err = err};
    int rc;

    if (gt_digest_init(&digest))
        return gt_err_nomem(err);
    gt_digest_add(&digest, essence, strlen(essence));
    rc = scan_text(&scan, template_path, kernel->text);
    gt_digest_final(&digest, kernel->signature);
    gt_strbuf_release(&scan.seen);
    return rc;
}

/* ---- the template itself ---- */

/* Beside the description (a user's own kernel), else in the data folder. */
static int find_template(const struct gt_kernel *kernel, const char *data_dir,
                         struct gt_strbuf *path, struct gt_err *err)
{
    const char *slash = strrchr(kernel->path, '/');
    int rc;

    gt_strbuf_add_bytes(path, kernel->path, slash ? (size_t)(slash + 1 - kernel->path) : 0);
    gt_strbuf_add(path, kernel->template_path);
    rc = gt_strbuf_check(path, err);
    if (rc || !access(path->text, R_OK))
        return rc;
    gt_strbuf_reset(path);
    gt_strbuf_addf(path, "%s/%s", data_dir, kernel->template_path);
    rc = gt_strbuf_check(path, err);
    if (!rc && access(path->text, R_OK))
        rc = gt_err_set(err, GT_ECONFIG,
                        "%s: template \"%s\" is neither beside the description nor in %s",
                        kernel->path, kernel->template_path, data_dir);
    return rc;
}

static uint64_t map_depends(const struct gt_kernel *kernel, const struct gt_tensor_map *map)
{
    uint64_t used = gt_kernel_depends(kernel, map->when) | gt_kernel_depends(kernel, map->offset) |
                    gt_kernel_depends(kernel, map->swizzle) |
                    gt_kernel_depends(kernel, map->promotion);

    for (int i = 0; i < map->rank; i++)
        used |= gt_kernel_depends(kernel, map->dims[i]) | gt_kernel_depends(kernel, map->box[i]);
    for (int i = 0; i < map->rank - 1; i++)
        used |= gt_kernel_depends(kernel, map->strides[i]);
    return used;
}

/* Whether the geometry can change with the parameter; compile_only: only what NVRTC is asked. */
static bool geometry_uses(const struct gt_kernel *kernel, uint64_t bit, bool compile_only)
{
    uint64_t used = gt_kernel_depends(kernel, kernel->max_registers) |
                    gt_kernel_depends(kernel, kernel->code_arch) |
                    gt_kernel_depends(kernel, kernel->arch_features) |
                    gt_kernel_depends(kernel, kernel->code_ptx);

    if (!compile_only)
        used |= gt_kernel_depends(kernel, kernel->workspace);
    for (size_t i = 0; !compile_only && i < kernel->launches; i++) {
        const struct gt_launch *launch = &kernel->launch[i];

        for (int j = 0; j < 3; j++)
            used |= gt_kernel_depends(kernel, launch->grid[j]) |
                    gt_kernel_depends(kernel, launch->block[j]) |
                    gt_kernel_depends(kernel, launch->cluster[j]);
        used |=
            gt_kernel_depends(kernel, launch->when) | gt_kernel_depends(kernel, launch->shared) |
            gt_kernel_depends(kernel, launch->carveout) | gt_kernel_depends(kernel, launch->pdl);
    }
    for (size_t i = 0; !compile_only && i < kernel->maps; i++)
        used |= map_depends(kernel, &kernel->map[i]);
    return used & bit;
}

/* A parameter that changes nothing, or an entry that does not exist, is a slip. */
static int check_words(const struct gt_kernel *kernel, const char *code, struct gt_err *err)
{
    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];

        if (has_word(code, param->name) || geometry_uses(kernel, (uint64_t)1 << i, !param->launch))
            continue;
        return gt_err_set(err, GT_ECONFIG,
                          "%s: params[%zu] (%s): the template %s does not mention %s%s",
                          kernel->path, i, param->name, kernel->template_path, param->name,
                          param->launch ? ", nor do launches or tensor maps" : "");
    }
    for (size_t i = 0; i < kernel->launches; i++)
        if (!has_word(code, kernel->launch[i].entry))
            return gt_err_set(err, GT_ECONFIG,
                              "%s: launches[%zu]: the template %s has no entry \"%.64s\"",
                              kernel->path, i, kernel->template_path, kernel->launch[i].entry);
    return GT_OK;
}

int gt_kernel_read_template(struct gt_kernel *kernel, const char *data_dir, const char *essence,
                            struct gt_err *err)
{
    struct gt_strbuf path = GT_STRBUF_INIT, text = GT_STRBUF_INIT, code = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_addf(&text, "%s/templates", data_dir);
    kernel->include_dir = gt_strbuf_detach(&text);
    rc = kernel->include_dir ? find_template(kernel, data_dir, &path, err) : gt_err_nomem(err);
    if (!rc)
        rc = gt_strbuf_add_file(&text, path.text, err);
    if (rc)
        goto out;
    if (memchr(text.text, '\0', text.length)) {
        rc =
            gt_err_set(err, GT_ECONFIG, "%s: contains a NUL byte; it is no source text", path.text);
        goto out;
    }
    kernel->text = gt_strbuf_detach(&text);
    if (!kernel->text) {
        rc = gt_err_nomem(err);
        goto out;
    }
    strip_comments(&code, kernel->text);
    rc = gt_strbuf_check(&code, err);
    if (!rc)
        rc = check_words(kernel, code.text, err);
    if (!rc)
        rc = sign(kernel, path.text, essence, err);
out:
    gt_strbuf_release(&path);
    gt_strbuf_release(&text);
    gt_strbuf_release(&code);
    return rc;
}

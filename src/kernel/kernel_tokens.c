/* kernel_tokens.c - vocabulary: reduces a template with its includes to the preprocessing tokens
 * that a GPU compiles, over which a signature is taken.
 *
 * The canonical text holds each token with one blank in front of it, and each directive on its own
 * line.  It leaves out what changes no code: comments, blanks, line breaks between tokens, names of
 * included files, include guards, and what belongs to the CPU emulator (GT_EMULATE). */
#include "kernel/kernel_impl.h"

#include "base/err.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#define MAX_CONDITIONS 64   /* nested #if of one file */
#define MAX_INCLUDES   1024 /* files: ends a circle of includes under changing names */

/* Appends the text with comments turned into blanks; lines keep their numbers. */
static void strip_comments(struct gt_strbuf *to, const char *text)
{
    char quote = 0;

    for (const char *at = text; *at; at++) {
        const size_t plain = quote ? 0 : strcspn(at, "\"'/");

        gt_strbuf_add_bytes(to, at, plain);
        at += plain;
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

/* ---- tokens ---- */

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t number_length(const char *text)
{
    size_t length = 1;

    while (word_character(text[length]) || text[length] == '.' ||
           ((text[length] == '+' || text[length] == '-') && strchr("eEpP", text[length - 1])))
        length++;
    return length;
}

static size_t quoted_length(const char *text)
{
    size_t length = 1;

    while (text[length] && text[length] != *text)
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length + (text[length] != '\0');
}

/* The length in bytes of the preprocessing token at the beginning of text (C++17, [lex.pptoken]).
 */
static size_t token_length(const char *text)
{
    static const char *const punctuators[] = {
        "<<=", ">>=", "...", "->*", "::", "##", "++", "--", "->", ".*", "+=", "-=", "*=",
        "/=",  "%=",  "&=",  "|=",  "^=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>"};
    size_t length = 1;

    if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1])))
        return number_length(text);
    if (word_character(*text)) {
        while (word_character(text[length]))
            length++;
        return length;
    }
    if (*text == '"' || *text == '\'')
        return quoted_length(text);
    for (size_t i = 0; i < sizeof(punctuators) / sizeof(*punctuators); i++)
        if (*text == *punctuators[i] && !strncmp(text, punctuators[i], strlen(punctuators[i])))
            return strlen(punctuators[i]);
    return 1;
}

void gt_tokens_add(struct gt_strbuf *to, const char *text)
{
    for (;;) {
        size_t length;

        text += strspn(text, " \t\r\n\v\f");
        if (!*text)
            return;
        length = token_length(text);
        gt_strbuf_add_char(to, ' ');
        gt_strbuf_add_bytes(to, text, length);
        text += length;
    }
}

/* ---- directives ---- */

/* Returns what follows `#name` if the line is that directive; else NULL. */
static const char *directive(const char *line, const char *name)
{
    size_t length = strlen(name);

    line += strspn(line, " \t");
    if (*line++ != '#')
        return NULL;
    line += strspn(line, " \t");
    if (strncmp(line, name, length) || word_character(line[length]))
        return NULL;
    line += length;
    return line + strspn(line, " \t");
}

/* Takes the name of `#include "name"` or `#include <name>`; *quoted tells which one it is. */
static bool include_name(const char *line, char name[256], bool *quoted)
{
    char end;
    size_t length;

    line = directive(line, "include");
    if (!line || (*line != '"' && *line != '<'))
        return false;
    *quoted = *line++ == '"';
    end = *quoted ? '"' : '>';
    length = strcspn(line, "\">");
    if (line[length] != end || !length || length > 255)
        return false;
    memcpy(name, line, length);
    name[length] = '\0';
    return true;
}

/* The branches of #if that a line is in.  A condition on GT_EMULATE has a GPU's side and the
 * emulator's side, and its own directives do not count. */
struct conditions {
    int depth;
    bool emulated[MAX_CONDITIONS]; /* by depth: this branch is the emulator's */
    bool about[MAX_CONDITIONS];    /* the condition is GT_EMULATE */
    bool met[MAX_CONDITIONS];      /* the GPU's branch has begun: others are not the GPU's */
};

static bool about_emulation(const char *rest)
{
    return !strncmp(rest, "GT_EMULATE", 10) && !word_character(rest[10]);
}

/* Processes a line and returns what a GPU sees of it: the line, "", or a directive that replaces it
 * (made in scratch). */
static const char *follow(struct conditions *c, const char *line, struct gt_strbuf *scratch)
{
    const char *ifdef = directive(line, "ifdef"), *ifndef = directive(line, "ifndef");
    const char *elif = directive(line, "elif");
    int depth = c->depth;
    bool hidden = false;

    if (ifdef || ifndef || directive(line, "if")) {
        depth = ++c->depth;
        c->about[depth] = (ifdef || ifndef) && about_emulation(ifdef ? ifdef : ifndef);
        c->emulated[depth] = c->emulated[depth - 1] || (c->about[depth] && ifdef);
        c->met[depth] = !ifdef;
        hidden = c->about[depth];
    } else if ((elif || directive(line, "else")) && c->about[depth]) {
        c->emulated[depth] = c->emulated[depth - 1] || c->met[depth];
        c->met[depth] = hidden = true;
        if (elif && !c->emulated[depth]) { /* for a GPU, the conditions begin here */
            c->about[depth] = hidden = false;
            gt_strbuf_reset(scratch);
            gt_strbuf_addf(scratch, "#if %s", elif);
            line = scratch->text;
        }
    } else if (directive(line, "endif") && depth) {
        hidden = c->about[depth];
        c->depth--;
    }
    return hidden || c->emulated[depth] ? "" : line;
}

/* Appends what a GPU sees of a line.  The blank that distinguishes `#define F (x)` from `#define
 * F(x)` is kept. */
static void add_line(struct gt_strbuf *to, const char *line)
{
    const char *define = directive(line, "define"), *pragma = directive(line, "pragma");
    size_t name = 0;

    if (line[strspn(line, " \t")] != '#') {
        gt_tokens_add(to, line);
        return;
    }
    if (pragma && !strncmp(pragma, "once", 4) && !word_character(pragma[4]))
        return;
    if (to->length && to->text[to->length - 1] != '\n')
        gt_strbuf_add_char(to, '\n');
    while (define && word_character(define[name]))
        name++;
    if (define && define[name] == '(') {
        gt_strbuf_add(to, " # define ");
        gt_strbuf_add_bytes(to, define, name);
        gt_strbuf_add(to, "()");
        line = define + name;
    }
    gt_tokens_add(to, line);
    gt_strbuf_add_char(to, '\n');
}

/* Whether the lines in between are balanced: no branch belongs to a condition that begins before
 * them. */
static bool balanced(const char *line, const char *end)
{
    int depth = 0;

    for (; line < end && depth >= 0; line = strchr(line, '\n') + 1) {
        if (!depth && (!strncmp(line, " # else", 7) || !strncmp(line, " # elif", 7)))
            return false;
        depth += !strncmp(line, " # if", 5) - !strncmp(line, " # endif", 8);
    }
    return !depth;
}

/* Removes `#ifndef NAME`, `#define NAME` and the last `#endif` where they enclose the text. */
static void strip_guard(struct gt_strbuf *text)
{
    static const char opening[] = " # ifndef ", middle[] = " # define ", last[] = " # endif\n";
    const char *name = text->text + sizeof(opening) - 1, *second, *body, *end, *line;
    size_t length = sizeof(last) - 1;

    if (strncmp(text->text, opening, sizeof(opening) - 1) || text->length < length)
        return;
    end = text->text + text->length - length;
    length = strcspn(name, "\n") + 1;
    second = name + length;
    if (strncmp(second, middle, sizeof(middle) - 1) ||
        strncmp(second + sizeof(middle) - 1, name, length))
        return;
    body = second + sizeof(middle) - 1 + length;
    if (body > end || strcmp(end, last) || !balanced(body, end))
        return;
    line = end;
    while (line > body && (line == end || line[-1] != '\n'))
        line--;
    if (line < end && strncmp(line, " #", 2))
        end--; /* drops the line break of the #endif */
    length = (size_t)(end - body);
    memmove(text->text, body, length);
    text->length = length;
    text->text[length] = '\0';
}

/* ---- files ---- */

struct scan {
    const char *include_dirs; /* one folder a line: the templates' first, then the user's */
    struct gt_strbuf seen;    /* paths of included files, each "\n<path>\n" */
    size_t files;
    int depth; /* of the file's folder below the one that it was found in */
    struct gt_err *err;
};

static int add_text(struct scan *scan, struct gt_strbuf *to, const char *path, const char *text);

/* Appends a file where it is included for the first time. */
static int add_file(struct scan *scan, struct gt_strbuf *to, const char *path)
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
    GT_STEP(rc, gt_strbuf_add_file(&text, path, scan->err));
    GT_STEP(rc, add_text(scan, to, path, text.text));
out:
    gt_strbuf_release(&mark);
    gt_strbuf_release(&text);
    return rc;
}

/* Sets `path` to the name in the next folder of the list, and moves *dirs behind that folder. */
static int next_path(struct scan *scan, struct gt_strbuf *path, const char **dirs, const char *name)
{
    const size_t length = strcspn(*dirs, "\n");

    gt_strbuf_reset(path);
    gt_strbuf_add_bytes(path, *dirs, length);
    gt_strbuf_addf(path, "/%s", name);
    *dirs += length + ((*dirs)[length] == '\n');
    return gt_strbuf_check(path, scan->err);
}

/* How deep the folder of `name` is that is looked for in a folder of this depth; -1: outside of
 * all.
 * "./" and "//" are not deeper, nor are other names that begin with a sign. */
static int depth_of(const char *name, int depth)
{
    if (*name == '/')
        return -1;
    for (const char *slash; depth >= 0 && (slash = strchr(name, '/')); name = slash + 1)
        depth += strncmp(name, "../", 3) == 0 ? -1 : *name > '/';
    return depth;
}

/* Finds an include as NVRTC does with our options: a quoted one in the folder of the templates, in
 * the user's folders and beside the file that includes it; one in <> in the user's folders, else it
 * belongs to the toolkit.  *found is false if it is nowhere. */
static int find_include(struct scan *scan, struct gt_strbuf *path, const char *from,
                        const char *name, bool quoted, bool *found)
{
    const char *dirs = scan->include_dirs, *slash = strrchr(from, '/');
    const int beside = depth_of(name, scan->depth), below = depth_of(name, 0);
    bool own = false; /* a folder of the user: every one but the first */
    int rc = GT_OK;

    for (*found = false; !rc && !*found && *dirs; own = true) {
        rc = next_path(scan, path, &dirs, name);
        *found = !rc && (quoted || own) && below >= 0 && !access(path->text, R_OK);
    }
    scan->depth = *found ? below : beside;
    if (rc || *found || !quoted)
        return rc;
    gt_strbuf_reset(path);
    gt_strbuf_add_bytes(path, from, slash ? (size_t)(slash + 1 - from) : 0);
    gt_strbuf_add(path, name);
    rc = gt_strbuf_check(path, scan->err);
    *found = !rc && !access(path->text, R_OK);
    return rc;
}

/* Appends an include, or the line itself if only the compiler can find the file. */
static int add_include(struct scan *scan, struct gt_strbuf *to, const char *from, int number,
                       const char *line)
{
    struct gt_strbuf path = GT_STRBUF_INIT;
    char name[256];
    bool quoted, found = false;
    const bool named = include_name(line, name, &quoted);
    const int depth = scan->depth;
    const bool inside = !named || depth_of(name, depth) >= 0;
    int rc = named && inside ? find_include(scan, &path, from, name, quoted, &found) : GT_OK;

    if (!rc && found)
        rc = add_file(scan, to, path.text);
    else if (!rc && inside && (!named || !quoted || strchr(scan->include_dirs, '\n')))
        add_line(to, line);
    else if (!rc)
        rc = gt_err_set(scan->err, GT_ECONFIG,
                        "%s: line %d: include \"%.100s\" is not in this folder or %s", from, number,
                        name, scan->include_dirs);
    scan->depth = depth;
    gt_strbuf_release(&path);
    return rc;
}

/* Takes a line off *text, together with the lines that backslashes continue it with; returns their
 * number. */
static int take_line(struct gt_strbuf *line, const char **text)
{
    int lines = 0;
    bool continued;

    gt_strbuf_reset(line);
    do {
        size_t length = strcspn(*text, "\n"), kept = length;

        while (kept && (*text)[kept - 1] == '\r')
            kept--;
        continued = kept && (*text)[kept - 1] == '\\';
        gt_strbuf_add_bytes(line, *text, continued ? kept - 1 : kept);
        *text += length + ((*text)[length] != '\0');
        lines++;
    } while (continued && **text);
    return lines;
}

/* Appends the tokens of the lines of a file and of what they include. */
static int add_lines(struct scan *scan, struct gt_strbuf *to, const char *path, const char *text)
{
    struct gt_strbuf line = GT_STRBUF_INIT, scratch = GT_STRBUF_INIT;
    struct conditions conditions = {0};
    int rc = GT_OK;

    for (int number = 1, lines; !rc && *text; number += lines) {
        const char *seen;

        lines = take_line(&line, &text);
        rc = gt_strbuf_check(&line, scan->err);
        if (rc)
            break;
        seen = follow(&conditions, line.text, &scratch);
        rc = gt_strbuf_check(&scratch, scan->err);
        if (!rc && conditions.depth == MAX_CONDITIONS - 1)
            rc = gt_err_set(scan->err, GT_ECONFIG, "%s: line %d: more than %d nested #if", path,
                            number, MAX_CONDITIONS - 2);
        if (!rc && directive(seen, "include"))
            rc = add_include(scan, to, path, number, seen);
        else if (!rc)
            add_line(to, seen);
    }
    gt_strbuf_release(&line);
    gt_strbuf_release(&scratch);
    return rc;
}

static int add_text(struct scan *scan, struct gt_strbuf *to, const char *path, const char *text)
{
    struct gt_strbuf code = GT_STRBUF_INIT, tokens = GT_STRBUF_INIT;
    size_t length;
    int rc;

    strip_comments(&code, text);
    rc = gt_strbuf_check(&code, scan->err);
    GT_STEP(rc, add_lines(scan, &tokens, path, code.text));
    GT_STEP(rc, gt_strbuf_check(&tokens, scan->err));
    if (!rc) {
        strip_guard(&tokens);
        length = tokens.length;
        if (!strncmp(tokens.text, " #", 2) && to->length && to->text[to->length - 1] != '\n')
            gt_strbuf_add_char(to, '\n');
        gt_strbuf_add_bytes(to, tokens.text, length);
    }
    gt_strbuf_release(&code);
    gt_strbuf_release(&tokens);
    return rc;
}

int gt_tokens_add_template(struct gt_strbuf *to, const struct gt_kernel *kernel, const char *path,
                           struct gt_err *err)
{
    struct scan scan = {.include_dirs = kernel->include_dirs, .seen = GT_STRBUF_INIT, .err = err};
    int rc;

    scan.depth = depth_of(kernel->template_path, 0);
    rc = add_text(&scan, to, path, kernel->text);
    gt_strbuf_release(&scan.seen);
    return rc ? rc : gt_strbuf_check(to, err);
}

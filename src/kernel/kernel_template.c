/* kernel_template.c - vocabulary: finds a kernel's template, reads it, checks that it uses the
 * description's parameters and entries, and signs the kernel. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "kernel/kernel_impl.h"
#include "problem/problem.h"

/* ---- tokens ----
 *
 * The canonical text holds each token with one blank in front of it, and each directive on its own
 * line.  It leaves out everything that changes no code: comments, blanks, line breaks between
 * tokens, names of included files, include guards, and parts for the CPU emulator (GT_EMULATE). */

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

/* The length of the preprocessing token at the beginning of text (C++17, [lex.pptoken]). */
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
    for (size_t i = 0;
         ispunct((unsigned char)text[1]) && i < sizeof(punctuators) / sizeof(*punctuators); i++)
        if (*text == *punctuators[i] && !strncmp(text, punctuators[i], strlen(punctuators[i])))
            return strlen(punctuators[i]);
    return 1;
}

/* Appends the preprocessing tokens of a text, a blank in front of each. */
static void add_tokens(struct gt_strbuf *to, const char *text)
{
    char part[256]; /* tokens that one call appends */
    size_t used = 0;

    for (size_t length;; text += length) {
        while (isspace((unsigned char)*text))
            text++;
        length = *text ? token_length(text) : 0;
        if (!length || used + 1 + length > sizeof(part)) {
            gt_strbuf_add_bytes(to, part, used);
            used = 0;
        }
        if (!length)
            return;
        if (length >= sizeof(part)) {
            gt_strbuf_add_char(to, ' ');
            gt_strbuf_add_bytes(to, text, length);
            continue;
        }
        part[used++] = ' ';
        memcpy(part + used, text, length);
        used += length;
    }
}

/* ---- directives ---- */

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

/* Returns the text after `#name` if the line is that directive; else NULL. */
static const char *directive(const char *line, const char *name)
{
    size_t length = strlen(name);

    while (*line == ' ' || *line == '\t')
        line++;
    if (*line != '#' && (*line != '%' || *++line != ':'))
        return NULL;
    line++;
    line += strspn(line, " \t");
    if (strncmp(line, name, length) || (word_character(line[length]) && line[length] != '_'))
        return NULL; /* include_next is an include, whose name add_include refuses */
    line += length;
    return line + strspn(line, " \t");
}

/* Appends a line as a GPU's compiler sees it.  `#define F (x)` stays apart from `#define F(x)`. */
static void add_line(struct gt_strbuf *to, const char *line)
{
    const char *define = directive(line, "define"), *pragma = directive(line, "pragma");
    size_t name = 0;

    if (line[strspn(line, " \t")] != '#') {
        add_tokens(to, line);
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
    add_tokens(to, line);
    gt_strbuf_add_char(to, '\n');
}

/* Takes a line off *text, with the lines that continue it after backslashes; returns the number of
 * lines. */
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

#define MAX_CONDITIONS 64 /* most nested #if of one file */

/* The branches of #if that a line is in.  A condition on GT_EMULATE has a GPU's side and the
 * emulator's side, and its own directives do not count. */
struct conditions {
    int depth;
    bool emulated[MAX_CONDITIONS]; /* by depth: the present branch is the emulator's */
    bool about[MAX_CONDITIONS];    /* the condition is GT_EMULATE */
    bool met[MAX_CONDITIONS];      /* the GPU's branch has begun: later branches are not */
};

static bool about_emulation(const char *rest)
{
    return !strncmp(rest, "GT_EMULATE", 10) && !word_character(rest[10]);
}

/* The text that a GPU's compiler sees in place of a line: the line, "", or another directive (made
 * in scratch). */
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

/* Whether every branch between line and end belongs to a condition that begins between them. */
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
    bool given;            /* the user named folders: a missing include is the compiler's affair */
    struct gt_strbuf seen; /* paths of included files, each "\n<path>\n" */
    size_t files;
    int depth; /* depth of the file's folder below the folder that it was found in */
    struct gt_err *err;
};

#define MAX_INCLUDES 1024 /* most files: ends a circle of includes under changing names */

static int add_text(struct scan *scan, struct gt_strbuf *to, const char *path, const char *text);

/* Appends a file if it is included for the first time. */
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

/* The depth of the folder of `name`, which is looked for in a folder of this depth; -1: it is
 * outside of all folders.  "./" and "//" add no depth.  Other names that begin with a sign add none
 * either. */
static int depth_of(const char *name, int depth)
{
    if (*name == '/')
        return -1;
    for (const char *slash; depth >= 0 && (slash = strchr(name, '/')); name = slash + 1)
        depth += strncmp(name, "../", 3) == 0 ? -1 : *name > '/';
    return depth;
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

/* Finds an include as NVRTC does with our options: a quoted name in the folder of the templates, in
 * the user's folders and beside the including file; a name in <> in the user's folders, else it
 * belongs to the toolkit.  *found: false if the file is nowhere. */
static int find_include(struct scan *scan, struct gt_strbuf *path, const char *from,
                        const char *name, bool quoted, bool *found)
{
    const char *dirs = scan->include_dirs, *slash = strrchr(from, '/');
    const int beside = depth_of(name, scan->depth), below = depth_of(name, 0);
    bool own = false; /* a folder of the user's: every folder but the first */
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

/* Takes the name of `#include "name"` or `#include <name>`; *quoted tells which form it is.  false:
 * the text after the word is a macro that makes the name, and is taken. */
static bool include_name(const char *line, char name[256], bool *quoted)
{
    const char *at = line + (*line != '\0');
    size_t length = strcspn(at, "\">");
    bool named;

    *quoted = at[length] == '"';
    named = length - 1 < 254 && *line == (*quoted ? '"' : '<');
    if (length > 254)
        length = 254;
    length += !named;
    memcpy(name, line + named, length);
    name[length] = '\0';
    return named;
}

/* Appends an included file (rest: the text after the word), or the line itself if only the compiler
 * can find the file.  A name that a macro makes could lead anywhere. */
static int add_include(struct scan *scan, struct gt_strbuf *to, const char *from, int number,
                       const char *line, const char *rest)
{
    struct gt_strbuf path = GT_STRBUF_INIT;
    char name[256];
    bool quoted, found = false;
    const int depth = scan->depth;
    const bool inside = include_name(rest, name, &quoted) && depth_of(name, depth) >= 0;
    int rc = inside ? find_include(scan, &path, from, name, quoted, &found) : GT_OK;

    if (!rc && found)
        rc = add_file(scan, to, path.text);
    else if (!rc && inside && (!quoted || scan->given))
        add_line(to, line);
    else if (!rc)
        rc = gt_err_set(scan->err, GT_ECONFIG,
                        "%s: line %d: include \"%.100s\" is not in this folder or %.*s", from,
                        number, name, (int)strcspn(scan->include_dirs, "\n"), scan->include_dirs);
    scan->depth = depth;
    gt_strbuf_release(&path);
    return rc;
}

/* Appends the tokens of a file's lines and of the files that they include. */
static int add_lines(struct scan *scan, struct gt_strbuf *to, const char *path, const char *text)
{
    struct gt_strbuf line = GT_STRBUF_INIT, scratch = GT_STRBUF_INIT;
    struct conditions conditions = {0};
    int rc = GT_OK;

    for (int number = 1, lines; !rc && *text; number += lines) {
        const char *seen, *rest;

        lines = take_line(&line, &text);
        rc = gt_strbuf_check(&line, scan->err);
        if (rc)
            break;
        seen = follow(&conditions, line.text, &scratch);
        rc = gt_strbuf_check(&scratch, scan->err);
        if (!rc && conditions.depth == MAX_CONDITIONS - 1)
            rc = gt_err_set(scan->err, GT_ECONFIG, "%s: line %d: more than %d nested #if", path,
                            number, MAX_CONDITIONS - 2);
        rest = directive(seen, "include");
        if (!rc && rest)
            rc = add_include(scan, to, path, number, seen, rest);
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

/* Appends the canonical text of kernel->text, which was read from `path`, with its includes.  A
 * missing include is GT_ECONFIG with file and line, unless the user gave include folders: then the
 * include may stand in a branch that is not compiled, and the compiler decides. */
static int add_template(struct gt_strbuf *to, const struct gt_kernel *kernel, const char *path,
                        bool given, struct gt_err *err)
{
    struct scan scan = {
        .include_dirs = kernel->include_dirs, .given = given, .seen = GT_STRBUF_INIT, .err = err};
    int rc;

    scan.depth = depth_of(kernel->template_path, 0);
    rc = add_text(&scan, to, path, kernel->text);
    gt_strbuf_release(&scan.seen);
    return rc ? rc : gt_strbuf_check(to, err);
}

/* ---- the signature ----
 *
 * Stored rows belong to a signature.  The signature covers everything that decides the code, the
 * launches or the validity of a candidate: the tokens of the template with its includes, and the
 * parts of the description that are listed here.  It leaves out everything else: names of kernels
 * and files, remarks, values, defaults, seeds, bets, the performance model, and derived values that
 * only these use. */

/* The canonical text while it is built, and the derived values that the text has used so far (bit i
 * for derived[i]). */
struct signing {
    const struct gt_kernel *kernel;
    struct gt_strbuf *to;
    uint64_t derived;
};

static void use_derived(struct signing *s, const struct gt_expr *expr)
{
    for (size_t i = 0; i < s->kernel->deriveds; i++)
        if (gt_expr_uses(expr, s->kernel->first_param + s->kernel->params + i))
            s->derived |= (uint64_t)1 << i;
}

static void add_expr(struct signing *s, const char *key, const struct gt_expr *expr)
{
    gt_strbuf_addf(s->to, " %s=", key);
    add_tokens(s->to, gt_expr_text(expr));
    use_derived(s, expr);
}

static void add_list(struct signing *s, const char *key, struct gt_expr *const *expr, int count)
{
    gt_strbuf_addf(s->to, " %s", key);
    for (int i = 0; i < count; i++)
        add_expr(s, "", expr[i]);
}

/* Adds the names of the bits that are set. */
static void add_bits(struct signing *s, const char *key, unsigned bits,
                     const char *(*name)(unsigned bit))
{
    gt_strbuf_addf(s->to, " %s=", key);
    for (unsigned bit = 0; bit < 8 * sizeof(bits); bit++)
        if (bits >> bit & 1)
            gt_strbuf_addf(s->to, " %s", name(bit));
}

static const char *type_name(unsigned bit)
{
    return gt_dtype_name((enum gt_dtype)bit);
}

static void add_scales(struct signing *s, const char *key, const struct gt_served_scales *scales)
{
    for (size_t i = 0; i < scales->count; i++) {
        char text[GT_SCALE_TEXT_MAX];

        gt_scale_format(&scales->scale[i], text);
        gt_strbuf_addf(s->to, " %s=%s", key, text);
    }
}

/* What plain products do not have: nothing for a kernel of plain products, whose signature stays as
 * it was. */
static void add_words(struct signing *s, const struct gt_serves *entry)
{
    const struct {
        const char *key;
        unsigned value, standard;
    } words[] = {
        {"b", entry->types_b, 0},
        {"bias", entry->biases, 0},
        {"sums", entry->sums, 1u << GT_SUMS_FAST},
        {"groups", entry->sizes, 0},
        {"by", entry->by, 1u << GT_GROUPS_BY_M},
        {"gate", entry->gates, 1u << GT_GATE_FIRST},
        {"conj", entry->conj, 0},
        {"zero", entry->zero, 0},
        {"symmetric", entry->symmetric, 0},
        {"same_bits", entry->same_bits, 0},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (words[i].value != words[i].standard)
            gt_strbuf_addf(s->to, " %s=%u", words[i].key, words[i].value);
    add_scales(s, "scale_a", &entry->scale_a);
    add_scales(s, "scale_b", &entry->scale_b);
    add_scales(s, "scale_d", &entry->scale_d);
}

static void add_serves(struct signing *s)
{
    for (size_t i = 0; i < s->kernel->entries; i++) {
        const struct gt_serves *entry = &s->kernel->entry[i];

        gt_strbuf_add(s->to, "serves");
        add_bits(s, "types", entry->types, type_name);
        add_bits(s, "out", entry->outs, type_name);
        add_bits(s, "layouts", entry->layouts, gt_layout_name);
        add_bits(s, "epilogues", entry->epilogues, gt_epilogue_name);
        gt_strbuf_addf(s->to, " cc=%d..%d max_m=%lld accuracy=%s batch=%d", entry->min_cc,
                       entry->max_cc, (long long)entry->max_m, gt_accuracy_name(entry->accuracy),
                       entry->batched);
        add_words(s, entry);
        gt_strbuf_add_char(s->to, '\n');
    }
}

static void add_launches(struct signing *s)
{
    for (size_t i = 0; i < s->kernel->launches; i++) {
        const struct gt_launch *launch = &s->kernel->launch[i];

        gt_strbuf_addf(s->to, "launch %s maps=%d%s", launch->entry, launch->maps,
                       launch->more ? " more" : "");
        add_list(s, "grid", launch->grid, 3);
        add_list(s, "block", launch->block, 3);
        add_list(s, "cluster", launch->cluster, 3);
#define ADD(member, standard) add_expr(s, #member, launch->member);
        GT_LAUNCH_EXPRS(ADD)
#undef ADD
        gt_strbuf_add_char(s->to, '\n');
    }
}

static void add_maps(struct signing *s)
{
    for (size_t i = 0; i < s->kernel->maps; i++) {
        const struct gt_tensor_map *map = &s->kernel->map[i];
        const char *element = map->element == GT_MAP_IN    ? "in"
                              : map->element == GT_MAP_OUT ? "out"
                                                           : type_name((unsigned)map->element);

        gt_strbuf_addf(s->to, "map %s of %s", element, gt_map_operand_names[map->operand]);
        add_list(s, "dims", map->dims, map->rank);
        add_list(s, "strides", map->strides, map->rank - 1);
        add_list(s, "box", map->box, map->rank);
#define ADD(member, standard) add_expr(s, #member, map->member);
        GT_MAP_EXPRS(ADD)
#undef ADD
        gt_strbuf_add_char(s->to, '\n');
    }
}

static void add_description(struct signing *s)
{
    const struct gt_kernel *kernel = s->kernel;

    for (size_t i = 0; i < kernel->params; i++)
        gt_strbuf_addf(s->to, "param %s %s\n", kernel->param[i].name,
                       kernel->param[i].launch ? "launch" : "compile");
    add_serves(s);
    for (size_t i = 0; i < kernel->constraints; i++)
        if (!kernel->constraint[i].bet) {
            add_expr(s, "must", kernel->constraint[i].expr);
            gt_strbuf_add_char(s->to, '\n');
        }
    add_launches(s);
    add_maps(s);
#define ADD(member, standard) add_expr(s, #member, kernel->member);
    GT_COMPILE_EXPRS(ADD)
    GT_CANDIDATE_EXPRS(ADD)
#undef ADD
    for (size_t i = kernel->deriveds; i-- > 0;)
        if (s->derived >> i & 1) {
            gt_strbuf_add_char(s->to, '\n');
            add_expr(s, kernel->derived[i].name, kernel->derived[i].expr);
        }
}

/* Fills kernel->signature; code: the template's canonical text. */
static int sign(struct gt_kernel *kernel, const char *code, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct signing s = {.kernel = kernel, .to = &text};
    struct gt_digest digest;
    int rc;

    add_description(&s);
    rc = gt_strbuf_check(&text, err);
    if (!rc && gt_digest_init(&digest))
        rc = gt_err_nomem(err);
    if (!rc) {
        gt_digest_add(&digest, code, strlen(code));
        gt_digest_add(&digest, text.text, text.length);
        gt_digest_final(&digest, kernel->signature);
    }
    gt_strbuf_release(&text);
    return rc;
}

/* ---- reading and checking ---- */

/* Whether the canonical text holds the token; each token in it follows a blank. */
static bool has_token(const char *code, const char *token)
{
    size_t length = strlen(token);

    for (const char *at = code; (at = strstr(at, token)); at += length)
        if (at > code && at[-1] == ' ' && strchr(" \n(", at[length])) /* "(" of #define F() */
            return true;
    return false;
}

/* Finds the template: beside the description (*own: a user's own kernel), else in the data folder.
 */
static int find_template(const struct gt_kernel *kernel, const char *data_dir,
                         struct gt_strbuf *path, bool *own, struct gt_err *err)
{
    const char *slash = strrchr(kernel->path, '/');
    int rc;

    gt_strbuf_add_bytes(path, kernel->path, slash ? (size_t)(slash + 1 - kernel->path) : 0);
    gt_strbuf_add(path, kernel->template_path);
    rc = gt_strbuf_check(path, err);
    *own = !rc && !access(path->text, R_OK);
    if (rc || *own)
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

/* Parameters that expressions depend on. */
struct depending {
    const struct gt_kernel *kernel;
    uint64_t used;
};

static void add_depends(void *context, struct gt_expr *expr)
{
    struct depending *depending = context;

    depending->used |= gt_kernel_depends(depending->kernel, expr);
}

static uint64_t compile_depends(const struct gt_kernel *kernel)
{
    uint64_t used = 0;

#define DEPENDS(member, standard) used |= gt_kernel_depends(kernel, kernel->member);
    GT_COMPILE_EXPRS(DEPENDS)
#undef DEPENDS
    return used;
}

/* Refuses a parameter that has no effect and an entry that does not exist: both are mistakes. */
static int check_words(const struct gt_kernel *kernel, const char *code, struct gt_err *err)
{
    const uint64_t compiled = compile_depends(kernel);
    struct depending launched = {kernel, compiled | gt_kernel_depends(kernel, kernel->workspace)};

    gt_kernel_each_expr(kernel, add_depends, &launched);
    for (size_t i = 0; i < kernel->params && i < GT_MAX_PARAMS; i++) {
        const struct gt_param *param = &kernel->param[i];

        if (has_token(code, param->name) || (param->launch ? launched.used : compiled) >> i & 1)
            continue;
        return gt_err_set(err, GT_ECONFIG,
                          "%s: params[%zu] (%s): the template %s does not mention %s%s",
                          kernel->path, i, param->name, kernel->template_path, param->name,
                          param->launch ? ", nor do launches or tensor maps" : "");
    }
    for (size_t i = 0; i < kernel->launches; i++)
        if (!has_token(code, kernel->launch[i].entry))
            return gt_err_set(err, GT_ECONFIG,
                              "%s: launches[%zu]: the template %s has no entry \"%.64s\"",
                              kernel->path, i, kernel->template_path, kernel->launch[i].entry);
    return GT_OK;
}

/* Appends the folders of "DIR[:DIR...]", each on a line of its own. */
static int add_include_dirs(struct gt_strbuf *to, const char *dirs, struct gt_err *err)
{
    for (int count = 1; *dirs; count++) {
        const size_t length = strcspn(dirs, ":"), before = to->length + 1;

        if (count > GT_MAX_INCLUDE_DIRS)
            return gt_err_set(err, GT_ERANGE, "more than %d include folders are given",
                              GT_MAX_INCLUDE_DIRS);
        gt_strbuf_add_char(to, '\n');
        gt_strbuf_add_bytes(to, dirs, length);
        if (gt_strbuf_check(to, err))
            return GT_ENOMEM;
        if (access(to->text + before, R_OK | X_OK))
            return gt_err_set(err, GT_EIO, "include folder \"%.200s\" cannot be read: %s",
                              to->text + before, strerror(errno));
        dirs += length + (dirs[length] == ':');
    }
    return GT_OK;
}

/* own: the path of the user's own template, whose folder comes last; NULL: it is none. */
static int set_include_dirs(struct gt_kernel *kernel, const char *data_dir,
                            const char *include_dirs, const char *own, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    gt_strbuf_addf(&text, "%s/templates", data_dir);
    rc = gt_strbuf_check(&text, err);
    if (!rc && include_dirs)
        rc = add_include_dirs(&text, include_dirs, err);
    if (own)
        gt_strbuf_addf(&text, "\n%.*s", (int)(strrchr(own, '/') - own), own);
    kernel->include_dirs = rc ? NULL : gt_strbuf_detach(&text);
    gt_strbuf_release(&text);
    return rc || kernel->include_dirs ? rc : gt_err_nomem(err);
}

int gt_kernel_read_template(struct gt_kernel *kernel, const char *data_dir,
                            const char *include_dirs, struct gt_err *err)
{
    struct gt_strbuf path = GT_STRBUF_INIT, text = GT_STRBUF_INIT, code = GT_STRBUF_INIT;
    bool own = false;
    int rc = find_template(kernel, data_dir, &path, &own, err);

    GT_STEP(rc, set_include_dirs(kernel, data_dir, include_dirs, own ? path.text : NULL, err));
    GT_STEP(rc, gt_strbuf_add_file(&text, path.text, err));
    if (!rc && memchr(text.text, '\0', text.length))
        rc =
            gt_err_set(err, GT_ECONFIG, "%s: contains a NUL byte; it is no source text", path.text);
    if (rc)
        goto out;
    kernel->text = gt_strbuf_detach(&text);
    rc = kernel->text ? add_template(&code, kernel, path.text, include_dirs && *include_dirs, err)
                      : gt_err_nomem(err);
    GT_STEP(rc, check_words(kernel, code.text, err));
    GT_STEP(rc, sign(kernel, code.text, err));
out:
    gt_strbuf_release(&path);
    gt_strbuf_release(&text);
    gt_strbuf_release(&code);
    return rc;
}

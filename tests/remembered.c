/* remembered.c - test: the files of remembered verdicts (remembered.h). */
#include "remembered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"

/* The length of blanks and comments at the beginning of the text; *line: there is a line break. */
static size_t gap_length(const char *text, bool *line)
{
    size_t length = 0, more;

    for (*line = false;; length += more) {
        const char *at = text + length, *end;

        more = strspn(at, " \t\n");
        if (more && memchr(at, '\n', more))
            *line = true;
        if (!strncmp(at, "//", 2))
            more = strcspn(at, "\n");
        else if (!strncmp(at, "/*", 2) && (end = strstr(at + 2, "*/")) != NULL)
            more = (size_t)(end + 2 - at);
        if (!more)
            return length;
    }
}

/* The length of what stands until the next gap may begin: a literal is not looked into. */
static size_t solid_length(const char *text)
{
    size_t length = 1;

    if (*text != '"' && *text != '\'')
        return length + strcspn(text + 1, " \t\n/\"'");
    while (text[length] && text[length] != *text)
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length + (text[length] != '\0');
}

/* Adds what a compiler sees of a text: of comments and blanks, that they are there. */
static void add_code(struct gt_digest *digest, const char *text)
{
    size_t length;
    bool line;

    for (text += gap_length(text, &line); *text; text += length) {
        length = gap_length(text, &line);
        if (length) {
            gt_digest_add(digest, line ? "\n" : " ", 1);
        } else {
            length = solid_length(text);
            gt_digest_add(digest, text, length);
        }
    }
    gt_digest_add(digest, "", 1);
}

static void add_includes(struct gt_digest *digest, struct gt_strbuf *seen, const char *folders,
                         const char *text);

/* Adds the file of this name in the first of the folders that has it, if it is not among the
 * seen. */
static void add_file(struct gt_digest *digest, struct gt_strbuf *seen, const char *folders,
                     const char *name)
{
    struct gt_strbuf path = GT_STRBUF_INIT, text = GT_STRBUF_INIT;

    for (const char *folder = folders; *folder; folder += strspn(folder, "\n")) {
        const size_t length = strcspn(folder, "\n");

        gt_strbuf_reset(&path);
        gt_strbuf_add_bytes(&path, folder, length);
        gt_strbuf_addf(&path, "/%s\n", name);
        folder += length;
        if (seen->length && strstr(seen->text, path.text))
            break;
        path.text[path.length - 1] = '\0';
        if (access(path.text, R_OK))
            continue;
        gt_strbuf_addf(seen, "%s\n", path.text);
        gt_strbuf_add_file(&text, path.text, NULL);
        add_code(digest, name);
        add_code(digest, text.text);
        add_includes(digest, seen, folders, text.text);
        break;
    }
    gt_strbuf_release(&text);
    gt_strbuf_release(&path);
}

/* Adds the files that a text includes, and those that they include, in any branch. */
static void add_includes(struct gt_digest *digest, struct gt_strbuf *seen, const char *folders,
                         const char *text)
{
    static const char include[] = "#include \"";
    char name[256];

    for (const char *at = text; (at = strstr(at, include)); at++)
        if (sscanf(at + sizeof include - 1, "%255[^\"]", name) == 1)
            add_file(digest, seen, folders, name);
}

void gt_remember_base(char base[GT_DIGEST_HEX], const char *sources, const char *compiler)
{
    const char *build = getenv("BUILD");
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_digest digest;
    char path[4096];

    snprintf(path, sizeof path, "%s/tests/%s.text", build ? build : "build", sources);
    *base = '\0';
    if (gt_strbuf_add_file(&text, path, NULL) == GT_OK) {
        if (gt_digest_init(&digest))
            abort();
        gt_digest_add(&digest, compiler, strlen(compiler) + 1);
        add_code(&digest, text.text);
        gt_digest_final(&digest, base);
    }
    gt_strbuf_release(&text);
}

char *gt_remember_host_compiler(void)
{
    const char *compiler = getenv("CXX") && *getenv("CXX") ? getenv("CXX") : "c++";
    struct gt_strbuf command = GT_STRBUF_INIT, version = GT_STRBUF_INIT;
    char line[512];
    FILE *said;

    gt_strbuf_addf(&command, "%s --version 2>&1", compiler);
    said = popen(command.text, "r");
    while (said && fgets(line, sizeof line, said))
        gt_strbuf_addf(&version, "%s", line);
    if (said)
        pclose(said);
    gt_strbuf_release(&command);
    return gt_strbuf_detach(&version);
}

void gt_remember_key(char key[GT_DIGEST_HEX], const char *base, const char *folders,
                     const char *source, const char *what)
{
    struct gt_strbuf seen = GT_STRBUF_INIT;
    struct gt_digest digest;

    *key = '\0';
    if (!*base)
        return;
    if (gt_digest_init(&digest))
        abort();
    gt_digest_add(&digest, base, strlen(base));
    add_code(&digest, what);
    add_code(&digest, source);
    add_includes(&digest, &seen, folders, source);
    gt_digest_final(&digest, key);
    gt_strbuf_release(&seen);
}

static bool place(char *path, size_t size, const char *key)
{
    const char *build = getenv("BUILD");

    return snprintf(path, size, "%s/remembered%s%s", build ? build : "build", *key ? "/" : "",
                    key) < (int)size;
}

bool gt_remembered(const char *key, void *result, size_t size)
{
    const char *fresh = getenv("FRESH");
    char path[4096];
    struct stat status;
    FILE *file;
    bool read;

    if (!*key || (fresh && *fresh) || !place(path, sizeof path, key) || !(file = fopen(path, "rb")))
        return false;
    read = fstat(fileno(file), &status) == 0 && (size_t)status.st_size == size &&
           fread(result, 1, size, file) == size;
    fclose(file);
    return read;
}

void gt_remember(const char *key, const void *result, size_t size)
{
    char folder[4096], path[4096], part[4200];
    FILE *file;

    if (!*key || !place(folder, sizeof folder, "") || !place(path, sizeof path, key))
        return;
    mkdir(folder, 0777);
    snprintf(part, sizeof part, "%s.%d", path, (int)getpid());
    file = fopen(part, "wb");
    if (!file)
        return;
    const bool written = fwrite(result, 1, size, file) == size;
    if (fclose(file) || !written || rename(part, path))
        unlink(part);
}

/* remembered.c - test: the files of remembered verdicts (remembered.h). */
#include "remembered.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Adds a file, or that there is none. */
static void add_file(struct gt_digest *digest, const char *path)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    if (gt_strbuf_add_file(&text, path, NULL) == GT_OK)
        gt_digest_add(digest, text.text, text.length);
    gt_digest_add(digest, path, text.length != 0);
    gt_strbuf_release(&text);
}

static int is_header(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);

    return length > 2 && strcmp(entry->d_name + length - 2, ".h") == 0;
}

void gt_remember_base(char base[GT_DIGEST_HEX], const char *data_dir, const char *compiler)
{
    struct dirent **header = NULL;
    struct gt_digest digest;
    char path[4096];
    int count;

    if (gt_digest_init(&digest))
        abort();
    gt_digest_add(&digest, compiler, strlen(compiler));
    add_file(&digest, "/proc/self/exe");
    snprintf(path, sizeof path, "%s/tests/emu", data_dir);
    count = scandir(path, &header, is_header, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/tests/emu/%s", data_dir, header[i]->d_name);
        add_file(&digest, path);
        free(header[i]);
    }
    free(header);
    gt_digest_final(&digest, base);
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

void gt_remember_key(char key[GT_DIGEST_HEX], const char *base, const struct gt_kernel *kernel,
                     const char *what)
{
    struct gt_digest digest;

    if (gt_digest_init(&digest))
        abort();
    gt_digest_add(&digest, base, strlen(base));
    gt_digest_add(&digest, kernel->signature, strlen(kernel->signature));
    add_file(&digest, kernel->path);
    gt_digest_add(&digest, what, strlen(what));
    gt_digest_final(&digest, key);
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

    if ((fresh && *fresh) || !place(path, sizeof path, key) || !(file = fopen(path, "rb")))
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

    if (!place(folder, sizeof folder, "") || !place(path, sizeof path, key))
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

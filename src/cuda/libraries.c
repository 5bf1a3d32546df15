/* libraries.c - stage: looks for the CUDA libraries and opens them (libraries.h). */
#include "cuda/libraries.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/place.h"
#include "base/strbuf.h"
#include "base/trust.h"

/* The folder in which distributions keep libraries of this processor. */
#if defined(__x86_64__)
#define SYSTEM_FOLDER "/usr/lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
#define SYSTEM_FOLDER "/usr/lib/aarch64-linux-gnu"
#else
#define SYSTEM_FOLDER "/usr/lib64"
#endif

/* A search for one file name. */
struct search {
    const char *name;
    void *handle;            /* NULL until it is open */
    struct gt_strbuf *tried; /* the files that could not be opened, for the error sentence */
};

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

__attribute__((format(printf, 2, 3))) static void remember(struct search *search,
                                                           const char *format, ...)
{
    char text[PATH_MAX + 256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gt_strbuf_addf(search->tried, "%s%s", search->tried->length ? ", " : "", text);
}

/* Whether the file of that size has all segments that the loader maps.  In a file that was cut
 * short the loader would die of SIGBUS. */
static bool is_whole(int fd, off_t size)
{
    Elf64_Ehdr elf;
    Elf64_Phdr segment;

    if (pread(fd, &elf, sizeof(elf), 0) != sizeof(elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(segment))
        return true; /* the loader says what is wrong */
    for (size_t i = 0; i < elf.e_phnum; i++) {
        const off_t at = (off_t)(elf.e_phoff + i * sizeof(segment));

        if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment) ||
            (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > (Elf64_Off)size))
            return false;
    }
    return true;
}

/* Why the loader must not or cannot open a file; NULL: nothing is known against it. */
static const char *unfit(const char *path)
{
    const char *why = NULL;
    struct stat file;
    int fd;

    if (stat(path, &file))
        return errno == ENOENT && lstat(path, &file) ? "" : strerror(errno);
    if (!S_ISREG(file.st_mode))
        return "not a regular file"; /* the loader would wait for a FIFO's writer */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return strerror(errno);
    if (!is_whole(fd, file.st_size))
        why = "the file is cut short";
    close(fd);
    return why;
}

/* Opens a file, or remembers why not; a name without a folder is the loader's to look for. */
static void try_open(struct search *search, const char *path)
{
    const char *why = strchr(path, '/') ? unfit(path) : NULL;

    if (!why) {
        search->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        why = search->handle || !strchr(path, '/') ? "" : dlerror();
        if (why && strncmp(why, path, strlen(path)) == 0) /* "PATH: file too short" */
            why += strlen(path) + strspn(why + strlen(path), ": ");
    }
    if (!search->handle)
        remember(search, why && *why ? "%s (%.200s)" : "%s", path, why);
}

/* Tries a file in a folder that the user or the system named. */
static void try_folder(struct search *search, const char *folder, const char *below)
{
    char path[PATH_MAX];

    if (!search->handle && folder && *folder &&
        (size_t)snprintf(path, sizeof(path), "%s%s/%s", folder, below, search->name) < sizeof(path))
        try_open(search, path);
}

/* Tries a file that was found by searching, and only where nobody else may write. */
static void try_trusted(struct search *search, const char *path, uid_t owner)
{
    char real[PATH_MAX];
    struct gt_err why = {0};
    int rc = gt_trust(path, owner, real, &why);

    if (!rc)
        try_open(search, real);
    else if (rc == GT_EIO)
        remember(search, "%s (not used: %.400s)", path, why.msg);
}

/* Adds a path to a glob pattern, escaped so that glob takes it literally. */
static void add_literal(struct gt_strbuf *pattern, const char *path)
{
    for (; *path; path++) {
        if (strchr("*?[\\", *path))
            gt_strbuf_add_char(pattern, '\\');
        gt_strbuf_add_char(pattern, *path);
    }
}

/* Tries every file that matches below a folder. */
static void try_matches(struct search *search, const char *folder, const char *below, uid_t owner)
{
    struct gt_strbuf pattern = GT_STRBUF_INIT;
    glob_t found = {0};

    if (search->handle || !folder || *folder != '/')
        return;
    add_literal(&pattern, folder);
    gt_strbuf_addf(&pattern, "%s/%s", below, search->name);
    if (!pattern.failed && glob(pattern.text, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !search->handle; i++)
            try_trusted(search, found.gl_pathv[i], owner);
    globfree(&found);
    gt_strbuf_release(&pattern);
}

/* Tries folders of Python packages: pip wheels keep their libraries in nvidia/<package>/lib, in an
 * environment or in an installation of Python. */
static void try_python(struct search *search, const char *prefix)
{
    static const char *const below[] = {"/lib/python3*/site-packages/nvidia/*/lib",
                                        "/lib/python3*/dist-packages/nvidia/*/lib",
                                        "/local/lib/python3*/dist-packages/nvidia/*/lib",
                                        "/lib/python3/dist-packages/nvidia/*/lib"};

    for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
        try_matches(search, prefix, below[i], geteuid());
}

/* Tries the installation of the python3 that a shell would start, without starting it: the folder
 * PREFIX of PREFIX/bin/python3, first for the link on the path (a virtual environment), then for
 * the file that it leads to. */
static void try_python_on_path(struct search *search)
{
    const char *at = secure_getenv("PATH"), *end;

    for (; at && *at && !search->handle; at = *end ? end + 1 : end) {
        char path[PATH_MAX], real[PATH_MAX];

        end = strchrnul(at, ':');
        if (*at != '/' || (size_t)snprintf(path, sizeof(path), "%.*s/python3", (int)(end - at),
                                           at) >= sizeof(path))
            continue;
        if (access(path, X_OK) || !realpath(path, real))
            continue;
        for (int i = 0; i < 2; i++) { /* removes /bin/python3 */
            char *prefix = i ? real : path;

            for (int up = 0; up < 2 && strchr(prefix, '/'); up++)
                *strrchr(prefix, '/') = '\0';
            try_python(search, prefix);
        }
        return;
    }
}

/* Tries the libraries that `make install NVRTC=1` and `make bundle NVRTC=1` put beside the
 * program. */
static void try_beside(struct search *search)
{
    static const char *const below[] = {"/../lib/gemmtune", "/../gemmtune", "/gemmtune"};
    char folder[PATH_MAX];
    uid_t owner;

    for (size_t i = 0; i < sizeof(below) / sizeof(*below) && !search->handle; i++)
        if (gt_code_folder(folder, &owner))
            try_matches(search, folder, below[i], owner);
}

/* Tries the folder .deps of the build tree, where tools/setup puts NVRTC. */
static void try_deps(struct search *search)
{
    char tree[PATH_MAX];
    struct stat status;

    if (gt_build_tree(tree) && !stat(tree, &status))
        try_matches(search, tree, "/.deps/nvidia/*/lib", status.st_uid);
}

static void try_places(struct search *search, bool in_toolkit)
{
    const char *home = secure_getenv("HOME");
    char local[PATH_MAX] = "";

    if (in_toolkit)
        try_beside(search);
    if (!search->handle)
        try_open(search, search->name);
    if (in_toolkit) {
        try_folder(search, secure_getenv("CUDA_HOME"), "/lib64");
        try_matches(search, secure_getenv("CUDA_PATH"), "/lib64", geteuid());
        try_folder(search, "/usr/local/cuda", "/lib64");
    }
    try_folder(search, SYSTEM_FOLDER, "");
    if (!in_toolkit)
        return;
    if (home && (size_t)snprintf(local, sizeof(local), "%s/.local", home) >= sizeof(local))
        *local = '\0';
    try_deps(search);
    try_python(search, secure_getenv("VIRTUAL_ENV"));
    try_matches(search, secure_getenv("CONDA_PREFIX"), "/lib", geteuid());
    try_python(search, secure_getenv("CONDA_PREFIX"));
    try_python_on_path(search);
    try_python(search, local);
}

int gt_library_open(void **handle, const struct gt_library *library, struct gt_err *err)
{
    struct gt_strbuf tried = GT_STRBUF_INIT;
    struct search search = {.tried = &tried};
    const char *forced = secure_getenv(library->environment);
    const bool is_forced = forced && *forced;
    int rc = GT_OK;

    for (const char *const *name = library->names; library->as_loaded && *name && !search.handle;
         name++)
        search.handle = is_forced ? NULL : dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (is_forced && !is_folder(forced))
        try_open(&search, forced);
    else
        for (const char *const *name = library->names; *name && !search.handle; name++) {
            search.name = *name;
            if (is_forced)
                try_folder(&search, forced, "");
            else
                try_places(&search, library->in_toolkit);
        }
    *handle = search.handle;
    if (!search.handle)
        rc = gt_err_set(err, GT_ENOLIB, "%s not found: tried %s; %s, or set %s to its path",
                        library->what, tried.text, library->hint, library->environment);
    gt_strbuf_release(&tried);
    return rc;
}

const char *gt_library_file(void *handle)
{
    const struct link_map *map = NULL;

    return handle && !dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map) && map ? map->l_name : "";
}

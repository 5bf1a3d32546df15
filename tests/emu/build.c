/* build.c - test: CUDA C++ -> shared object for the CPU (build.h). */
#include "build.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "kernel/kernel.h"

extern char **environ;

/* Options of the compiler that are always the same in number, and with those of the folders. */
#define FIXED   29
#define LONGEST (FIXED + 2 * (GT_MAX_INCLUDE_DIRS + 2))

/* folders: a line each; becomes words, the first of which stays. */
static int run_compiler(char *folders, const char *source, const char *object, bool strict,
                        struct gt_err *err)
{
    char emulator[4200], installed[4200]; /* the folders where emulate.h may be */
    const char *compiler = getenv("CXX") && *getenv("CXX") ? getenv("CXX") : "c++";
    /* What null, object-size and pointer-overflow would see AddressSanitizer sees on access; they
     * cost a fifth of the time.  The functions of libraries, the sanitizers' too, are those of the
     * program that opens the object: looking for them in the libraries took another sixth.  With
     * less optimisation and with functions that check each access, instead of code at its place,
     * the tests' many kernels are built and run in two thirds of the time; what a person tries is
     * to end in the kernel's own lines.  clang knows the parameter only by name. */
    const char *argv[] = {compiler,
                          "-std=c++17",
                          strict ? "-Og" : "-O1",
                          "--param",
                          strict ? "asan-instrumentation-with-call-threshold=0"
                                 : "asan-instrumentation-with-call-threshold=7000",
                          "-Wno-unused-command-line-argument",
                          "-g1",
                          "-fPIC",
                          "-shared",
                          "-fno-omit-frame-pointer",
                          "-fno-exceptions",
                          "-nostdlib",
                          "-fsanitize=address,undefined",
                          "-fno-sanitize=null,object-size,pointer-overflow",
                          "-fno-sanitize-recover=all",
                          "-Wall",
                          "-Wno-unknown-pragmas",
                          "-Wno-psabi",
                          strict ? "-Werror" : "-Wno-error",
                          "-DGT_EMULATE",
                          "-I",
                          emulator,
                          "-I",
                          installed,
                          "-x",
                          "c++",
                          source,
                          "-o",
                          object,
                          [FIXED] = NULL,
                          [LONGEST] = NULL};
    char *folder, *rest = folders;
    size_t count = FIXED;
    pid_t pid;
    int status;

    while ((folder = strsep(&rest, "\n")) && count + 2 <= LONGEST) {
        argv[count++] = "-I";
        argv[count++] = folder;
    }
    snprintf(emulator, sizeof emulator, "%s/../tests/emu", folders);
    snprintf(installed, sizeof installed, "%s/../emulate", folders);
    /* The cast: posix_spawn does not write to its arguments. */
    if (posix_spawnp(&pid, compiler, NULL, NULL, (char *const *)argv, environ) != 0)
        return gt_err_set(err, GT_ENOLIB,
                          "the emulator needs a C++ compiler, but %s cannot be run; install g++ or "
                          "name another one with CXX",
                          compiler);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return gt_err_set(err, GT_ENVRTC, "%s does not compile for the CPU", source);
    return GT_OK;
}

/* Whether the compiler takes a source of a few lines, which it leaves beside `path`; GT_ENOLIB: it
 * does not work here, and what it says of kernels says nothing about them. */
static int check_compiler(const char *path, bool strict, struct gt_err *err)
{
    char source[4200], object[4200], folder[] = ".";
    FILE *file;
    int rc;

    snprintf(source, sizeof source, "%s.known.cpp", path);
    snprintf(object, sizeof object, "%s.known.so", path);
    file = fopen(source, "w");
    if (file) {
        fputs("extern \"C\" float known(float x)\n{\n    return 2 * x;\n}\n", file);
        fclose(file);
    }
    rc = run_compiler(folder, source, object, strict, err);
    remove(source);
    remove(object);
    return rc == GT_ENVRTC ? gt_err_set(err, GT_ENOLIB,
                                        "the C++ compiler does not work here: it does not even "
                                        "compile a source of a few lines; install g++ with its "
                                        "sanitizers, name another one with CXX, free memory, or "
                                        "name another folder with TMPDIR")
                           : rc;
}

int gt_emu_open(void **object, const char *include, const char *source, const char *path,
                bool strict, struct gt_err *err)
{
    char *folders = strdup(include);
    int status = folders ? run_compiler(folders, source, path, strict, err) : gt_err_nomem(err);

    free(folders);
    if (status == GT_ENVRTC) {
        struct gt_err why = {0};

        if (check_compiler(path, strict, &why))
            return gt_err_set(err, why.code, "%s", why.msg);
    }
    if (status)
        return status;
    *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*object)
        return gt_err_set(err, GT_EIO,
                          "%s (if the folder is mounted noexec, TMPDIR may name another)",
                          dlerror());
    return GT_OK;
}

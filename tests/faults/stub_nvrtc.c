/* stub_nvrtc.c - builds libnvrtc.so.13 for tests: a compiler whose cubin is the source
 * (stub_image.h), at once, with the faults and the slowness of a compiler on demand.  STUB_SICK
 * makes a compiler that does not work: with every source but those of the proof (STUB_SICK_ALL:
 * with those, too) it answers that result (1 out of memory, 7 without its built-ins, 11 internal
 * error), dies of signal -N, or does what one of these words says: create (nvrtcCreateProgram
 * fails), hang, sleep, eat (memory), exit, print (to both streams, and works), empty and other (a
 * cubin of no bytes, or of another arch), keep (the cubin is not handed out).  STUB_SICK_LOG is
 * what it then says.  STUB_SICK_IF: only while this file exists. */
#include "stub_image.h"

#include <elf.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The functions of GT_NVRTC_MAP (src/cuda/cuda_api.h), as NVRTC exports them. */
int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                       const char *const *header, const char *const *include);
int nvrtcDestroyProgram(void **program);
/* Bytes that a source spills: 100 if it contains STUB_SPILLS. */
static int spilled_bytes(const char *source)
{
    const char *text = getenv("STUB_SPILLS");

    return text && strstr(source, text) ? 100 : 0;
}

int nvrtcCompileProgram(void *program, int options, const char *const *option);
int nvrtcGetProgramLogSize(void *program, size_t *size);
int nvrtcGetProgramLog(void *program, char *log);
int nvrtcGetCUBINSize(void *program, size_t *size);
int nvrtcGetCUBIN(void *program, char *image);
int nvrtcGetPTXSize(void *program, size_t *size);
int nvrtcGetPTX(void *program, char *image);

struct program {
    char *source, *name;
    char log[512];
};

/* No real compiler has version 13.9, so that its cache entries are never run on a GPU. */
int nvrtcVersion(int *major, int *minor)
{
    const char *text = getenv("STUB_NVRTC"); /* 12080 for 12.8 */
    const int version = text ? atoi(text) : 13090;

    *major = version / 1000;
    *minor = version % 1000 / 10;
    return 0;
}

int nvrtcDestroyProgram(void **program)
{
    struct program *made = *program;

    free(made->source);
    free(made->name);
    free(made);
    *program = NULL;
    return 0;
}

static void eat_memory(void)
{
    for (;;) {
        char *block = malloc(1 << 24);

        if (!block)
            abort();
        memset(block, 1, 1 << 24);
    }
}

/* Takes STUB_COMPILE_MS milliseconds of no core, so that many workers fit a small machine. */
static void take_time(void)
{
    const char *text = getenv("STUB_COMPILE_MS");
    const long ms = text ? atol(text) : 0;
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* What a compiler does that does not work; NULL: it works. */
static const char *sickness(const struct program *made)
{
    const char *file = getenv("STUB_SICK_IF"), *text = getenv("STUB_SICK");

    if (!text || !*text || (file && access(file, F_OK) != 0))
        return NULL;
    return getenv("STUB_SICK_ALL") || !strstr(made->name, "proof") ? text : NULL;
}

static bool is_sick(const struct program *made, const char *word)
{
    const char *text = sickness(made);

    return text && strcmp(text, word) == 0;
}

/* The result of a compiler that does not work; 0: it works. */
static int sick(struct program *made)
{
    const char *text = sickness(made), *log = getenv("STUB_SICK_LOG");
    const int result = text ? atoi(text) : 0;

    if (result < 0)
        raise(-result);
    while (is_sick(made, "hang"))
        continue;
    while (is_sick(made, "sleep"))
        pause();
    if (is_sick(made, "eat"))
        eat_memory();
    if (is_sick(made, "exit"))
        exit(0);
    if (is_sick(made, "print")) {
        fprintf(stderr, "printed\n");
        printf("printed\n");
        fflush(stdout);
    }
    if (result)
        snprintf(made->log, sizeof(made->log), "%s", log ? log : "nvrtc: error: sick on purpose");
    return result;
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                       const char *const *header, const char *const *include)
{
    struct program *made = calloc(1, sizeof(*made));

    (void)headers, (void)header, (void)include;
    if (!made)
        return 1;
    made->source = strdup(source);
    if (getenv("STUB_NVRTC") && made->source) { /* the image tells who made it */
        free(made->source);
        if (asprintf(&made->source, "%s\n" STUB_MADE_BY "%s\n", source, getenv("STUB_NVRTC")) < 0)
            made->source = NULL;
    }
    made->name = strdup(name ? name : "default_program");
    *program = made;
    return made->source && made->name && !is_sick(made, "create") ? 0 : 1;
}

int nvrtcCompileProgram(void *program, int options, const char *const *option)
{
    struct program *made = program;
    struct stub_faults faults;
    volatile unsigned spin = 1;
    uint64_t hash = stub_hash(made->source, strlen(made->source), 0xcbf29ce484222325u);

    (void)options, (void)option;
    take_time();
    if (sick(made))
        return sick(made);
    stub_faults_read(made->source, &faults);
    if (stub_has(&faults, "compile_error")) {
        snprintf(made->log, sizeof(made->log),
                 "%s(3): error: identifier \"planted\" is undefined\n\n1 error detected in the "
                 "compilation of \"%s\".\n",
                 made->name, made->name);
        return 6;
    }
    if (stub_has(&faults, "compile_crash"))
        raise(SIGSEGV);
    if (stub_has(&faults, "compile_memory"))
        eat_memory();
    while (stub_has(&faults, "compile_endless") && spin)
        spin |= 1;
    snprintf(
        made->log, sizeof(made->log),
        "ptxas info    : Function properties for gemm\n"
        "    0 bytes stack frame, 0 bytes spill stores, %d bytes spill loads\n"
        "ptxas info    : Used %d registers, used 1 barriers, 0 bytes smem, 600 bytes cmem[0]\n",
        spilled_bytes(made->source), 32 + (int)(hash % 96));
    return 0;
}

int nvrtcGetProgramLogSize(void *program, size_t *size)
{
    *size = strlen(((struct program *)program)->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *log)
{
    strcpy(log, ((struct program *)program)->log);
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *size)
{
    const struct program *made = program;

    *size = is_sick(made, "empty") ? 0 : strlen(STUB_MAGIC) + strlen(made->source) + 1;
    return 0;
}

int nvrtcGetCUBIN(void *program, char *image)
{
    const struct program *made = program;

    strcpy(image, STUB_MAGIC);
    strcat(image, made->source);
    if (is_sick(made, "other")) /* flags as NVRTC 13 sets them */
        memcpy(image,
               &(Elf64_Ehdr){.e_ident = {ELFMAG0, 'E', 'L', 'F', ELFCLASS64, 1, 1, 65, 8},
                             .e_machine = EM_CUDA,
                             .e_flags = 0x06004b04},
               sizeof(Elf64_Ehdr));
    return is_sick(made, "keep") ? 9 : 0;
}

int nvrtcGetPTXSize(void *program, size_t *size)
{
    return nvrtcGetCUBINSize(program, size);
}

int nvrtcGetPTX(void *program, char *image)
{
    return nvrtcGetCUBIN(program, image);
}

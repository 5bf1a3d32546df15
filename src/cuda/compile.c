/* compile.c - stage: CUDA source -> cubin or PTX by NVRTC, with ptxas' figures for registers,
 * spills and shared memory.  Between render.c and cache.c. */
#include <ctype.h>
#include <elf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cuda/compile.h"
#include "cuda/cuda_api.h"
#include "kernel/kernel.h"

struct gt_nvrtc {
    struct gt_nvrtc_api api;
    int version;
    struct gt_assembler *assembler; /* NULL: not sought yet, or there is none */
    bool sought;
    void (*tell)(void *context, bool compiles); /* may be NULL */
    void *context;
};

#define MAX_OPTIONS   (9 + GT_MAX_INCLUDE_DIRS)
#define HAS_CACHE     13000 /* first version of NVRTC known to keep results in the driver's cache */
#define OPTION_LENGTH (PATH_MAX + 32)

struct options {
    char text[MAX_OPTIONS][OPTION_LENGTH];
    int count;
};

int gt_nvrtc_open(struct gt_nvrtc **nvrtc, struct gt_err *err)
{
    struct gt_nvrtc *opened = calloc(1, sizeof(*opened));
    int major = 0, minor = 0;
    int rc;

    *nvrtc = NULL;
    if (!opened)
        return gt_err_nomem(err);
    rc = gt_nvrtc_api_load(&opened->api, err);
    if (!rc && opened->api.Version(&major, &minor))
        rc = gt_err_set(err, GT_ENOLIB, "nvrtcVersion failed: the NVRTC library is damaged");
    if (rc) {
        free(opened);
        return rc;
    }
    opened->version = major * 1000 + minor * 10;
    *nvrtc = opened;
    return GT_OK;
}

void gt_nvrtc_close(struct gt_nvrtc *nvrtc)
{
    if (nvrtc)
        gt_assembler_close(nvrtc->assembler);
    free(nvrtc);
}

void gt_nvrtc_tell(struct gt_nvrtc *nvrtc, void (*tell)(void *context, bool compiles),
                   void *context)
{
    nvrtc->tell = tell;
    nvrtc->context = context;
}

int gt_nvrtc_version(const struct gt_nvrtc *nvrtc)
{
    return nvrtc->version;
}

__attribute__((format(printf, 2, 3))) static void add_option(struct options *options,
                                                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(options->text[options->count++], OPTION_LENGTH, format, args);
    va_end(args);
}

/* Whether the arch is given with its suffix, which allows features of this arch alone (wgmma and
 * setmaxnreg on sm_90) and binds the code to it. */
static bool has_suffix(const struct gt_compile_request *request)
{
    return (request->arch == 90 || request->features) &&
           (!request->ptx || request->device_cc == request->arch);
}

/* Adds the options that decide the generated code; folders of includes do not. */
static void code_options(const struct gt_compile_request *request, struct options *options)
{
    add_option(options, "--gpu-architecture=%s_%d%s", request->ptx ? "compute" : "sm",
               request->arch, has_suffix(request) ? "a" : "");
    add_option(options, "--std=c++17");
    if (!request->ptx)
        add_option(options, "--ptxas-options=-v");
    if (request->max_registers > 0)
        add_option(options, "--maxrregcount=%d", request->max_registers);
}

void gt_compile_options(const struct gt_compile_request *request, char *text, size_t size)
{
    struct options options = {.count = 0};
    size_t length = 0;

    if (!size)
        return;
    text[0] = '\0';
    code_options(request, &options);
    for (int i = 0; i < options.count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s\n", options.text[i]);
}

/* Adds an option for each folder. */
static void add_include_dirs(struct options *options, const char *dirs)
{
    while (*dirs) {
        const size_t length = strcspn(dirs, "\n");

        add_option(options, "-I%.*s", (int)length, dirs);
        dirs += length + (dirs[length] == '\n');
    }
}

/* The number directly before `word` on the line, or -1. */
static int number_before(const char *line, const char *end, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = line; at + length <= end; at++) {
        const char *digits = at;

        if (strncmp(at, word, length) != 0)
            continue;
        while (digits > line && isdigit((unsigned char)digits[-1]))
            digits--;
        return digits < at ? (int)strtol(digits, NULL, 10) : -1;
    }
    return -1;
}

static void keep_larger(int *kept, int value)
{
    if (value > *kept)
        *kept = value;
}

/* Reads lines such as
 *     0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
 *     ptxas info : Used 130 registers, used 1 barriers, 16384 bytes smem, 400 bytes cmem[0] */
static void read_log(struct gt_binary *binary)
{
    const char *line = binary->log;

    binary->registers = binary->spill_bytes = binary->static_shared = 0;
    while (*line) {
        const char *end = strchr(line, '\n');
        int stores, loads;

        if (!end)
            end = line + strlen(line);
        keep_larger(&binary->registers, number_before(line, end, " registers"));
        keep_larger(&binary->static_shared, number_before(line, end, " bytes smem"));
        stores = number_before(line, end, " bytes spill stores");
        loads = number_before(line, end, " bytes spill loads");
        if (stores >= 0 && loads >= 0)
            keep_larger(&binary->spill_bytes, stores + loads);
        line = *end ? end + 1 : end;
    }
}

/* Fetches a log of a program or a link, malloc'ed; NULL if memory ran out. */
static char *fetch_log(int (*get_size)(void *, size_t *), int (*get)(void *, char *), void *of)
{
    size_t size = 0;
    char *log;

    if (get_size(of, &size))
        size = 0;
    log = calloc(size + 1, 1);
    if (log && size && get(of, log))
        log[0] = '\0';
    return log;
}

/* The arch of a cubin by its flags (LLVM's ELF.h: EF_CUDA_SM, EF_CUDA_SM_MASK); 0: not known. */
static int cubin_arch(const struct gt_binary *binary)
{
    Elf64_Ehdr elf;

    if (binary->size < sizeof(elf))
        return 0;
    memcpy(&elf, binary->image, sizeof(elf));
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_machine != EM_CUDA)
        return 0;
    return elf.e_ident[EI_ABIVERSION] == 7   ? elf.e_flags & 0xff
           : elf.e_ident[EI_ABIVERSION] == 8 ? elf.e_flags >> 8 & 0xff
                                             : 0;
}

static int fetch_image(const struct gt_nvrtc_api *api, void *program,
                       const struct gt_compile_request *request, struct gt_binary *binary,
                       struct gt_err *err)
{
    const bool ptx = request->ptx;
    size_t size = 0;
    int result = ptx ? api->GetPTXSize(program, &size) : api->GetCUBINSize(program, &size);

    if (result || !size)
        return gt_err_set(err, GT_ENVRTC, "NVRTC delivered no %s (result %d)",
                          ptx ? "PTX" : "cubin", result);
    binary->image = malloc(size);
    if (!binary->image)
        return gt_err_nomem(err);
    binary->size = size;
    result = ptx ? api->GetPTX(program, binary->image) : api->GetCUBIN(program, binary->image);
    if (result)
        return gt_err_set(err, GT_ENVRTC, "NVRTC did not hand out its result (result %d)", result);
    if (!ptx && cubin_arch(binary) && cubin_arch(binary) != request->arch)
        return gt_err_set(err, GT_ENVRTC, "NVRTC delivered a cubin for sm_%d in place of sm_%d",
                          cubin_arch(binary), request->arch);
    return GT_OK;
}

/* Sets a sentence with the log's first error; the whole log is returned beside it. */
static int compile_failed(const struct gt_compile_request *request, const struct gt_binary *binary,
                          int result, struct gt_err *err)
{
    const char *found = strstr(binary->log, "error");
    const char *line = found ? found : binary->log;
    size_t length;

    while (line > binary->log && line[-1] != '\n')
        line--;
    length = strcspn(line, "\n");
    if (!length)
        return gt_err_set(err, GT_ENVRTC, "%s: NVRTC failed with result %d and no log",
                          request->name, result);
    return gt_err_set(err, GT_ENVRTC, "%.*s", (int)(length < 900 ? length : 900), line);
}

/* ---- PTX -> cubin by nvJitLink ---- */

#define INPUT_PTX 2 /* nvJitLinkInputType */

struct gt_assembler {
    struct gt_jitlink_api api;
};

int gt_assembler_open(struct gt_assembler **assembler, struct gt_err *err)
{
    struct gt_assembler *opened = calloc(1, sizeof(*opened));
    int rc;

    *assembler = NULL;
    if (!opened)
        return gt_err_nomem(err);
    rc = gt_jitlink_api_load(&opened->api, err);
    if (rc)
        free(opened);
    else
        *assembler = opened;
    return rc;
}

void gt_assembler_close(struct gt_assembler *assembler)
{
    free(assembler);
}

static int refuse(const struct gt_jitlink_api *api, void *link, int result, struct gt_err *err)
{
    char *log = fetch_log(api->GetErrorLogSize, api->GetErrorLog, link);
    int rc;

    if (!log)
        return gt_err_nomem(err);
    rc = gt_err_set(err, GT_ENVRTC, "nvJitLink failed with result %d: %.*s", result,
                    (int)strcspn(log, "\n"), log);
    free(log);
    return rc;
}

static int fetch(const struct gt_jitlink_api *api, void *link, struct gt_binary *assembled,
                 struct gt_err *err)
{
    int result = api->GetLinkedCubinSize(link, &assembled->size);

    if (result)
        return refuse(api, link, result, err);
    assembled->image = malloc(assembled->size + 1);
    assembled->log = fetch_log(api->GetInfoLogSize, api->GetInfoLog, link);
    if (!assembled->image || !assembled->log)
        return gt_err_nomem(err);
    result = api->GetLinkedCubin(link, assembled->image);
    return result ? refuse(api, link, result, err) : GT_OK;
}

int gt_assemble(const struct gt_assembler *assembler, const char *ptx, int cc, bool features,
                int max_registers, struct gt_binary *assembled, struct gt_err *err)
{
    const struct gt_jitlink_api *api = &assembler->api;
    char arch[32], bound[32];
    const char *option[] = {arch, "-Xptxas=-v", bound};
    void *link = NULL;
    int result, rc;

    *assembled = (struct gt_binary){0};
    snprintf(arch, sizeof(arch), "-arch=sm_%d%s", cc, features ? "a" : "");
    snprintf(bound, sizeof(bound), "-maxrregcount=%d", max_registers);
    result = api->Create(&link, max_registers > 0 ? 3 : 2, option);
    if (result)
        return gt_err_set(err, GT_ENVRTC, "nvJitLinkCreate for sm_%d failed with result %d", cc,
                          result);
    result = api->AddData(link, INPUT_PTX, ptx, strlen(ptx) + 1, "ptx");
    GT_STEP(result, api->Complete(link));
    rc = result ? refuse(api, link, result, err) : fetch(api, link, assembled, err);
    api->Destroy(&link);
    if (rc)
        gt_binary_release(assembled);
    return rc;
}

/* ---- source -> cubin or PTX by NVRTC ---- */

/* Makes a cubin of the PTX in binary if that is possible here; else the PTX stays, which the driver
 * may be able to compile. */
static int assemble(struct gt_nvrtc *nvrtc, const struct gt_compile_request *request,
                    struct gt_binary *binary, struct gt_err *err)
{
    struct gt_binary made;
    int rc;

    if (!nvrtc->sought && gt_assembler_open(&nvrtc->assembler, NULL) == GT_ENOMEM)
        return gt_err_nomem(err);
    nvrtc->sought = true;
    if (!nvrtc->assembler)
        return GT_OK;
    rc = gt_assemble(nvrtc->assembler, binary->image, request->device_cc, has_suffix(request),
                     request->max_registers, &made, NULL);
    if (rc)
        return rc == GT_ENOMEM ? gt_err_nomem(err) : GT_OK;
    made.result = binary->result;
    gt_binary_release(binary);
    *binary = made;
    read_log(binary);
    return GT_OK;
}

int gt_compile(struct gt_nvrtc *nvrtc, const struct gt_compile_request *request,
               struct gt_binary *binary, struct gt_err *err)
{
    const struct gt_nvrtc_api *api = &nvrtc->api;
    struct options options = {.count = 0};
    const char *list[MAX_OPTIONS];
    double start = gt_clock_s();
    void *program = NULL;
    int result, rc;

    memset(binary, 0, sizeof(*binary));
    code_options(request, &options);
    if (request->include_dirs)
        add_include_dirs(&options, request->include_dirs);
    /* cache.c keeps results already.  To use the driver's cache, NVRTC would start the driver in
     * each compiler, and all compilers of a machine would wait for one lock. */
    if (nvrtc->version >= HAS_CACHE)
        add_option(&options, "--no-cache");
    for (int i = 0; i < options.count; i++)
        list[i] = options.text[i];
    if (nvrtc->tell)
        nvrtc->tell(nvrtc->context, true);
    result = api->CreateProgram(&program, request->source, request->name, 0, NULL, NULL);
    if (result && nvrtc->tell)
        nvrtc->tell(nvrtc->context, false);
    if (result)
        return gt_err_set(err, GT_ENVRTC, "%s: nvrtcCreateProgram failed with result %d",
                          request->name, result);
    result = binary->result = api->CompileProgram(program, options.count, list);
    binary->log = fetch_log(api->GetProgramLogSize, api->GetProgramLog, program);
    rc = binary->log ? GT_OK : gt_err_nomem(err);
    if (!rc && result)
        rc = compile_failed(request, binary, result, err);
    if (!rc) {
        read_log(binary);
        rc = fetch_image(api, program, request, binary, err);
    }
    if (!rc && request->ptx && !request->unassembled)
        rc = assemble(nvrtc, request, binary, err);
    api->DestroyProgram(&program);
    if (nvrtc->tell)
        nvrtc->tell(nvrtc->context, false);
    binary->ms = 1e3 * (gt_clock_s() - start);
    return rc;
}

bool gt_log_serialized(const char *log, char reason[GT_SERIALIZED_MAX])
{
    static const char words[] = "wgmma.mma_async instructions are serialized due to ";
    const char *at = strstr(log, words), *end;

    if (!at)
        return false;
    at += strlen(words);
    end = at + strcspn(at, "\n");
    for (const char *in = at; in < end; in++)
        if (!strncmp(in, " in the function", strlen(" in the function")))
            end = in;
    snprintf(reason, GT_SERIALIZED_MAX, "%.*s", (int)(end - at), at);
    return true;
}

/* ptxas names an entry first and then reports the memory that it uses. */
void gt_log_static_shared(const char *log, char text[GT_STATIC_SHARED_MAX])
{
    static const char words[] = "Function properties for ";
    const char *entry = log, *next;
    size_t length = 0;

    text[0] = '\0';
    for (entry = strstr(log, words); entry; entry = next) {
        entry += strlen(words);
        next = strstr(entry, words);
        int name = (int)strcspn(entry, " \n");
        int bytes = number_before(entry, next ? next : entry + strlen(entry), " bytes smem");
        size_t room = GT_STATIC_SHARED_MAX - length;
        int added = bytes > 0 ? snprintf(text + length, room, "%.*s %d\n", name, entry, bytes) : 0;

        if (added >= (int)room)
            text[length] = '\0';
        else
            length += (size_t)added;
    }
}

int gt_static_shared_of(const char *text, const char *entry)
{
    size_t length = strlen(entry);

    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (!strncmp(line, entry, length) && line[length] == ' ')
            return (int)strtol(line + length, NULL, 10);
    return 0;
}

void gt_binary_release(struct gt_binary *binary)
{
    free(binary->image);
    free(binary->log);
    memset(binary, 0, sizeof(*binary));
}

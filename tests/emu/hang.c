/* hang.c - test: a limit of CPU time that says where it was reached (hang.h).
 *
 * The handler asks the sanitizers' library for the line, which is not safe in every place of a
 * program.  The limit of the whole process, which gemmtune_emulate.c sets, stays behind it. */
#include "hang.h"

#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "machine_internal.h"

static int limit_s;
static char stack[1 << 20]; /* a fiber's own would be too small */

#define DEPTH 64  /* words of the stack that are looked at */
#define NEAR  256 /* bytes of code: what is inlined has the line of a header */

/* Whether `at` is code of a file that ends so, or what follows it is: its file and line. */
static bool is_code_of(const char *ending, const char *at, char *place, size_t size)
{
    for (int i = 0; i < NEAR; i++) {
        /* The cast: the library takes it for an address and reads nothing there. */
        __sanitizer_symbolize_pc((void *)(uintptr_t)(at + i), "%s:%l", place, size);
        if (strstr(place, ending) || strstr(place, "<null>"))
            break;
    }
    return strstr(place, ending);
}

/* Finds the line of the instruction, or of its nearest caller where it is one of a library (fmaf).
 * The words of a stack are read beyond what AddressSanitizer allows. */
__attribute__((no_sanitize_address)) static bool find_line(const char *ending,
                                                           const ucontext_t *context,
                                                           const struct thread *thread, char *place,
                                                           size_t size)
{
#ifdef __aarch64__
    const char *const at = (const char *)context->uc_mcontext.pc;
    const char *const caller = (const char *)context->uc_mcontext.regs[30];
    const char *const *word = (const char *const *)context->uc_mcontext.sp;
#else
    const char *const at = (const char *)context->uc_mcontext.gregs[REG_RIP];
    const char *const caller = NULL; /* it is on the stack */
    const char *const *word = (const char *const *)context->uc_mcontext.gregs[REG_RSP];
#endif
    const char *const *end = (const char *const *)thread->fiber.stack;
    bool found =
        is_code_of(ending, at, place, size) || (caller && is_code_of(ending, caller, place, size));

    end += thread->fiber.size / sizeof *end;
    for (int i = 0; i < DEPTH && !found && word + i < end; i++)
        found = is_code_of(ending, word[i], place, size);
    return found;
}

/* The template's own line says more than that of a header whose function it calls.  Where neither
 * is found the emulator is at work in a barrier: then that is the place. */
static void too_long(int signal_number, siginfo_t *info, void *context)
{
    const struct thread *thread = machine.running;
    char place[512] = "";

    (void)signal_number, (void)info;
    if (thread && !find_line(".cu:", context, thread, place, sizeof place) &&
        !find_line(".cuh:", context, thread, place, sizeof place) && thread->file)
        snprintf(place, sizeof place, "%s:%d", thread->file, thread->line);
    printf("%s: runtime error: no end after %d s of CPU time\n", place, limit_s);
    fflush(stdout);
    raise(SIGXCPU);
}

void gt_emu_limit(int seconds)
{
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = too_long, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    limit_s = seconds;
    sigaltstack(&own, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

/* fiber.c - test: the stack switch, in assembly.  ucontext would enter the operating system twice a
 * switch, and AddressSanitizer loses a stack's red zones at each swapcontext. */
#include "fiber.h"

#include <stdint.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define __asan_unpoison_memory_region(stack, size)          ((void)(stack), (void)(size))
#define __sanitizer_start_switch_fiber(save, bottom, size)  ((void)0)
#define __sanitizer_finish_switch_fiber(save, bottom, size) ((void)0)
#endif

/* Saves the callee-saved registers on the running stack and its pointer in *save, and goes on with
 * the stack `load`. */
void gt_fiber_swap(void **save, void *load);

#if defined(__x86_64__)
#define SAVED 6 /* rbp rbx r12 r13 r14 r15; the return address follows */
__asm__(".text\n"
        ".globl gt_fiber_swap\n"
        ".type gt_fiber_swap, @function\n"
        "gt_fiber_swap:\n"
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
        "ret\n"
        ".size gt_fiber_swap, .-gt_fiber_swap\n");
#elif defined(__aarch64__)
#define SAVED 20 /* x19..x30 (x30 is where it returns to), d8..d15 */
__asm__(".text\n"
        ".globl gt_fiber_swap\n"
        ".type gt_fiber_swap, %function\n"
        "gt_fiber_swap:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\n stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
        "mov x2, sp\n str x2, [x0]\n mov sp, x1\n"
        "ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\n ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\n"
        "ret\n"
        ".size gt_fiber_swap, .-gt_fiber_swap\n");
#else
#error "the emulator's stack switch is written for x86-64 and AArch64"
#endif

void gt_fiber_init(struct gt_fiber *fiber, void *stack, size_t size, void (*start)(void))
{
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)top;
#if defined(__x86_64__)
    *--frame = 0;                /* where start would return to */
    *--frame = (uintptr_t)start; /* leaves the stack 8 off 16, as after a call */
    for (int i = 0; i < SAVED; i++)
        *--frame = 0;
#else
    for (int i = 0; i < SAVED; i++)
        *--frame = 0;
    frame[11] = (uintptr_t)start;
#endif
    *fiber = (struct gt_fiber){.sp = frame, .stack = stack, .size = size};
}

void gt_fiber_entered(struct gt_fiber *from)
{
    const void *bottom = from->stack;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &from->size);
    from->stack = (void *)(uintptr_t)bottom;
}

void gt_fiber_switch(struct gt_fiber *from, struct gt_fiber *to)
{
    __sanitizer_start_switch_fiber(&from->asan, to->stack, to->size);
    gt_fiber_swap(&from->sp, to->sp);
    __sanitizer_finish_switch_fiber(from->asan, NULL, NULL);
}

void gt_fiber_leave(struct gt_fiber *from, struct gt_fiber *to)
{
    __sanitizer_start_switch_fiber(NULL, to->stack, to->size);
    gt_fiber_swap(&from->sp, to->sp);
}

void gt_fiber_clean(void *stack, size_t size)
{
    __asan_unpoison_memory_region(stack, size);
}

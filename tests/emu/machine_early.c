/* machine_early.c - test: launches that begin while the one in front of them still runs
 * (programmatic dependent launch, gt_pdl_wait of templates/common/hopper.cuh).
 *
 * What the launch in front may still read or write is hidden at the beginning of each cluster:
 * AddressSanitizer sees each access of the kernel to it, and TMA is asked here.  It appears when a
 * thread waits and no other thread can go on without that, so that a thread which forgets to wait
 * is caught even if others do not. */
#include <sanitizer/asan_interface.h>
#include <stddef.h>

#include "machine_internal.h"

void gt_emu_pdl_wait(const char *file, int line);

void gt_early_begin(void)
{
    const struct gt_emu_launch *launch = machine.launch;

    machine.waited = false;
    machine.hides = launch->hidden_count > 0;
    for (size_t i = 0; i < launch->hidden_count; i++)
        ASAN_POISON_MEMORY_REGION(launch->hidden[i].at, launch->hidden[i].bytes);
}

void gt_early_reveal(void)
{
    const struct gt_emu_launch *launch = machine.launch;

    machine.hides = false;
    for (size_t i = 0; i < launch->hidden_count; i++)
        ASAN_UNPOISON_MEMORY_REGION(launch->hidden[i].at, launch->hidden[i].bytes);
}

bool gt_early_progress(void)
{
    bool opened = false;

    for (unsigned i = 0; i < machine.blocks * machine.threads; i++)
        if (machine.thread[i].wait == AT_EARLIER_LAUNCH) {
            machine.thread[i].wait = RUNNABLE;
            opened = true;
        }
    if (opened)
        gt_early_reveal();
    machine.waited |= opened;
    return opened;
}

int gt_early_end(void)
{
    if (machine.launch->must_wait && !machine.waited)
        return gt_err_set(machine.err, GT_ECUDA,
                          "a block ends without gt_pdl_wait: the launch after this one would not "
                          "wait for the launch in front of it");
    return GT_OK;
}

void gt_early_check(const void *memory, const char *file, int line)
{
    const struct gt_emu_launch *launch = machine.launch;
    const char *at = memory;

    for (size_t i = 0; machine.hides && i < launch->hidden_count; i++) {
        const char *from = launch->hidden[i].at;

        if (at >= from && at < from + launch->hidden[i].bytes)
            ABANDON("%s:%d: a box is moved before gt_pdl_wait, while the launch in front of this "
                    "one may use its memory",
                    file, line);
    }
}

void gt_emu_pdl_wait(const char *file, int line)
{
    if (machine.hides)
        gt_machine_wait_at(AT_EARLIER_LAUNCH, file, line);
}

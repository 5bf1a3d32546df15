/* hang.h - test: ends a run of the emulator that does not end by itself. */
#ifndef GT_EMU_HANG_H
#define GT_EMU_HANG_H

/* Gives the process `seconds` of CPU time from now on; a later call begins anew.  When they are
 * over, it prints in UndefinedBehaviorSanitizer's form where in the template the threads are, and
 * ends by SIGXCPU. */
void gt_emu_limit(int seconds);

#endif

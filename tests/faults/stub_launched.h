/* stub_launched.h - the stub driver's record of launches that have a workspace, for programs of
 * tests (stub_launch.c writes it). */
#ifndef STUB_LAUNCHED_H
#define STUB_LAUNCHED_H

#define STUB_LAUNCHED 8192 /* later ones are not recorded */

extern struct stub_launched {
    const void *workspace, *d;
} stub_launched[STUB_LAUNCHED];
extern int stub_launched_count;

#endif

/* report.h - stage: the table of the products that a process asked for, with what became of each,
 * and the files that are written from the table: a report for people (GEMMTUNE_REPORT), and a set
 * of problems to tune (GEMMTUNE_CAPTURE). */
#ifndef GT_REPORT_H
#define GT_REPORT_H

#include <stdatomic.h>

#include "serve/call.h"

struct gt_session;

/* The table of all problems that a program has asked cuBLAS for: the decision on each problem, and
 * how often the program asked for it.
 *
 * Any number of threads may search the table at once, and none takes a lock: a slot changes once,
 * from NULL to an entry, and the key of an entry never changes.  Memory for all entries is reserved
 * at the beginning (pages that are not used cost nothing), so that adding an entry allocates
 * nothing.  Entries are numbered in the order in which they were added, which is the order in which
 * they are decided. */

#define GT_BOOK_ENTRIES 16384 /* problems of a process; further problems are left to cuBLAS */

enum gt_entry_state {
    GT_ENTRY_BLANK,     /* the entry's key is being written */
    GT_ENTRY_LOST,      /* not used: another thread added the same key first */
    GT_ENTRY_UNDECIDED, /* the background thread has yet to decide */
    GT_ENTRY_PASS,      /* left to cuBLAS, for `reason` */
    GT_ENTRY_SERVE,     /* served by `plan` */
};

struct gt_entry {
    struct gt_call_key key;
    _Atomic int state;
    _Atomic int reason;         /* enum gt_reason, in state PASS */
    const struct gt_plan *plan; /* written before state is SERVE, as are the six members below */
    struct gt_checker *checker; /* NULL: nothing is to be checked, or checking is impossible */
    size_t workspace_bytes;
    bool vendor;               /* the plan runs an algorithm of cuBLASLt */
    bool in_f32;               /* the plan computes in FP32 where TF32 is allowed */
    struct gt_problem problem; /* written before the state is PASS or SERVE; m = 0: there is no
                                  problem */
    enum gt_reason doubt;      /* why only serve=any serves the problem; GT_SERVED: no doubt */
    double ratio;              /* ratio of cuBLASLt's time to the winner's; 0: not known */
    _Atomic uint64_t count[GT_REASON_COUNT]; /* calls, by what became of them */
};

struct gt_book {
    _Atomic(struct gt_entry *) *slot;
    struct gt_entry *entry;
    _Atomic uint32_t used; /* number of added entries, the last of which may not be whole yet */
};

/* Reserves the memory; false: there is not enough. */
bool gt_book_begin(struct gt_book *book);

/* The entry of the key.  If there is none, it is added and *fresh is set.  NULL: the table is
 * full. */
struct gt_entry *gt_book_find(struct gt_book *book, const struct gt_call_key *key, bool *fresh);

/* From now on the problem is served by its plan (GT_SERVED) or left to cuBLAS. */
void gt_book_decide(struct gt_entry *entry, enum gt_reason reason);

/* The number of entries that were added so far.  The state of the last entries may still be
 * BLANK. */
uint32_t gt_book_entries(const struct gt_book *book);

/* Writes the files that the policy names.  Each file is written under another name first and then
 * renamed, so that no reader sees half of a file.  If writing fails, one sentence on standard error
 * says so, and the program goes on. */
void gt_report_write(struct gt_session *session);

/* Prints one sentence on standard error, behind "gemmtune: "; only the first sentence of each kind
 * is printed. */
enum gt_said {
    GT_SAID_POLICY,
    GT_SAID_OPEN,
    GT_SAID_PLAN,
    GT_SAID_REFUSED,
    GT_SAID_ON_HOST,
    GT_SAID_DIFFERED,
    GT_SAID_WRITE,
    GT_SAID_COUNT
};
__attribute__((format(printf, 3, 4))) void gt_say_once(struct gt_session *session,
                                                       enum gt_said kind, const char *format, ...);

#endif

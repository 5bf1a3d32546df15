/* report.h - stage: which products a process asked for and what became of them: the table of them,
 * and what is written of it: a report for people (GEMMTUNE_REPORT), and a set of problems to tune
 * (GEMMTUNE_CAPTURE). */
#ifndef GT_REPORT_H
#define GT_REPORT_H

#include <stdatomic.h>

#include "serve/call.h"

struct gt_session;

/* The table of all problems that a program has asked cuBLAS for: what was decided on each of them,
 * and how often it was asked for.
 *
 * Any number of threads may search the table at once, and none takes a lock: a slot changes once,
 * from NULL to an entry, and the key of an entry never changes.  Memory for all entries is reserved
 * at the beginning (pages that are not used cost nothing), so that adding an entry allocates
 * nothing.  Entries are numbered in the order in which they were added, which is the order in which
 * they are decided. */

#define GT_BOOK_ENTRIES 16384 /* problems of a process; further ones are left to cuBLAS */

enum gt_entry_state {
    GT_ENTRY_BLANK,     /* its key is being written */
    GT_ENTRY_LOST,      /* not used: another thread added the same key first */
    GT_ENTRY_UNDECIDED, /* the background thread has yet to decide */
    GT_ENTRY_PASS,      /* left to cuBLAS, for `reason` */
    GT_ENTRY_SERVE,     /* served by `plan` */
};

struct gt_entry {
    struct gt_call_key key;
    _Atomic int state;
    _Atomic int reason;         /* enum gt_reason, in state PASS */
    const struct gt_plan *plan; /* written before state is SERVE; so are the six below */
    struct gt_checker *checker; /* NULL: nothing is to be checked, or it cannot be */
    size_t workspace_bytes;
    bool vendor;               /* the plan runs an algorithm of cuBLASLt */
    bool in_f32;               /* the plan computes in FP32 where TF32 is allowed */
    struct gt_problem problem; /* written before the state is PASS or SERVE; m = 0: there is none */
    enum gt_reason doubt;      /* for which only serve=any serves it; GT_SERVED: none */
    double ratio;              /* of cuBLASLt's time to the winner's; 0: not known */
    _Atomic uint64_t count[GT_REASON_COUNT]; /* calls, by what became of them */
};

struct gt_book {
    _Atomic(struct gt_entry *) *slot;
    struct gt_entry *entry;
    _Atomic uint32_t used; /* entries that were added, the last ones perhaps not yet whole */
};

/* Reserves the memory; false: there is none. */
bool gt_book_begin(struct gt_book *book);

/* The entry of the key, which is added if there is none (*fresh is set then); NULL: the table is
 * full. */
struct gt_entry *gt_book_find(struct gt_book *book, const struct gt_call_key *key, bool *fresh);

/* The problem is served by its plan from now on (GT_SERVED) or left to cuBLAS. */
void gt_book_decide(struct gt_entry *entry, enum gt_reason reason);

/* The number of entries that were added so far; the state of the last ones may still be BLANK. */
uint32_t gt_book_entries(const struct gt_book *book);

/* Writes the files that the policy names.  Each is written under another name first and then
 * renamed, so that no reader sees half of it.  Where that fails, one sentence on standard error
 * says so, and the program goes on. */
void gt_report_write(struct gt_session *session);

/* One sentence on standard error, "gemmtune: " before it; the first of each kind only. */
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

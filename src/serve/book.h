/* book.h - stage: the problems that a program has asked for, with what was decided on each and how
 * often it came.
 *
 * Any number of threads ask at once and take no lock: a slot goes from NULL to an entry once, and
 * an entry's key never changes.  Memory for all entries is set aside at the beginning (pages that
 * are not used cost nothing), so that a first sight allocates nothing.  Entries are numbered in the
 * order in which they came, which is the order in which they are decided. */
#ifndef GT_BOOK_H
#define GT_BOOK_H

#include <stdatomic.h>

#include "serve/call.h"

#define GT_BOOK_ENTRIES 16384 /* problems of a process; later ones are left to cuBLAS */

enum gt_entry_state {
    GT_ENTRY_BLANK,     /* its key is being written */
    GT_ENTRY_LOST,      /* another thread was first with the same key */
    GT_ENTRY_UNDECIDED, /* to be decided */
    GT_ENTRY_PASS,      /* left to cuBLAS */
    GT_ENTRY_SERVE,     /* plan is set */
};

struct gt_entry {
    struct gt_call_key key;
    _Atomic int state;
    _Atomic int reason;         /* enum gt_reason, in state PASS */
    const struct gt_plan *plan; /* written before state is SERVE; so are the two below */
    size_t workspace_bytes;
    struct gt_problem problem; /* written before the state is PASS or SERVE; m = 0: there is none */
    double ratio;              /* of cuBLASLt's time to the winner's; 0: not known */
    _Atomic uint64_t count[GT_REASON_COUNT]; /* calls, by what became of them */
};

struct gt_book {
    _Atomic(struct gt_entry *) *slot;
    struct gt_entry *entry;
    _Atomic uint32_t used; /* entries begun */
};

/* false: no memory. */
bool gt_book_begin(struct gt_book *book);

/* The entry of the key, made if there is none (*fresh is set then); NULL: the book is full. */
struct gt_entry *gt_book_find(struct gt_book *book, const struct gt_call_key *key, bool *fresh);

/* Entries begun so far; entry[i].state may still be BLANK. */
uint32_t gt_book_entries(const struct gt_book *book);

#endif

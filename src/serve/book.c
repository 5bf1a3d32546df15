/* book.c - a table of open addressing without locks; see book.h. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "serve/book.h"

#include <stdlib.h>
#include <string.h>

#define BOOK_SLOTS (2u * GT_BOOK_ENTRIES) /* a power of two */

bool gt_book_begin(struct gt_book *book)
{
    book->slot = calloc(BOOK_SLOTS, sizeof(*book->slot));
    book->entry = calloc(GT_BOOK_ENTRIES, sizeof(*book->entry));
    if (book->slot && book->entry)
        return true;
    free(book->slot);
    free(book->entry);
    return false;
}

/* Begins an entry that no other thread sees yet; NULL if all entries are taken. */
static struct gt_entry *begin_entry(struct gt_book *book, const struct gt_call_key *key)
{
    uint32_t number = atomic_load_explicit(&book->used, memory_order_relaxed);

    do
        if (number >= GT_BOOK_ENTRIES)
            return NULL;
    while (!atomic_compare_exchange_weak_explicit(&book->used, &number, number + 1,
                                                  memory_order_relaxed, memory_order_relaxed));
    book->entry[number].key = *key;
    return &book->entry[number];
}

struct gt_entry *gt_book_find(struct gt_book *book, const struct gt_call_key *key, bool *fresh)
{
    struct gt_entry *mine = NULL;

    *fresh = false;
    for (size_t i = XXH3_64bits(key, sizeof(*key)) & (BOOK_SLOTS - 1);;
         i = (i + 1) & (BOOK_SLOTS - 1)) {
        struct gt_entry *there = atomic_load_explicit(&book->slot[i], memory_order_acquire);

        if (!there && !mine) {
            mine = begin_entry(book, key);
            if (!mine)
                return NULL;
        }
        if (!there &&
            atomic_compare_exchange_strong_explicit(&book->slot[i], &there, mine,
                                                    memory_order_acq_rel, memory_order_acquire)) {
            atomic_store_explicit(&mine->state, GT_ENTRY_UNDECIDED, memory_order_release);
            *fresh = true;
            return mine;
        }
        if (gt_call_same(&there->key, key)) {
            if (mine)
                atomic_store_explicit(&mine->state, GT_ENTRY_LOST, memory_order_release);
            return there;
        }
    }
}

uint32_t gt_book_entries(const struct gt_book *book)
{
    return atomic_load_explicit(&((struct gt_book *)book)->used, memory_order_relaxed);
}

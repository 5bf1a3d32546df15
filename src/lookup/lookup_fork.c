/* lookup_fork.c - fork() beside look-ups: holds the locks of all open tables over the fork.
 *
 * A child has only the thread that forked.  If another thread held a lock or was counted as a
 * reader at that moment, the child would wait for it for ever.  Part of the look-up: see
 * lookup_impl.h. */
#include "lookup/lookup_impl.h"

/* All open tables: fork() concerns the whole process, and its handlers have no argument. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    struct gt *first;
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_ONCE_INIT, NULL};

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
    for (struct gt *gt = all.first; gt; gt = gt->next)
        pthread_mutex_lock(&gt->answers.lock);
}

static void after_fork(void)
{
    for (struct gt *gt = all.first; gt; gt = gt->next)
        pthread_mutex_unlock(&gt->answers.lock);
    pthread_mutex_unlock(&all.lock);
}

static void after_fork_in_child(void)
{
    for (struct gt *gt = all.first; gt; gt = gt->next)
        gt_answers_forget_readers(&gt->answers);
    after_fork();
}

static void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void gt_lookup_guard_fork(struct gt *gt)
{
    pthread_once(&all.once, register_handlers);
    pthread_mutex_lock(&all.lock);
    gt->next = all.first;
    all.first = gt;
    pthread_mutex_unlock(&all.lock);
}

void gt_lookup_unguard_fork(struct gt *gt)
{
    pthread_mutex_lock(&all.lock);
    for (struct gt **at = &all.first; *at; at = &(*at)->next)
        if (*at == gt) {
            *at = gt->next;
            break;
        }
    pthread_mutex_unlock(&all.lock);
}

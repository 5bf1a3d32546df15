/* report.c - keeps the table of problems, and writes the report and the captured problems; see
 * report.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/err.h"
#include "base/quiet.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "serve/report.h"
#include "serve/session.h"

/* ---- the table: open addressing without locks ---- */

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

void gt_book_decide(struct gt_entry *entry, enum gt_reason reason)
{
    atomic_store(&entry->reason, (int)reason);
    atomic_store_explicit(&entry->state, reason ? GT_ENTRY_PASS : GT_ENTRY_SERVE,
                          memory_order_release);
}

/* ---- sentences ---- */

static bool mute; /* the process began without standard error: descriptor 2 is another file */

__attribute__((constructor)) static void note_error_stream(void)
{
    mute = fcntl(STDERR_FILENO, F_GETFD) < 0;
}

void gt_say_once(struct gt_session *session, enum gt_said kind, const char *format, ...)
{
    char line[1300] = "gemmtune: ";
    const size_t begin = strlen(line);
    size_t length;
    va_list args;

    if (mute || atomic_exchange(&session->said[kind], true))
        return;
    va_start(args, format);
    vsnprintf(line + begin, sizeof(line) - begin - 1, format, args);
    va_end(args);
    length = strlen(line);
    line[length++] = '\n';
    gt_write_quietly(STDERR_FILENO, line, length);
}

/* ---- the texts ---- */

/* A problem in the report. */
struct line {
    const struct gt_entry *entry;
    uint64_t calls, served;
    double us; /* estimated time of all calls of the problem */
};

/* Estimates the time of a call, for weights and shares: the larger of arithmetic at about four
 * fifths of an H100's rate and traffic at 3 TB/s, plus two microseconds.  Nothing is timed in the
 * program. */
static double estimate_us(const struct gt_problem *problem)
{
    double rate = 600e6; /* flop a microsecond */
    double compute, move;

    if (problem->type == GT_F32)
        rate = 40e6;
    else if (problem->type == GT_TF32)
        rate = 300e6;
    else if (gt_dtype_size(problem->type) == 1)
        rate = 1200e6;
    compute = gt_problem_flops(problem) / rate;
    move = gt_problem_traffic(problem) / 3e6;
    return 2 + (compute > move ? compute : move);
}

static int by_time(const void *x, const void *y)
{
    const struct line *a = x, *b = y;

    if (a->us != b->us)
        return a->us < b->us ? 1 : -1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* Lists the decided entries, those with the most estimated time first; the caller frees the list.
 * NULL: there are none, or memory ran out. */
static struct line *list(struct gt_session *session, size_t *count, double *us)
{
    const uint32_t entries = gt_book_entries(&session->book);
    struct line *lines = calloc(entries + 1, sizeof(*lines));

    *count = 0;
    *us = 0;
    for (uint32_t i = 0; lines && i < entries; i++) {
        struct gt_entry *entry = &session->book.entry[i];
        struct line *line = &lines[*count];

        if (atomic_load_explicit(&entry->state, memory_order_acquire) < GT_ENTRY_PASS)
            continue;
        *line = (struct line){.entry = entry};
        for (int reason = 0; reason < GT_REASON_COUNT; reason++)
            line->calls += atomic_load_explicit(&entry->count[reason], memory_order_relaxed);
        line->served = atomic_load_explicit(&entry->count[GT_SERVED], memory_order_relaxed);
        if (entry->problem.m)
            line->us = (double)line->calls * estimate_us(&entry->problem);
        *us += line->us;
        ++*count;
    }
    if (lines)
        qsort(lines, *count, sizeof(*lines), by_time);
    return lines;
}

/* The reason for which most of the problem's calls were left to cuBLAS. */
static enum gt_reason main_reason(const struct gt_entry *entry)
{
    int most = GT_SERVED;
    uint64_t count = 0;

    for (int reason = GT_SERVED + 1; reason < GT_REASON_COUNT; reason++) {
        uint64_t calls = atomic_load_explicit(&entry->count[reason], memory_order_relaxed);

        if (calls > count) {
            count = calls;
            most = reason;
        }
    }
    return (enum gt_reason)most;
}

/* Adds a problem that gemmtune has no text for. */
static void add_foreign(struct gt_strbuf *text, const struct gt_call_key *key)
{
    gt_strbuf_addf(text,
                   "%" PRId64 " x %" PRId64 " x %" PRId64 " as cuBLAS has it, types %d %d %d, "
                   "compute type %d",
                   key->size[0], key->size[1], key->size[2], key->kind[2], key->kind[3],
                   key->kind[4], key->kind[5]);
}

static void add_line(struct gt_strbuf *text, const struct line *line, double us)
{
    const struct gt_entry *entry = line->entry;
    const enum gt_reason reason = main_reason(entry);
    char problem[GT_PROBLEM_TEXT_MAX];

    gt_strbuf_addf(text, "%5.1f%% %9" PRIu64 " %9" PRIu64 " ", us > 0 ? 100 * line->us / us : 0,
                   line->calls, line->served);
    if (entry->ratio > 0)
        gt_strbuf_addf(text, "%6.3f  ", entry->ratio);
    else
        gt_strbuf_add(text, "     -  ");
    if (entry->problem.m) {
        gt_problem_format(&entry->problem, problem);
        gt_strbuf_add(text, problem);
    } else {
        add_foreign(text, &entry->key);
    }
    if (reason)
        gt_strbuf_addf(text, "; %s", gt_reason_text(reason));
    if (line->served && entry->in_f32)
        gt_strbuf_add(text, "; computed in FP32");
    if (line->served && entry->doubt)
        gt_strbuf_addf(text, "; served by serve=any alone: %s", gt_reason_text(entry->doubt));
    gt_strbuf_add_char(text, '\n');
}

/* Adds how many calls were served although it is not known that the winner is faster than
 * cuBLAS. */
static void add_doubts(struct gt_strbuf *text, const struct line *lines, size_t count)
{
    uint64_t doubtful[GT_REASON_COUNT] = {0};

    for (size_t i = 0; lines && i < count; i++)
        doubtful[lines[i].entry->doubt] += lines[i].served;
    for (int doubt = GT_SERVED + 1; doubt < GT_REASON_COUNT; doubt++)
        if (doubtful[doubt])
            gt_strbuf_addf(
                text, "%9" PRIu64 " served by serve=any alone, perhaps slower than cuBLAS: %s\n",
                doubtful[doubt], gt_reason_text((enum gt_reason)doubt));
}

/* Adds the results of the calls that were to be checked. */
static void add_compared(struct gt_strbuf *text, const struct gt_session *session)
{
    static const char *const texts[] = {
#define COMPARED_TEXT(name, text) text,
        GT_COMPARED_MAP(COMPARED_TEXT)
#undef COMPARED_TEXT
    };

    for (int i = 0; i < GT_COMPARED_COUNT; i++) {
        const uint64_t calls = atomic_load_explicit(&session->compared[i], memory_order_relaxed);

        if (calls)
            gt_strbuf_addf(text, "%9" PRIu64 " %s\n", calls, texts[i]);
    }
}

/* Sets the name of the running program. */
static void program_name(char name[64])
{
    int file = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, name, 63);

    if (file >= 0)
        close(file);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (size_t i = 0; name[i]; i++)
        if (gt_is_control(name, i))
            name[i] = '?';
}

static void add_report(struct gt_strbuf *text, struct gt_session *session)
{
    const locale_t before = gt_locale_enter();
    uint64_t total[GT_REASON_COUNT] = {0}, calls = 0;
    size_t count;
    double us;
    struct line *lines = list(session, &count, &us);
    char name[64];

    for (int reason = 0; reason < GT_REASON_COUNT; reason++) {
        total[reason] = atomic_load_explicit(&session->count[reason], memory_order_relaxed);
        for (uint32_t i = 0; i < gt_book_entries(&session->book); i++)
            total[reason] +=
                atomic_load_explicit(&session->book.entry[i].count[reason], memory_order_relaxed);
        calls += total[reason];
    }
    program_name(name);
    gt_strbuf_addf(text,
                   "process %ld (%s): %" PRIu64 " products, %" PRIu64 " served, %" PRIu64
                   " left to cuBLAS\n",
                   (long)getpid(), name, calls, total[GT_SERVED], calls - total[GT_SERVED]);
    for (int reason = GT_SERVED + 1; reason < GT_REASON_COUNT; reason++)
        if (total[reason])
            gt_strbuf_addf(text, "%9" PRIu64 " left: %s\n", total[reason],
                           gt_reason_text((enum gt_reason)reason));
    add_doubts(text, lines, count);
    add_compared(text, session);
    if (lines && count)
        gt_strbuf_add(text, "  time     calls    served  ratio  problem\n");
    for (size_t i = 0; lines && i < count; i++)
        add_line(text, &lines[i], us);
    free(lines);
    gt_locale_leave(before);
}

static void add_capture(struct gt_strbuf *text, struct gt_session *session)
{
    const locale_t before = gt_locale_enter();
    size_t count;
    double us;
    struct line *lines = list(session, &count, &us);

    for (size_t i = 0; lines && i < count; i++) {
        char problem[GT_PROBLEM_TEXT_MAX];

        if (!lines[i].entry->problem.m)
            continue;
        gt_problem_format(&lines[i].entry->problem, problem);
        gt_strbuf_addf(text, "%s count=%" PRIu64 " weight=%.6g\n", problem, lines[i].calls,
                       lines[i].us);
    }
    free(lines);
    gt_locale_leave(before);
}

/* ---- files ---- */

/* Replaces the last %p in the path by the process's number.  Only the last %p, because tune appends
 * %p to the name of a folder, which may contain %p itself. */
static void expand(char to[GT_POLICY_TEXT + 64], const char *path)
{
    const char *mark = NULL;

    for (const char *at = path; (at = strstr(at, "%p")); at++)
        mark = at;
    if (mark)
        snprintf(to, GT_POLICY_TEXT + 64, "%.*s%ld%s", (int)(mark - path), path, (long)getpid(),
                 mark + 2);
    else
        snprintf(to, GT_POLICY_TEXT + 64, "%s", path);
}

/* Writes to an open file and closes it; file < 0: opening it failed. */
static bool write_all(int file, const char *text, size_t length)
{
    bool good = gt_write_quietly(file, text, length);
    int saved = errno;

    if (file >= 0 && close(file) != 0 && good) {
        saved = errno;
        good = false;
    }
    errno = saved;
    return good;
}

/* Creates a new file that nobody can have planted; removes a file that a killed process of the same
 * number has left. */
static int open_new(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int file = open(path, flags, 0644);

    if (file < 0 && errno == EEXIST && unlink(path) == 0)
        file = open(path, flags, 0644);
    return file;
}

/* Writes to a device, a pipe or the file that is standard output. */
static bool write_special(const char *path, const struct gt_strbuf *text)
{
    const int file = gt_open_special(path, O_NONBLOCK);

    return write_all(file, text->text, text->length);
}

/* Writes to a new file beside the path and renames it, but not over a database.  A device or a pipe
 * with a reader (/dev/stderr) is written to directly, because it must not be replaced. */
static bool replace(const char *path, const struct gt_strbuf *text)
{
    char *beside = NULL;
    bool good;
    int saved;

    if (gt_is_special(path))
        return write_special(path, text);
    if (gt_is_database(path)) {
        errno = EEXIST;
        return false;
    }
    if (asprintf(&beside, "%s.%ld.new", path, (long)getpid()) < 0) {
        errno = ENOMEM;
        return false;
    }
    good = write_all(open_new(beside), text->text, text->length) && rename(beside, path) == 0;
    saved = errno;
    if (!good)
        unlink(beside);
    free(beside);
    errno = saved;
    return good;
}

static void write_text(struct gt_session *session, const char *what, const char *pattern,
                       const struct gt_strbuf *text)
{
    char name[GT_POLICY_TEXT + 64], *path;
    struct gt_err err;

    if (gt_strbuf_check(text, &err)) {
        gt_say_once(session, GT_SAID_WRITE, "the %s is not written: %.200s", what, err.msg);
        return;
    }
    expand(name, pattern);
    path = gt_policy_path(&session->policy, name);
    if (!path || !replace(path, text))
        gt_say_once(session, GT_SAID_WRITE, "%.900s: the %s is not written: %s", name, what,
                    strerror(errno));
    free(path);
}

void gt_report_write(struct gt_session *session)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    if (*session->policy.report) {
        add_report(&text, session);
        write_text(session, "report", session->policy.report, &text);
        gt_strbuf_reset(&text);
    }
    if (*session->policy.capture) {
        add_capture(&text, session);
        write_text(session, "file of captured problems", session->policy.capture, &text);
    }
    gt_strbuf_release(&text);
}

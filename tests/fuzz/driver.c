/* driver.c - runs a fuzz target without libFuzzer: over its corpus, then over mutations of it.
 *
 *     build/tests/fuzz/fuzz_expr            corpus, and mutations of it for FUZZ_SECONDS (0.5)
 *     build/tests/fuzz/fuzz_expr FILE...    these inputs only
 *
 * FUZZ_SEED (1) draws the mutations.
 *
 * `make check` runs it, also under the sanitizers; an input that ends the program is printed.  With
 * clang, -fsanitize=fuzzer links the same targets to libFuzzer instead of this file. */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/stats.h"
#include "base/strbuf.h"

#define INPUT_MAX  8192
#define MAX_CORPUS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Provided by the sanitizers' run-time, if there is one. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input corpus[MAX_CORPUS];
static size_t corpus_count;
static uint8_t current[INPUT_MAX]; /* what the target is looking at */
static size_t current_size;

/* Says which input ended the program; runs in a signal handler, so write(2) only. */
static void print_current(void)
{
    static const char digits[] = "0123456789abcdef";
    static char text[4 * INPUT_MAX + 64];
    size_t used = 0;

    for (size_t i = 0; i < current_size; i++) {
        uint8_t c = current[i];

        if (c >= ' ' && c < 127 && c != '\\') {
            text[used++] = (char)c;
        } else {
            text[used++] = '\\';
            text[used++] = 'x';
            text[used++] = digits[c >> 4];
            text[used++] = digits[c & 15];
        }
    }
    text[used++] = '\n';
    if (write(STDERR_FILENO, "input: ", 7) < 0 || write(STDERR_FILENO, text, used) < 0)
        _exit(1);
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    print_current();
    raise(number);
}

static void run_one(const uint8_t *bytes, size_t size)
{
    /* A copy of exactly this size, so that reading past its end is seen. */
    uint8_t *exact = malloc(size ? size : 1);

    if (!exact)
        exit(1);
    current_size = size < INPUT_MAX ? size : INPUT_MAX;
    memcpy(current, bytes, current_size);
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void add_file(const char *path)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    if (corpus_count == MAX_CORPUS || gt_strbuf_add_file(&text, path, NULL)) {
        fprintf(stderr, "%s: cannot be read, or more than %d inputs\n", path, MAX_CORPUS);
        exit(1);
    }
    corpus[corpus_count].size = text.length;
    corpus[corpus_count++].bytes = (uint8_t *)gt_strbuf_detach(&text);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_folder(const char *name)
{
    char path[512];
    struct dirent **entry;
    int count;

    snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", name);
    count = scandir(path, &entry, visible, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "tests/fuzz/corpus/%s/%.200s", name, entry[i]->d_name);
        add_file(path);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
}

/* Replaces input[at .. at+drop) by add[0..extra); keeps within INPUT_MAX. */
static size_t splice(uint8_t *input, size_t size, size_t at, size_t drop, const uint8_t *add,
                     size_t extra)
{
    if (size - drop + extra > INPUT_MAX)
        return size;
    memmove(input + at + extra, input + at + drop, size - at - drop);
    memcpy(input + at, add, extra);
    return size - drop + extra;
}

/* A piece of a random member of the corpus: tokens of the input's language. */
static size_t random_piece(struct gt_random *random, uint8_t piece[64])
{
    const struct input *from = &corpus[gt_random_below(random, corpus_count)];
    size_t at, length;

    if (!from->size)
        return 0;
    at = gt_random_below(random, from->size);
    length = 1 + gt_random_below(random, gt_random_below(random, 4) ? 8 : 64);
    if (length > from->size - at)
        length = from->size - at;
    memcpy(piece, from->bytes + at, length);
    return length;
}

static size_t mutate(struct gt_random *random, uint8_t *input, size_t size)
{
    static const char *const words[] = {
        "0", "-1", "9223372036854775807", "4294967296", "1e999", "%", "(", "\"", "\\", "[["};
    uint8_t piece[64];
    size_t at = gt_random_below(random, size + 1), left = size - at, length;

    switch (gt_random_below(random, 6)) {
    case 0: /* a bit */
        if (left)
            input[at] ^= (uint8_t)(1u << gt_random_below(random, 8));
        return size;
    case 1: /* a byte */
        if (left)
            input[at] = (uint8_t)gt_random_next(random);
        return size;
    case 2: /* remove some */
        length = left ? 1 + gt_random_below(random, left < 32 ? left : 32) : 0;
        return splice(input, size, at, length, piece, 0);
    case 3: /* a word that often breaks things */
        length = gt_random_below(random, sizeof(words) / sizeof(*words));
        return splice(input, size, at, 0, (const uint8_t *)words[length], strlen(words[length]));
    case 4: /* insert a piece */
        length = random_piece(random, piece);
        return splice(input, size, at, 0, piece, length);
    default: /* overwrite by a piece */
        length = random_piece(random, piece);
        return splice(input, size, at, length < left ? length : left, piece, length);
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long run_mutations(double seconds, uint64_t seed)
{
    static uint8_t input[INPUT_MAX];
    struct gt_random random = {seed};
    double end = now() + seconds;
    long count = 0;

    while (now() < end) {
        const struct input *from = &corpus[gt_random_below(&random, corpus_count)];
        size_t size = from->size < INPUT_MAX ? from->size : INPUT_MAX;

        memcpy(input, from->bytes, size);
        for (uint64_t i = gt_random_below(&random, 6) + 1; i; i--)
            size = mutate(&random, input, size);
        run_one(input, size);
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    const char *seconds = getenv("FUZZ_SECONDS"), *seed = getenv("FUZZ_SEED");
    static uint8_t nothing[1];
    long count;

    name = name ? name + 1 : argv[0];
    name = strncmp(name, "fuzz_", 5) ? name : name + 5;
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(print_current);
    for (int i = 1; i < argc; i++)
        add_file(argv[i]);
    if (argc == 1)
        add_folder(name);
    for (size_t i = 0; i < corpus_count; i++)
        run_one(corpus[i].bytes, corpus[i].size);
    if (argc > 1)
        return 0;
    if (!corpus_count)
        corpus[corpus_count++] = (struct input){nothing, 0};
    count =
        run_mutations(seconds ? strtod(seconds, NULL) : 0.5, seed ? strtoull(seed, NULL, 10) : 1);
    printf("1..1\nok 1 - %s: %zu inputs of the corpus, %ld mutations\n", name, corpus_count, count);
    return 0;
}

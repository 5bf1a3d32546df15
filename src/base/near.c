/* near.c - vocabulary: edit distance (optimal string alignment, two rows kept) over short words. */
#include "base/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define NEAR_MAX 63

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t gt_near_distance(const char *word, size_t length, const char *known)
{
    const size_t width = strnlen(known, NEAR_MAX);
    size_t row[NEAR_MAX + 1], above[NEAR_MAX + 1] = {0}; /* above: the row before the last */

    if (length > NEAR_MAX)
        length = NEAR_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0], before = 0; /* before: above[j - 2] */

        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = diagonal + !same(word[i - 1], known[j - 1]);

            best = least(best, least(row[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(word[i - 1], known[j - 2]) &&
                same(word[i - 2], known[j - 1]))
                best = least(best, before + 1);
            before = above[j - 1];
            above[j - 1] = diagonal;
            diagonal = row[j];
            row[j] = best;
        }
        above[width] = diagonal;
    }
    return row[width];
}

const char *gt_near(const char *word, size_t length, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t limit = length / 3 ? length / 3 : 1;
    size_t best_distance = limit + 1;

    for (size_t i = 0; i < count; i++) {
        size_t distance = gt_near_distance(word, length, known[i]);

        /* A word with every character replaced is not similar: "K" is not near "M". */
        if (distance < best_distance && distance < strlen(known[i])) {
            best = known[i];
            best_distance = distance;
        }
    }
    return best;
}

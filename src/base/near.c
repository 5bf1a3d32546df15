/* near.c - vocabulary: edit distance (Levenshtein, one row kept) over short words. */
#include "base/near.h"

#include <ctype.h>
#include <string.h>

#define NEAR_MAX 63

size_t gt_near_distance(const char *word, size_t length, const char *known)
{
    size_t width = strnlen(known, NEAR_MAX);
    size_t row[NEAR_MAX + 1];

    if (length > NEAR_MAX)
        length = NEAR_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            int same = tolower((unsigned char)word[i - 1]) == tolower((unsigned char)known[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
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

/* export_fixture.h - exports of the database of store_fixture.h, as texts to compare. */
#ifndef GT_TEST_EXPORT_FIXTURE_H
#define GT_TEST_EXPORT_FIXTURE_H

#include "store_fixture.h"

#include "exchange/export.h"

static const struct gt_row_filter winners = {.winners_only = true};

/* The export as one malloc'ed text; dates, which change, become DATE. */
static char *export_text(struct fixture *f, enum gt_export_format format,
                         const struct gt_row_filter *filter)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    OK(f, gt_export(file, &(struct gt_export_request){.format = format, .filter = *filter},
                    f->store, NULL, &f->err));
    fclose(file);
    for (char *at = text; format != GT_EXPORT_SHIPPED && (at = strstr(at, "202")) != NULL; at++)
        if (strlen(at) >= 20 && at[4] == '-' && at[10] == 'T' && at[19] == 'Z') {
            memcpy(at, "DATE", 4);
            memmove(at + 4, at + 20, strlen(at + 20) + 1);
        }
    return text;
}

static inline void expect_export(struct fixture *f, enum gt_export_format format,
                                 const struct gt_row_filter *filter, const char *expected)
{
    char *text = export_text(f, format, filter);

    assert_string_equal(text, expected);
    free(text);
}

#endif

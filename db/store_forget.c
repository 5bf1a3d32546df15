/* store_forget.c - removes trials, with all records that belong only to them.  Part of the store:
 * see store.h. */
#include "db/store_internal.h"

#include "base/err.h"

/* The conditions of a selection that apply to a statement, which names the columns device, kernel,
 * problem. */
enum { OF_KERNEL = 1, BY_NAME = 2, OF_RESULT = 4 };

static void add_list(struct gt_strbuf *sql, const char *before, const char *between, size_t first,
                     size_t count, const char *after)
{
    for (size_t i = 0; i < count; i++)
        gt_strbuf_addf(sql, "%s?%zu", i ? between : before, first + i);
    gt_strbuf_add(sql, after);
}

static void add_names(struct gt_strbuf *sql, const struct gt_selection *which)
{
    add_list(sql, "(name GLOB ", " OR name GLOB ", 2, which->kernels, ")");
}

/* Appends the conditions: ?1 is the device, the kernels follow, then the problems. */
static void add_selection(struct gt_strbuf *sql, const struct gt_selection *which, unsigned parts)
{
    if (which->device)
        gt_strbuf_add(sql, " AND device IN (SELECT id FROM device WHERE"
                           " name = ?1 COLLATE NOCASE OR (uuid = ?1 AND uuid <> ''))");
    if (which->problems)
        add_list(sql, " AND problem IN (SELECT id FROM problem WHERE text IN (", ", ",
                 2 + which->kernels, which->problems, "))");
    if (which->kernels && parts & OF_KERNEL) {
        gt_strbuf_addf(
            sql, " AND kernel IN (SELECT %s FROM %s WHERE ", parts & BY_NAME ? "kernel" : "id",
            parts & BY_NAME ? "(SELECT DISTINCT kernel, kernel AS name FROM energy)" : "kernel");
        add_names(sql, which);
        gt_strbuf_add(sql, ")");
    }
    if (which->predicted && parts & OF_RESULT)
        gt_strbuf_add(sql, " AND provenance = 'predicted'");
}

/* Makes a query of a built statement, with the values of its conditions bound. */
static struct gt_query query_selected(struct gt_store *store, const char *doing,
                                      struct gt_strbuf *sql, const struct gt_selection *which,
                                      struct gt_err *err)
{
    struct gt_query q = gt_query_built(store, doing, sql, err);

    if (which->device)
        gt_store_bind(q.s, 1, which->device);
    for (size_t i = 0; i < which->kernels; i++)
        gt_store_bind(q.s, (int)(2 + i), which->kernel[i]);
    for (size_t i = 0; i < which->problems; i++)
        gt_store_bind(q.s, (int)(2 + which->kernels + i), which->problem[i]);
    return q;
}

int gt_store_select(struct gt_store *store, const struct gt_selection *which,
                    gt_selected_visit *visit, void *context, struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    struct gt_query q;

    gt_strbuf_add(&sql, "SELECT count(*), d.name, p.text, k.name, t.provenance FROM"
                        " (SELECT * FROM trial WHERE true");
    add_selection(&sql, which, OF_KERNEL | OF_RESULT);
    gt_strbuf_add(&sql, ") AS t JOIN device AS d ON d.id = t.device"
                        " JOIN problem AS p ON p.id = t.problem"
                        " JOIN kernel AS k ON k.id = t.kernel"
                        " GROUP BY 2, 3, 4, 5 ORDER BY 2, 3, 4, 5");
    q = query_selected(store, "read trials", &sql, which, err);
    while (gt_query_row(&q)) {
        const struct gt_selected selected = {
            .trials = sqlite3_column_int64(q.s, 0),
            .device = gt_store_text(q.s, 1),
            .problem = gt_store_text(q.s, 2),
            .kernel = gt_store_text(q.s, 3),
            .result = gt_store_text(q.s, 4),
        };

        q.code = gt_store_whole(store, err);
        GT_STEP(q.code, visit(context, &selected, err));
    }
    return gt_query_end(&q);
}

/* A statement, up to its conditions and after them. */
struct removal {
    const char *from, *then;
    unsigned parts;
    bool predictions; /* also runs where only predictions are removed */
};

#define NO_TRIAL(table)                                                               \
    " AND NOT EXISTS (SELECT 1 FROM trial AS t WHERE (t.device, t.problem, t.timing)" \
    " = (" table ".device, " table ".problem, " table ".timing)"                      \
    " AND t.provenance = 'measured')"

/* The order of removals: a row is removed after all rows that refer to it.  A tie is removed as a
 * whole, because its remaining members were not compared by themselves.  A baseline and the records
 * of turns are removed with the last trial. */
static const struct removal removals[] = {
    {"DELETE FROM tie WHERE (device, problem, timing) IN (SELECT device, problem, timing"
     " FROM trial AS t WHERE EXISTS (SELECT 1 FROM tie AS i WHERE (i.device, i.problem, i.timing,"
     " i.point) = (t.device, t.problem, t.timing, t.point)"
     " AND i.kernel = (SELECT name FROM kernel WHERE id = t.kernel))",
     ")", OF_KERNEL | OF_RESULT, true},
    {"DELETE FROM attempt WHERE true", "", OF_KERNEL, false},
    {"DELETE FROM comparison WHERE true", "", OF_KERNEL, false},
    {"DELETE FROM energy WHERE true", "", OF_KERNEL | BY_NAME, false},
    {"DELETE FROM trial WHERE true", "", OF_KERNEL | OF_RESULT, true},
    {"DELETE FROM baseline WHERE true", NO_TRIAL("baseline"), 0, false},
    {"DELETE FROM improvement WHERE visit IN (SELECT id FROM visit WHERE true",
     NO_TRIAL("visit") ")", 0, false},
    {"DELETE FROM visit WHERE true", NO_TRIAL("visit"), 0, false},
};

static int remove_rows(struct gt_store *store, const struct gt_selection *which,
                       const struct removal *removal, struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    struct gt_query q;

    gt_strbuf_add(&sql, removal->from);
    add_selection(&sql, which, removal->parts);
    gt_strbuf_add(&sql, removal->then);
    q = query_selected(store, "forget trials", &sql, which, err);
    gt_query_run(&q);
    return gt_query_end(&q);
}

/* Removes the texts of a named kernel together with its last trial, because a later text without
 * trials would make trials of an older text count as replaced. */
static int remove_kernels(struct gt_store *store, const struct gt_selection *which,
                          struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    struct gt_query q;

    if (!which->kernels)
        return GT_OK;
    gt_strbuf_add(&sql, "DELETE FROM kernel WHERE id NOT IN (SELECT kernel FROM trial UNION"
                        " SELECT kernel FROM attempt UNION SELECT kernel FROM comparison) AND ");
    add_names(&sql, which);
    q = query_selected(store, "forget kernels", &sql, which, err);
    gt_query_run(&q);
    return gt_query_end(&q);
}

int gt_store_forget(struct gt_store *store, const struct gt_selection *which, struct gt_err *err)
{
    int code = gt_store_begin(store, err);

    if (code)
        return code;
    for (size_t i = 0; i < sizeof(removals) / sizeof(removals[0]) && !code; i++)
        if (removals[i].predictions || !which->predicted)
            code = remove_rows(store, which, &removals[i], err);
    GT_STEP(code, remove_kernels(store, which, err));
    return gt_store_finish(store, code, err);
}

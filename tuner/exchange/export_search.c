/* export_search.c - writes how searches went: a line for each turn of a problem, with the seconds
 * and trials until its race came within 5, 2 and 1 % of the best that any turn of the same problem
 * and device ever saw in its race.
 *
 * Finals are held on a hot device, so their times (us) cannot be compared with those of a race. */
#include "exchange/export_format.h"

#include <inttypes.h>

static const double within[] = {1.05, 1.02, 1.01};

#define WITHINS (sizeof(within) / sizeof(*within))

static void add_real(struct gt_strbuf *text, double value, int digits, bool known)
{
    if (known)
        gt_strbuf_addf(text, ",%.*f", digits, value);
    else
        gt_strbuf_add_char(text, ',');
}

/* The first improvement within the factor of the best, or NULL. */
static const struct gt_improvement *reached(const struct gt_turn *turn, double factor)
{
    for (size_t i = 0; i < turn->improvements; i++)
        if (turn->improvement[i].us <= factor * turn->best_us)
            return &turn->improvement[i];
    return NULL;
}

static double race_us(const struct gt_turn *turn)
{
    double us = 0;

    for (size_t i = 0; i < turn->improvements; i++)
        if (us == 0 || turn->improvement[i].us < us)
            us = turn->improvement[i].us;
    return us;
}

static int add_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    struct gt_export_out *out = context;
    struct gt_strbuf *text = out->text;
    const struct gt_improvement *first[WITHINS];
    const double raced = race_us(turn);

    (void)err;
    for (size_t i = 0; i < WITHINS; i++)
        first[i] = reached(turn, within[i]);
    gt_export_field(text, turn->device, true);
    gt_strbuf_addf(text, ",%s,", turn->problem);
    gt_export_field(text, turn->kernels, true);
    gt_strbuf_add_char(text, ',');
    gt_export_field(text, turn->strategy, true);
    gt_strbuf_addf(text, ",%" PRIu64 ",%" PRId64 ",%.1f,%" PRId64, turn->seed, turn->known,
                   turn->seconds, turn->trials);
    add_real(text, turn->us, 3, turn->us > 0);
    add_real(text, turn->baseline_us, 3, turn->baseline_us > 0);
    add_real(text, raced, 3, raced > 0);
    add_real(text, turn->best_us, 3, turn->best_us > 0);
    for (size_t i = 0; i < WITHINS; i++)
        add_real(text, first[i] ? first[i]->seconds : 0, 1, first[i] != NULL);
    for (size_t i = 0; i < WITHINS; i++)
        add_real(text, first[i] ? (double)first[i]->trials : 0, 0, first[i] != NULL);
    add_real(text, (double)turn->trials / turn->race_s, 1, turn->race_s > 0);
    add_real(text, turn->busy_s / turn->race_s, 2, turn->race_s > 0);
    gt_strbuf_addf(text, ",%s,%s\n", gt_timing_name(turn->timing), turn->date);
    out->rows++;
    return GT_OK;
}

static int whole(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    gt_strbuf_add(out->text,
                  "device,problem,kernels,strategy,seed,known,seconds,trials,us,cublas_us,race_us,"
                  "best_us,s_5,s_2,s_1,trials_5,trials_2,trials_1,per_second,busy,l2,date\n");
    return gt_store_turns(store, out->filter, add_turn, out, err);
}

const struct gt_export_ops gt_export_search = {.whole = whole};

/* kernel_reader.c - vocabulary: the one reader of kernel descriptions (configs/kernels/NAME.json).
 * Every key is listed here once, with its range; configs/README.md explains the keys.
 *
 * The first failure sticks: afterwards every function does nothing and returns its standard, so
 * that r->rc is checked only once, at the end. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "kernel/kernel_impl.h"
#include "problem/problem.h"
#include "templates/common/args.h"

#define MAX_NAME     31  /* most characters of a parameter's or derived value's name */
#define MAX_VALUES   256 /* most values of a parameter: a point keeps one byte for each parameter */
#define MAX_REPORTED 64
#define MAX_SEEDS    64

struct reader {
    struct gt_kernel *kernel;
    const cJSON *root;
    char where[GT_WHERE_MAX]; /* "path: params[3]": in front of every sentence */
    int rc;                   /* the first failure */
    struct gt_err *err;
};

/* ---- members of an object ---- */

/* Sets the place in the file for sentences. */
__attribute__((format(printf, 2, 3))) static void set_where(struct reader *r, const char *format,
                                                            ...)
{
    const char *path = r->kernel->path;
    size_t length = strlen(path);
    va_list args;
    int used;

    if (r->rc)
        return;
    if (length > GT_WHERE_MAX - 112) /* the end of a path tells more than its beginning */
        path += length - (GT_WHERE_MAX - 112);
    used = snprintf(r->where, sizeof(r->where), "%s: ", path);
    va_start(args, format);
    vsnprintf(r->where + used, sizeof(r->where) - (size_t)used, format, args);
    va_end(args);
}

/* Fails with GT_ECONFIG; the sentence begins with the reader's place and a colon. */
__attribute__((format(printf, 2, 3))) static void fail(struct reader *r, const char *format, ...)
{
    char text[sizeof(r->err->msg)];
    va_list args;

    if (r->rc)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r->rc = gt_err_set(r->err, GT_ECONFIG, "%s: %s", r->where, text);
}

/* Whether the item is an object whose keys are all words of `allowed`, each at most once. */
static bool check_object(struct reader *r, const cJSON *item, const char *allowed)
{
    if (!r->rc && !cJSON_IsObject(item))
        r->rc = gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    if (!r->rc)
        r->rc = gt_json_keys(item, r->where, allowed, r->err);
    return !r->rc;
}

/* The member of that key and type, or NULL. */
static const cJSON *get(struct reader *r, const cJSON *object, const char *key, int type,
                        enum gt_presence presence)
{
    const cJSON *member = NULL;

    if (!r->rc)
        r->rc = gt_json_get(&member, object, r->where, key, type, presence, r->err);
    return r->rc ? NULL : member;
}

/* Allocates zeroed room for `count` items of `size` bytes, at least one item; NULL after a
 * failure. */
static void *allocate(struct reader *r, size_t count, size_t size)
{
    void *memory = r->rc ? NULL : calloc(count ? count : 1, size);

    if (!r->rc && !memory)
        r->rc = gt_err_nomem(r->err);
    return memory;
}

/* Sets *to to a copy of a string member; if the member is absent, *to keeps its value. */
static void read_string(struct reader *r, char **to, const cJSON *object, const char *key,
                        enum gt_presence presence)
{
    const cJSON *member = get(r, object, key, cJSON_String, presence);
    char *copy = member ? strdup(member->valuestring) : NULL;

    if (copy && !*copy)
        fail(r, "\"%s\" is empty", key);
    if (member && !copy)
        r->rc = gt_err_nomem(r->err);
    if (copy) /* also after a failure, because the kernel owns it */
        *to = copy;
}

/* Reads a number; `standard` if the member is optional and absent. */
static int64_t read_integer(struct reader *r, const cJSON *object, const char *key, int64_t least,
                            int64_t most, enum gt_presence presence, int64_t standard)
{
    if (!r->rc)
        r->rc = gt_json_integer(&standard, object, r->where, key, least, most, presence, r->err);
    return standard;
}

static double read_real(struct reader *r, const cJSON *object, const char *key, double most)
{
    double value = 0;

    if (!r->rc)
        r->rc = gt_json_real(&value, object, r->where, key, 0, most, GT_OPTIONAL, r->err);
    return value;
}

static bool read_bool(struct reader *r, const cJSON *object, const char *key, bool standard)
{
    if (!r->rc)
        r->rc = gt_json_bool(&standard, object, r->where, key, GT_OPTIONAL, r->err);
    return standard;
}

/* The index of a string member among the names; `standard` if the member is absent.  standard -1:
 * the member is required. */
static int read_choice(struct reader *r, const cJSON *object, const char *key,
                       const char *const *names, int count, int standard)
{
    const cJSON *member =
        get(r, object, key, cJSON_String, standard < 0 ? GT_REQUIRED : GT_OPTIONAL);
    struct gt_strbuf list = GT_STRBUF_INIT;

    for (int i = 0; member && i < count; i++)
        if (!strcmp(names[i], member->valuestring))
            return i;
    for (int i = 0; member && i < count; i++)
        gt_strbuf_addf(&list, "%s%s", !i ? "" : i + 1 < count ? ", " : " or ", names[i]);
    /* A list that is incomplete, because memory ran out, is still passed on. */
    if (member)
        fail(r, "\"%s\" is \"%.32s\"; it must be %s", key, member->valuestring, list.text);
    gt_strbuf_release(&list);
    return standard < 0 ? 0 : standard;
}

/* Parses an expression; `key` is for sentences.  Any failure but of memory is GT_ECONFIG. */
static void parse_text(struct reader *r, struct gt_expr **expr, const char *text, const char *key)
{
    if (r->rc)
        return;
    r->rc = gt_expr_parse(expr, text, &r->kernel->names, r->err);
    if (!r->rc || r->rc == GT_ENOMEM)
        return;
    gt_err_prefix(r->err, r->rc, "%s: %s", r->where, key);
    r->rc = GT_ECONFIG;
    if (r->err)
        r->err->code = r->rc;
}

/* Parses an expression that is a string or a number. */
static void parse_expr(struct reader *r, struct gt_expr **expr, const cJSON *item, const char *key)
{
    char number[32];
    int64_t value;

    if (cJSON_IsString(item) && *item->valuestring) {
        parse_text(r, expr, item->valuestring, key);
    } else if (gt_json_whole(item, -((int64_t)1 << 53), (int64_t)1 << 53, &value)) {
        snprintf(number, sizeof(number), "%lld", (long long)value);
        parse_text(r, expr, number, key);
    } else {
        fail(r, "\"%s\" must be an expression (a string) or a whole number", key);
    }
}

/* Reads a member that is an expression (a string or a whole number).  If the member is absent, the
 * expression is `standard`, or NULL if standard is NULL. */
static void read_expr(struct reader *r, struct gt_expr **expr, const cJSON *object, const char *key,
                      const char *standard)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (item)
        parse_expr(r, expr, item, key);
    else if (standard)
        parse_text(r, expr, standard, key);
}

static void read_needed_expr(struct reader *r, struct gt_expr **expr, const cJSON *object,
                             const char *key)
{
    if (!cJSON_GetObjectItemCaseSensitive(object, key))
        fail(r, "key \"%s\" is missing", key);
    read_expr(r, expr, object, key, NULL);
}

/* Reads a list of one to `most` expressions; returns their number, 0 if the list is absent. */
static int read_exprs(struct reader *r, struct gt_expr **expr, const cJSON *object, const char *key,
                      int most, enum gt_presence presence)
{
    const cJSON *list = get(r, object, key, cJSON_Array, presence);
    int count = list ? cJSON_GetArraySize(list) : 0;

    if (list && (count < 1 || count > most))
        fail(r, "\"%s\" must list 1 to %d expressions", key, most);
    for (int i = 0; !r->rc && i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s[%d]", key, i);
        parse_expr(r, &expr[i], cJSON_GetArrayItem(list, i), name);
    }
    return r->rc ? 0 : count;
}

/* Reads a list of one to three expressions; missing expressions are 1. */
static void read_triple(struct reader *r, struct gt_expr *expr[3], const cJSON *object,
                        const char *key, enum gt_presence presence)
{
    for (int i = read_exprs(r, expr, object, key, 3, presence); i < 3; i++)
        parse_text(r, &expr[i], "1", key);
}

/* Reads a list under a key of the top object: `read` is called for each item, with the reader's
 * place set to the item. */
static void read_list(struct reader *r, const char *key, size_t max, enum gt_presence presence,
                      void (*read)(struct reader *, const cJSON *, size_t))
{
    const cJSON *list = get(r, r->root, key, cJSON_Array, presence), *item;
    size_t index = 0;

    if (list && (size_t)cJSON_GetArraySize(list) > max)
        fail(r, "\"%s\" has %d entries; at most %zu are allowed", key, cJSON_GetArraySize(list),
             max);
    cJSON_ArrayForEach(item, list)
    {
        set_where(r, "%s[%zu]", key, index);
        if (!r->rc)
            read(r, item, index++);
    }
    if (!r->rc)
        snprintf(r->where, sizeof(r->where), "%s", r->kernel->path);
}

/* ---- "serves" ---- */

/* Reads a list of names, which `parse` turns into bits; `known` is for the error sentence.  *bits
 * is unchanged if the member is absent. */
static void read_bits(struct reader *r, unsigned *bits, const cJSON *object, const char *key,
                      enum gt_presence presence, const char *known,
                      bool (*parse)(unsigned *bit, const char *text, size_t length))
{
    const cJSON *list = get(r, object, key, cJSON_Array, presence), *item;
    unsigned bit;

    if (!list)
        return;
    *bits = 0;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";

        if (!parse(&bit, text, strlen(text))) {
            fail(r, "\"%s\" lists \"%.32s\"; it must be one of: %s", key, text, known);
            return;
        }
        if (*bits & 1u << bit)
            fail(r, "\"%s\" lists \"%.32s\" twice", key, text);
        *bits |= 1u << bit;
    }
    if (!*bits)
        fail(r, "\"%s\" is empty; it must list some of: %s", key, known);
}

static bool parse_type(unsigned *bit, const char *text, size_t length)
{
    enum gt_dtype type;

    if (!gt_dtype_parse(&type, text, length))
        return false;
    *bit = type;
    return true;
}

/* Parses a type that A and B may have; s32 is a type of sums only. */
static bool parse_operand_type(unsigned *bit, const char *text, size_t length)
{
    return parse_type(bit, text, length) && *bit != GT_S32;
}

static enum gt_accuracy read_accuracy(struct reader *r, const cJSON *object,
                                      enum gt_accuracy before, enum gt_presence presence)
{
    const cJSON *member = get(r, object, "accuracy", cJSON_String, presence);
    const char *text = member ? member->valuestring : "";

    if (member && !gt_accuracy_parse(&before, text, strlen(text)))
        fail(r, "\"accuracy\" is \"%.32s\"; it must be strict, f32, tf32 or low", text);
    return before;
}

/* Reads the scales that an operand may have, "none" among them. */
static void read_scales(struct reader *r, struct gt_served_scales *scales, const cJSON *object,
                        const char *key)
{
    const cJSON *list = get(r, object, key, cJSON_Array, GT_OPTIONAL), *item;

    if (!list)
        return;
    scales->count = 0;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";

        if (scales->count == GT_MAX_SERVED_SCALES ||
            !gt_scale_parse(&scales->scale[scales->count], text, strlen(text))) {
            fail(r,
                 "\"%s\" lists \"%.32s\"; it must list up to %d scales such as none, tensor, "
                 "vector, 1x128, 128x128/k",
                 key, text, GT_MAX_SERVED_SCALES);
            return;
        }
        scales->count++;
    }
}

static bool parse_sums(unsigned *bit, const char *text, size_t length)
{
    return gt_word_parse(bit, GT_SUMS_WORDS, text, length);
}

static bool parse_sizes(unsigned *bit, const char *text, size_t length)
{
    return gt_word_parse(bit, GT_SIZES_WORDS, text, length);
}

static bool parse_by(unsigned *bit, const char *text, size_t length)
{
    return gt_word_parse(bit, GT_BY_WORDS, text, length);
}

static bool parse_gate(unsigned *bit, const char *text, size_t length)
{
    return gt_word_parse(bit, GT_GATE_WORDS, text, length);
}

/* Reads the members of an entry that plain products do not have. */
static void read_words(struct reader *r, struct gt_serves *entry, const cJSON *object)
{
    read_bits(r, &entry->types_b, object, "b", GT_OPTIONAL, GT_OPERAND_TYPES, parse_operand_type);
    read_bits(r, &entry->biases, object, "bias", GT_OPTIONAL, GT_OPERAND_TYPES " s32", parse_type);
    read_bits(r, &entry->sums, object, "sums", GT_OPTIONAL, GT_SUMS_WORDS, parse_sums);
    read_bits(r, &entry->sizes, object, "groups", GT_OPTIONAL, GT_SIZES_WORDS, parse_sizes);
    read_bits(r, &entry->by, object, "by", GT_OPTIONAL, GT_BY_WORDS, parse_by);
    read_bits(r, &entry->gates, object, "gate", GT_OPTIONAL, GT_GATE_WORDS, parse_gate);
    read_scales(r, &entry->scale_a, object, "scale_a");
    read_scales(r, &entry->scale_b, object, "scale_b");
    read_scales(r, &entry->scale_d, object, "scale_d");
    entry->conj = read_bool(r, object, "conj", entry->conj);
    entry->zero = read_bool(r, object, "zero", entry->zero);
    entry->symmetric = read_bool(r, object, "symmetric", entry->symmetric);
    entry->same_bits = read_bool(r, object, "same_bits", entry->same_bits);
}

/* Reads an entry; members that it does not specify are taken from the entry before it. */
static void read_entry(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] =
        "types out layouts min_cc max_cc accuracy epilogues batch max_m b bias sums groups by gate "
        "scale_a scale_b scale_d conj zero symmetric same_bits";
    struct gt_serves *entry = &r->kernel->entry[index];
    enum gt_presence presence = index ? GT_OPTIONAL : GT_REQUIRED;

    *entry = index ? entry[-1]
                   : (struct gt_serves){.epilogues = 1u << GT_EPILOGUE_NONE,
                                        .sums = 1u << GT_SUMS_FAST,
                                        .by = 1u << GT_GROUPS_BY_M,
                                        .gates = 1u << GT_GATE_FIRST,
                                        .max_cc = 9999,
                                        .max_m = GT_MAX_EXTENT};
    r->kernel->entries++;
    if (!check_object(r, object, allowed))
        return;
    read_bits(r, &entry->types, object, "types", presence, GT_OPERAND_TYPES, parse_operand_type);
    read_bits(r, &entry->outs, object, "out", presence, GT_OPERAND_TYPES " s32", parse_type);
    read_bits(r, &entry->layouts, object, "layouts", presence, "nn nt tn tt", gt_layout_parse);
    read_bits(r, &entry->epilogues, object, "epilogues", GT_OPTIONAL, GT_EPILOGUE_WORDS,
              gt_epilogue_parse);
    read_words(r, entry, object);
    entry->min_cc =
        (int)read_integer(r, object, "min_cc", 75, 9999, presence, index ? entry->min_cc : 75);
    entry->max_cc = (int)read_integer(r, object, "max_cc", 75, 9999, GT_OPTIONAL, entry->max_cc);
    if (entry->max_cc < entry->min_cc)
        fail(r, "max_cc %d is below min_cc %d", entry->max_cc, entry->min_cc);
    entry->max_m = read_integer(r, object, "max_m", 1, GT_MAX_EXTENT, GT_OPTIONAL, entry->max_m);
    entry->batched = read_bool(r, object, "batch", entry->batched);
    entry->accuracy = read_accuracy(r, object, entry->accuracy, presence);
}

static void read_serves(struct reader *r)
{
    const cJSON *serves = cJSON_GetObjectItemCaseSensitive(r->root, "serves");

    if (cJSON_IsObject(serves)) { /* an object stands for a list with this one entry */
        set_where(r, "serves");
        read_entry(r, serves, 0);
        snprintf(r->where, sizeof(r->where), "%s", r->kernel->path);
        return;
    }
    read_list(r, "serves", GT_MAX_SERVES, GT_REQUIRED, read_entry);
    if (!r->kernel->entries)
        fail(r, "\"serves\" is empty");
}

/* ---- parameters, derived values, constraints ---- */

/* Adds a name that later expressions may use.  It hides a fact that version 0.1 did not have, so
 * that descriptions of that version go on working. */
static void add_name(struct reader *r, const char *name)
{
    static const char *const reserved[] = {"cdiv", "min", "max", "pow2", "xdiv", "args"};
    struct gt_names *names = &r->kernel->names;
    size_t length = r->rc ? 0 : strlen(name);
    int taken;

    for (size_t i = 0; i < length; i++)
        if (!(isalpha((unsigned char)name[i]) || name[i] == '_' ||
              (i && isdigit((unsigned char)name[i]))))
            fail(r, "name \"%.64s\" must consist of letters, digits and _", name);
    if (r->rc)
        return;
    if (length > MAX_NAME)
        fail(r, "name \"%.64s\" is longer than %d characters", name, MAX_NAME);
    if (!strncmp(name, "GT_", 3) || !strncmp(name, "gt_", 3) || !strncmp(name, "__", 2))
        fail(r, "name \"%s\" begins with GT_, gt_ or __, which are reserved", name);
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (!strcmp(reserved[i], name))
            fail(r, "name \"%s\" is reserved", name);
    taken = gt_names_find(names, name, length);
    if (taken >= 0 && gt_fact_is_new(taken)) {
        names->name[taken] = "";
        taken = -1;
    }
    if (taken >= 0)
        fail(r, "name \"%s\" is taken by %s", name,
             taken < GT_FACT_COUNT ? "a fact of the problem or the device"
                                   : "an earlier parameter or derived value");
    if (!r->rc)
        names->name[names->count++] = name;
}

static void read_values(struct reader *r, struct gt_param *param, const cJSON *object)
{
    const cJSON *list = get(r, object, "values", cJSON_Array, GT_REQUIRED), *item;
    int count = list ? cJSON_GetArraySize(list) : 0;
    int64_t standard;

    if (list && (count < 1 || count > MAX_VALUES))
        fail(r, "\"values\" %s; it must list 1 to %d numbers", count ? "is too long" : "is empty",
             MAX_VALUES);
    param->value = allocate(r, (size_t)count, sizeof(*param->value));
    if (!param->value)
        return;
    cJSON_ArrayForEach(item, list)
    {
        int64_t *value = &param->value[param->count];

        if (!gt_json_whole(item, INT32_MIN, INT32_MAX, value)) {
            fail(r, "values[%zu] must be a whole number of 32 bits", param->count);
            return;
        }
        for (size_t i = 0; i < param->count; i++)
            if (param->value[i] == *value)
                fail(r, "value %lld is listed twice", (long long)*value);
        param->count++;
    }
    standard = read_integer(r, object, "default", INT32_MIN, INT32_MAX, GT_REQUIRED, INT32_MIN);
    while (param->standard < param->count && param->value[param->standard] != standard)
        param->standard++;
    if (param->standard == param->count)
        fail(r, "\"default\" %lld is not among the values", (long long)standard);
}

static void read_param(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "name values default kind doc";
    static const char *const kinds[] = {"compile", "launch"};
    struct gt_param *param = &r->kernel->param[index];

    r->kernel->params++;
    if (!check_object(r, object, allowed))
        return;
    read_string(r, &param->name, object, "name", GT_REQUIRED);
    set_where(r, "params[%zu] (%.32s)", index, param->name);
    add_name(r, param->name);
    read_string(r, &param->doc, object, "doc", GT_REQUIRED);
    param->launch = read_choice(r, object, "kind", kinds, 2, 0);
    read_values(r, param, object);
}

static void read_derived(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "name value doc";
    struct gt_derived *derived = &r->kernel->derived[index];

    r->kernel->deriveds++;
    if (!check_object(r, object, allowed))
        return;
    read_string(r, &derived->name, object, "name", GT_REQUIRED);
    read_string(r, &derived->doc, object, "doc", GT_OPTIONAL);
    /* The expression is read before the name is added, because a value cannot use itself. */
    read_needed_expr(r, &derived->expr, object, "value");
    if (!r->rc) {
        derived->depends = gt_kernel_depends(r->kernel, derived->expr);
        derived->derived = gt_kernel_deriveds(r->kernel, derived->expr);
        for (size_t i = 0; i < r->kernel->params; i++)
            r->kernel->param[i].derived |= (derived->depends >> i & 1) << index;
    }
    add_name(r, derived->name);
}

static void read_pattern(struct reader *r, struct gt_pattern *pattern, const char *text)
{
    struct gt_err why = {0};

    if (!r->rc && gt_pattern_parse(pattern, r->kernel, text, &why))
        fail(r, "%s", why.msg);
}

/* Reads `instead`: the values by which a point meets a bet. */
static void read_instead(struct reader *r, const cJSON *object, struct gt_constraint *constraint)
{
    char *text = NULL;

    read_string(r, &text, object, "instead", GT_OPTIONAL);
    if (text && !constraint->bet)
        fail(r, "\"instead\" belongs to constraints of kind \"bet\"");
    if (text && !r->rc)
        constraint->instead = allocate(r, 1, sizeof(*constraint->instead));
    if (constraint->instead)
        read_pattern(r, constraint->instead, text);
    free(text);
}

/* Whether the value asks whether C is read, or for a parameter that follows this. */
static bool asks_for_c(const struct gt_kernel *kernel, const struct gt_expr *value)
{
    bool asks = gt_expr_uses(value, (size_t)gt_names_find(&kernel->names, "BETA", 4));

    for (size_t i = 0; i < kernel->constraints && !asks; i++)
        asks = kernel->constraint[i].follows &&
               gt_expr_uses(value, kernel->first_param + kernel->constraint[i].follower);
    return asks;
}

/* Finds the value that a constraint `PARAM == VALUE` gives a parameter.  VALUE has no operator
 * outside of parentheses that binds weaker than ==. */
static void find_follower(struct reader *r, struct gt_constraint *constraint)
{
    const struct gt_kernel *kernel = r->kernel;
    const char *text = gt_expr_text(constraint->expr);
    const size_t length = strcspn(text, " ");
    const int slot = gt_names_find(&kernel->names, text, length) - (int)kernel->first_param;
    struct gt_expr *value = NULL;
    int depth = 0;

    if (slot < 0 || slot >= (int)kernel->params || strncmp(text + length, " == ", 4) != 0)
        return;
    text += length + 4;
    for (const char *at = text; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (!depth && strchr("&|?=<>!", *at))
            return;
    }
    r->rc = gt_expr_parse(&value, text, &kernel->names, r->err); /* half of a valid expression */
    if (r->rc)
        return;
    if (gt_kernel_deriveds(kernel, value) || !asks_for_c(kernel, value)) {
        gt_expr_free(value);
        return;
    }
    constraint->follows = value;
    constraint->follower = (size_t)slot;
}

static void read_constraint(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "if kind why instead";
    static const char *const kinds[] = {"must", "bet"};
    struct gt_constraint *constraint = &r->kernel->constraint[index];

    r->kernel->constraints++;
    if (!check_object(r, object, allowed))
        return;
    read_string(r, &constraint->why, object, "why", GT_REQUIRED);
    constraint->bet = read_choice(r, object, "kind", kinds, 2, 0);
    read_needed_expr(r, &constraint->expr, object, "if");
    if (!r->rc) {
        constraint->depends = gt_kernel_depends(r->kernel, constraint->expr);
        constraint->derived = gt_kernel_deriveds(r->kernel, constraint->expr);
    }
    if (!r->rc && !constraint->bet)
        find_follower(r, constraint);
    read_instead(r, object, constraint);
}

/* ---- launches ---- */

static void read_launch(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "entry when grid block shared cluster carveout pdl maps more";
    struct gt_launch *launch = &r->kernel->launch[index];

    r->kernel->launches++;
    if (!check_object(r, object, allowed))
        return;
    read_string(r, &launch->entry, object, "entry", GT_REQUIRED);
    read_triple(r, launch->grid, object, "grid", GT_REQUIRED);
    read_triple(r, launch->block, object, "block", GT_REQUIRED);
    read_triple(r, launch->cluster, object, "cluster", GT_OPTIONAL);
#define READ(member, standard) read_expr(r, &launch->member, object, #member, standard);
    GT_LAUNCH_EXPRS(READ)
#undef READ
    launch->maps = read_bool(r, object, "maps", false);
    launch->more = read_bool(r, object, "more", false);
}

/* ---- tensor maps ---- */

/* Reads the element: "in", "out" or a type. */
static void read_element(struct reader *r, struct gt_tensor_map *map, const cJSON *object)
{
    const cJSON *member = get(r, object, "element", cJSON_String, GT_OPTIONAL);
    const char *text = member ? member->valuestring : "in";
    enum gt_dtype type = GT_F32;

    if (!strcmp(text, "in"))
        map->element = GT_MAP_IN;
    else if (!strcmp(text, "out"))
        map->element = GT_MAP_OUT;
    else if (gt_dtype_parse(&type, text, strlen(text)))
        map->element = (int)type;
    else
        fail(r, "\"element\" is \"%.32s\"; it must be in, out or a type", text);
}

/* Reads dimensions, strides and box; the first list determines the rank. */
static void read_shape(struct reader *r, struct gt_tensor_map *map, const cJSON *object)
{
    int strides, boxes;

    map->rank = read_exprs(r, map->dims, object, "dims", GT_MAX_MAP_RANK, GT_REQUIRED);
    strides = read_exprs(r, map->strides, object, "strides", GT_MAX_MAP_RANK - 1,
                         map->rank > 1 ? GT_REQUIRED : GT_OPTIONAL);
    boxes = read_exprs(r, map->box, object, "box", GT_MAX_MAP_RANK, GT_REQUIRED);
    if (strides != map->rank - 1)
        fail(r,
             "\"strides\" lists %d; with %d dims it must list %d, for all but the "
             "innermost",
             strides, map->rank, map->rank - 1);
    if (boxes != map->rank)
        fail(r, "\"box\" lists %d; it must be as many as \"dims\", %d", boxes, map->rank);
}

static void read_map(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] =
        "name operand offset element dims strides box swizzle when promotion";
    struct gt_tensor_map *map = &r->kernel->map[index];

    r->kernel->maps++;
    if (!check_object(r, object, allowed))
        return;
    read_string(r, &map->name, object, "name", GT_REQUIRED);
    map->operand = (enum gt_map_operand)read_choice(r, object, "operand", gt_map_operand_names,
                                                    GT_MAP_WORKSPACE + 1, -1);
    read_element(r, map, object);
    read_shape(r, map, object);
#define READ(member, standard) read_expr(r, &map->member, object, #member, standard);
    GT_MAP_EXPRS(READ)
#undef READ
}

static void read_maps(struct reader *r)
{
    const struct gt_kernel *kernel = r->kernel;
    size_t takers = 0;

    read_list(r, "tensor_maps", GT_MAX_MAPS, GT_OPTIONAL, read_map);
    for (size_t i = 0; i < kernel->launches; i++)
        takers += kernel->launch[i].maps;
    if (takers && !kernel->maps)
        fail(r, "a launch has \"maps\", but there are no \"tensor_maps\"");
    if (kernel->maps && !takers)
        fail(r, "no launch takes the \"tensor_maps\" (\"maps\": true)");
}

/* ---- reported figures, seeds ---- */

static void read_reported(struct reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] = "source tflops share";
    struct gt_reported *reported = &r->kernel->reported[index];

    r->kernel->reported_count++;
    if (!check_object(r, object, allowed))
        return;
    read_string(r, &reported->source, object, "source", GT_REQUIRED);
    reported->tflops = read_real(r, object, "tflops", 1e6);
    reported->share = read_real(r, object, "share", 100);
}

static void read_seed(struct reader *r, const cJSON *item, size_t index)
{
    if (!cJSON_IsString(item)) {
        r->rc = gt_err_set(r->err, GT_ECONFIG, "%s must be a text like \"BM=128,BN=64\"", r->where);
        return;
    }
    read_pattern(r, &r->kernel->seed[index], item->valuestring);
    r->kernel->seeds += !r->rc;
}

/* ---- the rest of the top object ---- */

static void read_model(struct reader *r)
{
#define KEY(member, unit, least) " " #member
    static const char allowed[] = GT_MODEL_EXPRS(KEY);
#undef KEY
    const cJSON *object = get(r, r->root, "model", cJSON_Object, GT_OPTIONAL);

    set_where(r, "model");
    if (!object || !check_object(r, object, allowed + 1))
        return;
#define READ(member, unit, least) read_expr(r, &r->kernel->model.member, object, #member, NULL);
    GT_MODEL_EXPRS(READ)
#undef READ
}

static void read_compile(struct reader *r)
{
#define KEY(member, standard) " " #member
    static const char allowed[] = GT_COMPILE_EXPRS(KEY);
#undef KEY
    const cJSON *object = get(r, r->root, "compile", cJSON_Object, GT_OPTIONAL);

    set_where(r, "compile");
    if (object)
        check_object(r, object, allowed + 1);
#define READ(member, standard) read_expr(r, &r->kernel->member, object, #member, standard);
    GT_COMPILE_EXPRS(READ)
#undef READ
}

static void read_role(struct reader *r)
{
    static const char *const roles[] = {"production", "ladder"};
    struct gt_kernel *kernel = r->kernel;

    kernel->production = !read_choice(r, r->root, "role", roles, 2, -1);
    kernel->rung = (int)read_integer(r, r->root, "rung", 1, 99,
                                     kernel->production ? GT_OPTIONAL : GT_REQUIRED, 0);
    if (kernel->production && kernel->rung)
        fail(r, "\"rung\" is for kernels of the ladder only");
}

/* Reads the strings of the top object: name, document, template. */
static void read_identity(struct reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    const char *base = strrchr(kernel->path, '/');
    size_t length;

    base = base ? base + 1 : kernel->path;
    read_string(r, &kernel->name, r->root, "kernel", GT_REQUIRED);
    if (r->rc)
        return;
    length = strlen(kernel->name);
    if (strspn(kernel->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") <
            length ||
        length > 63)
        fail(r, "\"kernel\" is \"%.64s\"; a name has up to 63 letters, digits and _", kernel->name);
    if (strncmp(base, kernel->name, length) || strcmp(base + length, ".json"))
        fail(r, "\"kernel\" is \"%s\"; it must be the file's name", kernel->name);
    read_string(r, &kernel->doc, r->root, "doc", GT_REQUIRED);
    read_string(r, &kernel->template_path, r->root, "template", GT_REQUIRED);
    if (!r->rc && (*kernel->template_path == '/' || strstr(kernel->template_path, "..") ||
                   strpbrk(kernel->template_path, "\"\\\n")))
        fail(r,
             "\"template\" is \"%.100s\"; it must be a path inside the data folder or "
             "the description's own folder",
             kernel->template_path);
}

/* Reads parameters, then derived values, because later expressions use earlier names. */
static void read_names(struct reader *r)
{
    struct gt_kernel *kernel = r->kernel;
    size_t launch_params = 0;

    for (size_t i = 0; i < GT_FACT_COUNT; i++)
        kernel->names.name[i] = gt_fact_names[i];
    kernel->names.count = kernel->first_param = GT_FACT_COUNT;
    read_list(r, "params", GT_MAX_PARAMS, GT_REQUIRED, read_param);
    for (size_t i = 0; i < kernel->params; i++)
        launch_params += kernel->param[i].launch;
    if (launch_params > GT_MAX_LAUNCH_PARAMS)
        fail(r, "%zu parameters of kind launch; gt_args has room for %d", launch_params,
             GT_MAX_LAUNCH_PARAMS);
    read_list(r, "derive", GT_MAX_DERIVED, GT_OPTIONAL, read_derived);
}

/* Allocates the items of a list of the top object; a list that is absent or has another type needs
 * none. */
static void *allocate_list(struct reader *r, const char *key, size_t item_bytes)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(r->root, key);

    return allocate(r, array ? (size_t)cJSON_GetArraySize(array) : 0, item_bytes);
}

static void read_top(struct reader *r)
{
    static const char allowed[] =
        "kernel doc template role rung reported serves params derive constraints launches "
        "workspace deterministic compile model seeds tensor_maps";
    struct gt_kernel *kernel = r->kernel;

    snprintf(r->where, sizeof(r->where), "%s", kernel->path);
    if (!check_object(r, r->root, allowed))
        return;
    read_identity(r);
    read_role(r);
    read_serves(r);
    read_names(r);
    kernel->constraint = allocate_list(r, "constraints", sizeof(*kernel->constraint));
    read_list(r, "constraints", GT_MAX_CONSTRAINTS, GT_OPTIONAL, read_constraint);
    read_list(r, "launches", GT_MAX_LAUNCHES, GT_REQUIRED, read_launch);
    if (!kernel->launches)
        fail(r, "\"launches\" is empty");
    read_maps(r);
    kernel->reported = allocate_list(r, "reported", sizeof(*kernel->reported));
    read_list(r, "reported", MAX_REPORTED, GT_OPTIONAL, read_reported);
    kernel->seed = allocate_list(r, "seeds", sizeof(*kernel->seed));
    read_list(r, "seeds", MAX_SEEDS, GT_OPTIONAL, read_seed);
#define READ(member, standard) read_expr(r, &kernel->member, r->root, #member, standard);
    GT_CANDIDATE_EXPRS(READ)
#undef READ
    read_compile(r);
    read_model(r);
}

int gt_kernel_read_description(struct gt_kernel *kernel, const char *data_dir, const char *text,
                               size_t length, struct gt_err *err)
{
    struct reader reader = {.kernel = kernel, .err = err};
    cJSON *root;

    reader.rc = gt_json_parse(&root, kernel->path, text, length, err);
    if (!reader.rc)
        reader.rc = gt_description_expand(root, kernel->path, data_dir, err);
    reader.root = root;
    if (!reader.rc)
        read_top(&reader);
    cJSON_Delete(root);
    return reader.rc;
}

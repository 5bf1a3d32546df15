/* foreign_torch.c - the products in a trace of PyTorch's profiler: events such as aten::mm, whose
 * "Input Dims" and "Input Strides" describe their operands, which are stored by rows. */
#include "exchange/foreign_impl.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"

/* The operations that compute a product themselves: matmul, linear and einsum call these. */
static const struct operation {
    const char *name;
    int a;            /* which input A is; B follows */
    bool batch;       /* of three dimensions */
    bool adds;        /* input 0 is added: a bias if it has one dimension */
    const char *with; /* what no kernel has; NULL: nothing */
} operations[] = {
    {"aten::mm", 0, false, false, NULL},
    {"aten::bmm", 0, true, false, NULL},
    {"aten::addmm", 1, false, true, NULL},
    {"aten::addmm_", 1, false, true, NULL},
    {"aten::baddbmm", 1, true, true, NULL},
    {"aten::baddbmm_", 1, true, true, NULL},
    {"aten::_int_mm", 0, false, false, NULL},
    {"aten::_scaled_mm", 0, false, false, "scales"},
    {"aten::_addmm_activation", 1, false, true, "an activation"},
};

bool gt_foreign_is_torch(const char *text, size_t length)
{
    const char first = text[strspn(text, " \t\r\n")];

    return (first == '{' || first == '[') && (memmem(text, length, "\"traceEvents\"", 13) ||
                                              memmem(text, length, "\"Input Dims\"", 12));
}

/* Element `index` of a list of numbers; -1: there is none. */
static int64_t number(const cJSON *list, int index)
{
    int64_t value;

    return gt_json_whole(cJSON_GetArrayItem(list, index), 0, INT32_MAX, &value) ? value : -1;
}

/* How an operand of `rows` x `cols` lies in memory: by rows, or transposed.  PyTorch copies any
 * other one to packed rows. */
static void take_operand(struct gt_product *product, int operand, const cJSON *strides, bool batch,
                         int64_t rows, int64_t cols)
{
    const int64_t row = number(strides, batch), col = number(strides, batch + 1);
    int64_t *ld = &product->ld[operand];

    product->stride[operand] = batch ? number(strides, 0) : -1;
    if (col == 1 && row >= cols) {
        *ld = row;
    } else if (row == 1 && col >= rows) {
        *ld = col;
        product->trans[operand] = true;
    } else {
        *ld = rows == 1 && row == 1 && col == 1 ? cols : 0;
        product->stride[operand] = -1;
    }
}

static int take_event(struct gt_foreign_reader *reader, const struct operation *op,
                      const cJSON *args)
{
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(args, "Input type");
    const cJSON *strides = cJSON_GetObjectItemCaseSensitive(args, "Input Strides");
    const cJSON *a = cJSON_GetArrayItem(dims, op->a), *b = cJSON_GetArrayItem(dims, op->a + 1);
    const cJSON *added = op->adds ? cJSON_GetArrayItem(dims, 0) : NULL;
    const char *type = cJSON_GetStringValue(cJSON_GetArrayItem(types, op->a));
    const int first = op->batch;
    struct gt_product product = {
        .m = number(b, first + 1), /* BLAS's m and n, A and B are the other ones */
        .n = number(a, first),
        .k = number(a, first + 1),
        .batch = op->batch ? number(a, 0) : 1,
        .stride = {-1, -1, -1},
        .bias = cJSON_GetArraySize(added) == 1,
        .beta = cJSON_GetArraySize(added) > 1,
        .counted = true,
    };

    if (!dims || number(b, first) != product.k)
        return GT_OK;
    if (op->with) {
        gt_foreign_leave(reader, "with ", (struct gt_piece){op->with, (int)strlen(op->with)});
        return GT_OK;
    }
    for (int i = 0; i < 3 && type; i++)
        product.type[i] = (struct gt_piece){type, (int)strlen(type)};
    if (strcmp(op->name, "aten::_int_mm") == 0)
        product.type[2] = (struct gt_piece){"int", 3};
    take_operand(&product, 0, cJSON_GetArrayItem(strides, op->a + 1), op->batch, product.k,
                 product.m);
    take_operand(&product, 1, cJSON_GetArrayItem(strides, op->a), op->batch, product.n, product.k);
    return gt_foreign_take(reader, &product);
}

static const struct operation *find_operation(const cJSON *event)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));

    for (size_t i = 0; name && i < sizeof(operations) / sizeof(*operations); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

/* One event after the other is held as JSON: a trace has millions. */
int gt_foreign_read_torch(struct gt_foreign_reader *reader, const char *text)
{
    const char *at = text + strspn(text, " \t\r\n"), *list = strstr(text, "\"traceEvents\"");
    size_t without = 0;
    int rc = GT_OK;

    at = strchr(*at == '{' && list ? list : at, '[');
    if (!at)
        return gt_err_set(reader->err, GT_ECONFIG, "\"traceEvents\" is no list");
    at += 1 + strspn(at + 1, " \t\r\n");
    while (*at && *at != ']' && !rc) {
        const struct operation *op;
        cJSON *event;

        errno = 0; /* cJSON does not say why it failed, but its allocator sets errno */
        event = cJSON_ParseWithOpts(at, &at, 0);
        if (!event)
            return errno == ENOMEM
                       ? gt_err_nomem(reader->err)
                       : gt_err_set(reader->err, GT_ECONFIG, "malformed JSON near \"%.40s\"", at);
        op = find_operation(event);
        if (op) {
            const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");

            without += !cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
            rc = take_event(reader, op, args);
        }
        cJSON_Delete(event);
        at += strspn(at, " \t\r\n,");
    }
    if (!rc && without && !reader->foreign->products)
        rc = gt_err_set(reader->err, GT_ECONFIG,
                        "the trace names %zu product%s without sizes: record it with "
                        "profile(record_shapes=True)",
                        without, without == 1 ? "" : "s");
    return rc;
}

/* fuzz_wire.c - fuzz target: any bytes as a worker's message.
 *
 * The first byte of the input chooses which fields are asked for. */
#include "workers/wire.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned wanted = size ? data[0] : 0;
    struct gt_wire_in in;
    char text[16];
    size_t count;
    int i;

    if (!size || gt_wire_parse(&in, data + 1, size - 1, NULL))
        return 0;
    for (i = 0; i < 64; i++) {
        switch ((wanted >> (2 * (i % 4))) & 3) {
        case 0:
            gt_wire_get_int(&in);
            break;
        case 1:
            gt_wire_get_real(&in);
            break;
        case 2:
            count = strlen(gt_wire_get_text(&in));
            break;
        default:
            gt_wire_get_string(&in, text, sizeof(text));
        }
    }
    gt_wire_get_bytes(&in, &count);
    gt_wire_finish(&in, NULL);
    return 0;
}

/* fuzz_ranking.c - fuzz target: any bytes as a ranking, as they are and, so that the parser behind
 * the digest is reached, as the body of one with the right digest; what is read is asked. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/strbuf.h"
#include "lookup/ranking.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const struct gt_kernels *kernels, const char *text, size_t length)
{
    struct gt_ranking ranking = {0};
    float column[GT_RANKING_COLUMNS] = {0};
    struct gt_err err = {0};

    if (gt_ranking_parse(&ranking, kernels, "input", text, length, &err)
            ? !*err.msg || ranking.prototype || ranking.model
            : *err.msg || ranking.cc < 10)
        abort();
    for (size_t i = 0; i < ranking.models; i++)
        if (!isfinite(gt_ranking_sum(ranking.model[i].node, ranking.model[i].nodes, column)))
            abort();
    gt_ranking_release(&ranking);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gt_kernels kernels; /* read once: descriptions do not change */
    struct gt_strbuf text = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX], *folder = NULL;

    if (!kernels.count &&
        (gt_data_dir(&folder, NULL) || gt_kernels_load(&kernels, folder, NULL, NULL, NULL)))
        abort();
    free(folder);
    parse(&kernels, (const char *)data, size);
    gt_digest_bytes(data, size, digest);
    gt_strbuf_addf(&text, "%s%s\n", GT_RANKING_MAGIC, digest);
    gt_strbuf_add_bytes(&text, data, size);
    if (!gt_strbuf_check(&text, NULL))
        parse(&kernels, text.text, text.length);
    gt_strbuf_release(&text);
    return 0;
}

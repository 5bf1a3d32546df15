/* fuzz_trials.c - fuzz target: any bytes as a file of trials, as they are and, so that the parser
 * behind the digest is reached, as the body of one with the right digest. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/strbuf.h"
#include "exchange/trials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    (void)context;
    (void)err;
    if (!*named->device || !*named->problem || !*named->kernel || !strchr(named->point, '=') ||
        named->cc < 10 || !isfinite(named->trial.us) || !gt_trials_hold(named))
        abort();
    return GT_OK;
}

static void parse(const char *text, size_t length)
{
    struct gt_err err = {0};

    if (gt_trials_parse("input", text, length, check, NULL, &err) ? !*err.msg : *err.msg)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];

    parse((const char *)data, size);
    gt_digest_bytes(data, size, digest);
    gt_strbuf_addf(&text, "%s%s\n", GT_TRIALS_MAGIC, digest);
    gt_strbuf_add_bytes(&text, data, size);
    if (!gt_strbuf_check(&text, NULL))
        parse(text.text, text.length);
    gt_strbuf_release(&text);
    return 0;
}

/* wire.c - writes, sends and reads the messages between the supervisor and its workers. */
#include "workers/wire.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct header {
    uint32_t length; /* of the frame after this field */
    uint16_t version, type;
};

#define LENGTH_SIZE sizeof(uint32_t)
#define FRAME_MIN   (sizeof(struct header) - LENGTH_SIZE)

void gt_wire_begin(struct gt_strbuf *frame, enum gt_message type)
{
    const struct header header = {0, GT_WIRE_VERSION, (uint16_t)type};

    gt_strbuf_reset(frame);
    gt_strbuf_add_bytes(frame, &header, sizeof(header));
}

void gt_wire_put_int(struct gt_strbuf *frame, int64_t value)
{
    gt_strbuf_add_char(frame, 'i');
    gt_strbuf_add_bytes(frame, &value, sizeof(value));
}

void gt_wire_put_real(struct gt_strbuf *frame, double value)
{
    gt_strbuf_add_char(frame, 'r');
    gt_strbuf_add_bytes(frame, &value, sizeof(value));
}

void gt_wire_put_bytes(struct gt_strbuf *frame, const void *bytes, size_t count)
{
    const uint32_t length = (uint32_t)count;

    if (count > GT_WIRE_MAX) {
        frame->failed = true;
        return;
    }
    gt_strbuf_add_char(frame, 's');
    gt_strbuf_add_bytes(frame, &length, sizeof(length));
    gt_strbuf_add_bytes(frame, bytes, count);
    gt_strbuf_add_char(frame, '\0');
}

void gt_wire_put_text(struct gt_strbuf *frame, const char *text)
{
    gt_wire_put_bytes(frame, text ? text : "", text ? strlen(text) : 0);
}

int gt_wire_send(int fd, struct gt_strbuf *frame, int timeout_ms, struct gt_err *err)
{
    const int64_t deadline = gt_clock_ms() + timeout_ms;
    size_t sent = 0;
    uint32_t length;

    if (gt_strbuf_check(frame, err))
        return GT_ENOMEM;
    if (frame->length > GT_WIRE_MAX)
        return gt_err_set(err, GT_ETOOBIG, "a message of %zu bytes; at most %u are sent",
                          frame->length, GT_WIRE_MAX);
    length = (uint32_t)(frame->length - LENGTH_SIZE);
    memcpy(frame->text, &length, sizeof(length));
    while (sent < frame->length) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        int64_t left;
        ssize_t n = send(fd, frame->text + sent, frame->length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n >= 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return gt_err_set(err, GT_EIO, "cannot send to a worker: %s", strerror(errno));
        left = deadline - gt_clock_ms();
        if (left <= 0)
            return gt_err_set(err, GT_EIO, "a worker has not read its message for %d ms",
                              timeout_ms);
        poll(&wait, 1, (int)left);
    }
    return GT_OK;
}

int gt_wire_parse(struct gt_wire_in *in, const void *frame, size_t size, struct gt_err *err)
{
    uint16_t head[2];

    if (size < FRAME_MIN)
        return gt_err_set(err, GT_ESYNTAX, "a message of %zu bytes is too short", size);
    memcpy(head, frame, sizeof(head));
    if (head[0] != GT_WIRE_VERSION)
        return gt_err_set(err, GT_ESYNTAX, "message version %u; this program reads version %u",
                          head[0], GT_WIRE_VERSION);
    if (head[1] == 0 || head[1] >= GT_MSG_COUNT)
        return gt_err_set(err, GT_ESYNTAX, "unknown message type %u", head[1]);
    in->type = (enum gt_message)head[1];
    in->at = (const char *)frame + FRAME_MIN;
    in->end = (const char *)frame + size;
    in->failed = false;
    return GT_OK;
}

/* The next `size` bytes; NULL, and `failed`, if the frame has fewer. */
static const char *take(struct gt_wire_in *in, size_t size)
{
    const char *at = in->at;

    if (in->failed || (size_t)(in->end - in->at) < size) {
        in->failed = true;
        return NULL;
    }
    in->at += size;
    return at;
}

/* Consumes the type of the next field; whether it is this type. */
static bool take_type(struct gt_wire_in *in, char type)
{
    const char *at = take(in, 1);

    if (at && *at != type)
        in->failed = true;
    return !in->failed;
}

int64_t gt_wire_get_int(struct gt_wire_in *in)
{
    int64_t value = 0;
    const char *at = take_type(in, 'i') ? take(in, sizeof(value)) : NULL;

    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

double gt_wire_get_real(struct gt_wire_in *in)
{
    double value = 0;
    const char *at = take_type(in, 'r') ? take(in, sizeof(value)) : NULL;

    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

const char *gt_wire_get_bytes(struct gt_wire_in *in, size_t *count)
{
    uint32_t length = 0;
    const char *at = take_type(in, 's') ? take(in, sizeof(length)) : NULL;

    *count = 0;
    if (at)
        memcpy(&length, at, sizeof(length));
    at = take(in, (size_t)length + 1);
    if (at && at[length] != '\0') {
        in->failed = true;
        at = NULL;
    }
    if (!at)
        return "";
    *count = length;
    return at;
}

const char *gt_wire_get_text(struct gt_wire_in *in)
{
    size_t count;
    const char *text = gt_wire_get_bytes(in, &count);

    if (strlen(text) != count) /* a NUL inside would cut the text */
        in->failed = true;
    return in->failed ? "" : text;
}

void gt_wire_get_string(struct gt_wire_in *in, char *text, size_t size)
{
    const char *from = gt_wire_get_text(in);
    const size_t length = strlen(from);

    text[0] = '\0';
    if (length >= size)
        in->failed = true;
    else
        memcpy(text, from, length + 1);
}

void gt_wire_get_struct(struct gt_wire_in *in, void *to, size_t size)
{
    size_t count;
    const char *from = gt_wire_get_bytes(in, &count);

    if (count != size)
        in->failed = true;
    if (in->failed)
        memset(to, 0, size);
    else
        memcpy(to, from, size);
}

int gt_wire_finish(const struct gt_wire_in *in, struct gt_err *err)
{
    if (in->failed || in->at != in->end)
        return gt_err_set(err, GT_ESYNTAX, "a message of type %d is malformed", (int)in->type);
    return GT_OK;
}

void gt_wire_init(struct gt_wire *wire, int fd)
{
    *wire = (struct gt_wire){.fd = fd};
}

void gt_wire_release(struct gt_wire *wire)
{
    free(wire->buf);
    gt_wire_init(wire, -1);
}

/* The size in bytes of the buffer's first frame, its length field included; 0: not known yet;
 * SIZE_MAX: no frame can have that length. */
static size_t front_size(const struct gt_wire *wire)
{
    uint32_t length;

    if (wire->used < LENGTH_SIZE)
        return 0;
    memcpy(&length, wire->buf, sizeof(length));
    return length < FRAME_MIN || length > GT_WIRE_MAX ? SIZE_MAX : length + LENGTH_SIZE;
}

/* Reads what has arrived.  1: something arrived; 0: nothing arrived; < 0: the other end closed. */
static int fill(struct gt_wire *wire, size_t want, struct gt_err *err)
{
    const size_t capacity = want > 4096 ? want : 4096;
    ssize_t n;

    if (wire->capacity < capacity) {
        char *buf = realloc(wire->buf, capacity);

        if (!buf)
            return gt_err_nomem(err);
        wire->buf = buf;
        wire->capacity = capacity;
    }
    n = recv(wire->fd, wire->buf + wire->used, wire->capacity - wire->used, MSG_DONTWAIT);
    if (n > 0) {
        wire->used += (size_t)n;
        return 1;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return gt_err_set(err, GT_EIO, "the other end of a worker's pipe closed%s%s", n ? ": " : "",
                      n ? strerror(errno) : "");
}

int gt_wire_receive(struct gt_wire *wire, struct gt_wire_in *in, int timeout_ms, struct gt_err *err)
{
    const int64_t deadline = timeout_ms < 0 ? INT64_MAX : gt_clock_ms() + timeout_ms;

    if (wire->frame) {
        memmove(wire->buf, wire->buf + wire->frame, wire->used - wire->frame);
        wire->used -= wire->frame;
        wire->frame = 0;
    }
    for (;;) {
        struct pollfd wait = {.fd = wire->fd, .events = POLLIN};
        const size_t size = front_size(wire);
        int64_t left;
        int rc;

        if (size == SIZE_MAX)
            return gt_err_set(err, GT_ESYNTAX, "a worker's message has an impossible length");
        if (size && wire->used >= size) {
            wire->frame = size;
            rc = gt_wire_parse(in, wire->buf + LENGTH_SIZE, size - LENGTH_SIZE, err);
            return rc ? rc : 1;
        }
        rc = fill(wire, size, err);
        if (rc < 0)
            return rc;
        if (rc > 0)
            continue;
        left = deadline == INT64_MAX ? -1 : deadline - gt_clock_ms();
        if (timeout_ms >= 0 && left <= 0)
            return 0;
        if (poll(&wait, 1, (int)left) < 0 && timeout_ms >= 0)
            return 0;
    }
}

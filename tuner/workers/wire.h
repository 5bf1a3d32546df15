/* wire.h - framed messages between the supervisor and its workers, over a socket pair.
 *
 * A frame is a 32-bit length, a 16-bit version, a 16-bit message type and typed fields.  A field is
 * one byte of type ('i' 64-bit integer, 'r' double, 's' bytes with a NUL that is not part of them)
 * and the value.  Both ends are the same program on the same machine, so numbers have the machine's
 * byte order.  Readers check every length: a field that does not fit the frame makes the message
 * malformed. */
#ifndef GT_WIRE_H
#define GT_WIRE_H

#include "base/strbuf.h"
#include "gemmtune.h"

#include <stdbool.h>

#define GT_WIRE_VERSION 1
#define GT_WIRE_MAX     (16u << 20) /* bytes of a frame; a rendered kernel has about 10^5 */

enum gt_message {
    GT_MSG_HELLO = 1, /* to a new worker: its settings */
    GT_MSG_READY,     /* from a worker: toolchain version or device facts */
    GT_MSG_FAILED,    /* from a worker: error code, sentence, whether the worker must be replaced */
    GT_MSG_COMPILE,
    GT_MSG_COMPILED,
    GT_MSG_PROBLEM, /* from here to GT_MSG_CALIBRATE: to the GPU worker, which answers each with
                       GT_MSG_DONE */
    GT_MSG_TRIAL,
    GT_MSG_SAMPLE,
    GT_MSG_FINAL,
    GT_MSG_BASELINE,
    GT_MSG_MOVE,
    GT_MSG_ENERGY,
    GT_MSG_REFERENCE,
    GT_MSG_CALIBRATE, /* needs no problem */
    GT_MSG_DONE,
    GT_MSG_COMPILING, /* from the GPU worker: whether it is in NVRTC now, which may not return */
    GT_MSG_TURN, /* to a process that has a device: a problem and its budget; answered by DONE */
    GT_MSG_LINE, /* from that process during a turn: a line for the log, which also shows that the
                    process is alive */
    GT_MSG_COUNT
};

/* A message is built by begin, the put functions and send.  A failed allocation is sticky, and send
 * reports it. */
void gt_wire_begin(struct gt_strbuf *frame, enum gt_message type);
void gt_wire_put_int(struct gt_strbuf *frame, int64_t value);
void gt_wire_put_real(struct gt_strbuf *frame, double value);
void gt_wire_put_text(struct gt_strbuf *frame, const char *text); /* NULL is sent as "" */
void gt_wire_put_bytes(struct gt_strbuf *frame, const void *bytes, size_t count);

/* Sends a frame; GT_EIO if the other end is gone or does not read for timeout_ms. */
int gt_wire_send(int fd, struct gt_strbuf *frame, int timeout_ms, struct gt_err *err);

/* A message being read.  A field that is missing, of another type or out of bounds sets `failed`;
 * from then on every get returns 0 or "". */
struct gt_wire_in {
    enum gt_message type;
    const char *at, *end;
    bool failed;
};

/* Starts reading a frame of `size` bytes (without the length). */
int gt_wire_parse(struct gt_wire_in *in, const void *frame, size_t size, struct gt_err *err);
int64_t gt_wire_get_int(struct gt_wire_in *in);
double gt_wire_get_real(struct gt_wire_in *in);
const char *gt_wire_get_text(struct gt_wire_in *in); /* points into the frame */
const char *gt_wire_get_bytes(struct gt_wire_in *in, size_t *count);
/* Copies a text of less than `size` bytes; a longer one makes the message malformed. */
void gt_wire_get_string(struct gt_wire_in *in, char *text, size_t size);
/* Copies a plain struct sent with put_bytes; `size` must be the size that was sent. */
void gt_wire_get_struct(struct gt_wire_in *in, void *to, size_t size);
/* GT_OK if every field was read and well-formed, else GT_ESYNTAX. */
int gt_wire_finish(const struct gt_wire_in *in, struct gt_err *err);

/* The receiving side of one socket. */
struct gt_wire {
    int fd;
    char *buf;
    size_t used, capacity, frame; /* frame: bytes of the message handed out last */
};
void gt_wire_init(struct gt_wire *wire, int fd);
void gt_wire_release(struct gt_wire *wire); /* does not close fd; a zeroed wire is accepted */

/* Waits at most timeout_ms for a whole message; -1: no limit.  1: *in is set, valid until the next
 * call; 0: no message has arrived, or a signal came; GT_EIO: the other end closed; GT_ESYNTAX: the
 * bytes are not a frame. */
int gt_wire_receive(struct gt_wire *wire, struct gt_wire_in *in, int timeout_ms,
                    struct gt_err *err);

#endif

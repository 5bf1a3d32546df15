/* cmd_session_impl.h - the parts of opening a session (cmd_session.h): its device and its kernels.
 */
#ifndef GT_CMD_SESSION_IMPL_H
#define GT_CMD_SESSION_IMPL_H

#include "session/cmd_session.h"

/* Opens the evaluator that --device and --arch name.  cc: of --arch; 0: none was named.  Where the
 * arch has no GPU here, times are predicted, and session->no_gpu says why. */
int gt_session_open_evaluator(struct gt_session *session, const struct gt_session_options *options,
                              int cc, const char *name, struct gt_err *err);

/* Chains, operands that stay in L2 and numbers other than the usual ones are timed on a GPU only
 * (GT_ENOGPU), and chains with cold operands (GT_ESYNTAX). */
int gt_session_check_timing(const struct gt_session *session,
                            const struct gt_session_options *options, struct gt_err *err);

/* Times of other operands are those of another device: everything that is stored, compared, handed
 * out or printed then keeps them apart. */
void gt_session_name_operands(struct gt_session *session, const struct gt_session_options *options);

/* Whether a list of kernels has cuBLASLt among them. */
bool gt_session_names_vendor(const char *names);

/* Checks names that a sweep would look up only after everything is open, so that a typing error is
 * reported at once. */
int gt_session_check_names(const struct gt_session *session,
                           const struct gt_session_options *options, struct gt_err *err);

/* Restricts the kernels that take part to the values of --values. */
int gt_session_narrow(struct gt_session *session, const struct gt_session_options *options,
                      struct gt_err *err);

#endif

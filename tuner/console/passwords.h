/* passwords.h - passwords in the words of a command line, which must not be repeated: in the
 * address of a server (scheme://user:password@host) and behind password=, as libpq takes them. */
#ifndef GT_PASSWORDS_H
#define GT_PASSWORDS_H

#include "base/err.h"

#include <stdbool.h>

/* Puts *** into the place of each password; the text never grows.  An escaped key (pass%77ord=) is
 * found, too.  Returns whether there was a password. */
bool gt_passwords_mask(char *text);

/* GT_ESYNTAX if there is a password in the word, which may be NULL. */
int gt_passwords_refuse(const char *word, struct gt_err *err);

#endif

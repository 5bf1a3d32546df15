/* help.h - what the tables of commands and options say, as text. */
#ifndef GT_HELP_H
#define GT_HELP_H

#include <stdio.h>

struct gt_command;

/* What --help prints: usage, paragraphs, options; of the sweep also the commands and exit codes. */
void gt_help_print(FILE *out, const struct gt_command *command);

#endif

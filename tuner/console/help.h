/* help.h - writes the tables of commands and options as text, as manual pages, and as completions
 * of shells. */
#ifndef GT_HELP_H
#define GT_HELP_H

#include <stdio.h>

struct gt_command;

/* Prints the text of --help: usage, paragraphs, options; for the sweep also the commands and exit
 * codes. */
void gt_help_print(FILE *out, const struct gt_command *command);

/* Prints a manual page in man(7)'s macros. */
void gt_help_man(FILE *out, const struct gt_command *command);

/* Prints what makes a shell (bash, zsh, fish) complete the words of the programs gemmtune and tune
 * by `tune help --format words`. */
void gt_help_shell(FILE *out, const char *shell);

#endif

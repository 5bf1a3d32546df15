/* help.h - writes the tables of commands and options as text, as manual pages, and as completions
 * for shells. */
#ifndef GT_HELP_H
#define GT_HELP_H

#include <stdio.h>

struct gt_command;

/* Prints the text of --help: usage, paragraphs, options; for the sweep also the commands and exit
 * codes. */
void gt_help_print(FILE *out, const struct gt_command *command);

/* Prints a manual page in man(7)'s macros. */
void gt_help_man(FILE *out, const struct gt_command *command);

/* Print completions of all commands, options and choices for the programs gemmtune and tune. */
void gt_help_bash(FILE *out);
void gt_help_zsh(FILE *out);
void gt_help_fish(FILE *out);

#endif

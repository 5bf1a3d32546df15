/* help.h - what the tables of commands and options say: as text, as manual pages, and as what
 * shells complete. */
#ifndef GT_HELP_H
#define GT_HELP_H

#include <stdio.h>

struct gt_command;

/* What --help prints: usage, paragraphs, options; of the sweep also the commands and exit codes. */
void gt_help_print(FILE *out, const struct gt_command *command);

/* A manual page in man(7)'s macros. */
void gt_help_man(FILE *out, const struct gt_command *command);

/* Completions of all commands, options and choices for the programs gemmtune and tune. */
void gt_help_bash(FILE *out);
void gt_help_zsh(FILE *out);
void gt_help_fish(FILE *out);

#endif

/* commands.h - the sub-commands, one cmd_<name>.c each; main.c lists them. */
#ifndef GT_COMMANDS_H
#define GT_COMMANDS_H

struct gt_command;

extern const struct gt_command gt_command_tune;
extern const struct gt_command gt_command_show;
extern const struct gt_command gt_command_ladder;
extern const struct gt_command gt_command_bench;
extern const struct gt_command gt_command_lookup;
extern const struct gt_command gt_command_export;
extern const struct gt_command gt_command_merge;
extern const struct gt_command gt_command_recheck;
extern const struct gt_command gt_command_list;
extern const struct gt_command gt_command_doctor;

#endif

/*
 * The commands of the program, one file each. A command parses its own
 * options (arguments.h), prints results on stdout and messages on stderr, and
 * returns the exit code.
 */
#ifndef ISO_COMMANDS_H
#define ISO_COMMANDS_H

#include "isotome/status.h"

/* argv[0] is "isotome COMMAND", for usage lines. */
int iso_cmd_bench(int argc, char **argv);
int iso_cmd_calibrate(int argc, char **argv);
int iso_cmd_equiv(int argc, char **argv);
int iso_cmd_explain(int argc, char **argv);
int iso_cmd_import(int argc, char **argv);
int iso_cmd_inspect(int argc, char **argv);
int iso_cmd_plan(int argc, char **argv);
int iso_cmd_run(int argc, char **argv);
int iso_cmd_verify(int argc, char **argv);

/* A command's end: its exit code; the recorded failure is printed on stderr
 * if status is one. */
int iso_cmd_end(iso_status_t status);

#endif

/* usage.h: the texts of --help that are not of a command of the standard library. */
#ifndef CUTTLE_USAGE_H
#define CUTTLE_USAGE_H

extern const char emit_usage[], info_usage[];

/* Prints the usage of the program, with a row for each command of the standard library. */
void put_usage(void);

#endif

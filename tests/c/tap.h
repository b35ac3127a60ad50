/* tap.h: tests in C that print TAP (the Test Anything Protocol), for `prove`. A test program is a
   main that calls the checks below and ends with `return done_testing();`. The last argument of a
   check, its name, is a printf format with its arguments. */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_n_run, tap_n_failed;

/* How many of n random cases a program tests. A sanitized one looks for wrong addresses, which few cases show as well
   as many do, and takes ten times as long for each. */
#ifdef __SANITIZE_ADDRESS__
enum { TAP_IS_SANITIZED = 1, TAP_PART = 8 };
#else
enum { TAP_IS_SANITIZED = 0, TAP_PART = 1 };
#endif
#define SOME_OF(n) ((n) / TAP_PART)

__attribute__((format(printf, 1, 2))) static inline void tap_diag(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fputs("# ", stdout);
  vprintf(fmt, args);
  fputc('\n', stdout);
  va_end(args);
}

__attribute__((format(printf, 4, 5))) static inline bool tap_ok(bool passed, const char *file,
                                                                int line, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  printf("%sok %d - ", passed ? "" : "not ", ++tap_n_run);
  vprintf(fmt, args);
  fputc('\n', stdout);
  va_end(args);
  if (!passed) {
    tap_n_failed++;
    tap_diag("failed at %s:%d", file, line);
  }
  fflush(stdout);
  return passed;
}

static inline bool tap_same_str(const char *got, const char *want) {
  return got == NULL || want == NULL ? got == want : strcmp(got, want) == 0;
}

static inline void tap_skip(int n, const char *why) {
  for (int i = 0; i < n; i++) {
    printf("ok %d # skip %s\n", ++tap_n_run, why);
  }
}

/* Ends a program that cannot test anything here; call before any check. */
static inline int skip_all(const char *why) {
  printf("1..0 # skip %s\n", why);
  return 0;
}

/* Prints the plan; the result is main's. */
static inline int done_testing(void) {
  printf("1..%d\n", tap_n_run);
  return tap_n_failed == 0 ? 0 : 1;
}

/* Each yields whether the check passed. */
#define OK(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)

#define IS_STR(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, tap_name(__VA_ARGS__))
#define IS_INT(got, want, ...)                                                                     \
  tap_is_int((long long)(got), (long long)(want), __FILE__, __LINE__, tap_name(__VA_ARGS__))
#define HAS_STR(got, part, ...)                                                                    \
  tap_has_str((got), (part), __FILE__, __LINE__, tap_name(__VA_ARGS__))
#define SKIP(n, why) tap_skip((n), (why))

__attribute__((format(printf, 1, 2))) static inline const char *tap_name(const char *fmt, ...) {
  static char name[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(name, sizeof name, fmt, args);
  va_end(args);
  return name;
}

static inline bool tap_is_str(const char *got, const char *want, const char *file, int line,
                              const char *name) {
  bool passed = tap_ok(tap_same_str(got, want), file, line, "%s", name);
  if (!passed) {
    tap_diag("     got: %s", got == NULL ? "(null)" : got);
    tap_diag("expected: %s", want == NULL ? "(null)" : want);
  }
  return passed;
}

static inline bool tap_is_int(long long got, long long want, const char *file, int line,
                              const char *name) {
  bool passed = tap_ok(got == want, file, line, "%s", name);
  if (!passed) {
    tap_diag("     got: %lld", got);
    tap_diag("expected: %lld", want);
  }
  return passed;
}

static inline bool tap_has_str(const char *got, const char *part, const char *file, int line,
                               const char *name) {
  bool passed = tap_ok(got != NULL && strstr(got, part) != NULL, file, line, "%s", name);
  if (!passed) {
    tap_diag("          got: %s", got == NULL ? "(null)" : got);
    tap_diag("should contain: %s", part);
  }
  return passed;
}

#endif

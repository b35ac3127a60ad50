/* state_device.c: which device the state works on; opens devices and the CPU engine at first use. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher.h"
#include "runtime/base/env.h"
#include "state.h"

/* {====== The choice ====== */

typedef enum Choice { CHOICE_AUTO, CHOICE_CPU, CHOICE_CUDA } Choice;

/* The digits after a prefix, at most n of them, as a number; -1: there is another text. */
static int parse_number(const char *text, const char *prefix, size_t n) {
  size_t len = strlen(prefix);
  bool is = strncmp(text, prefix, len) == 0 && text[len] != '\0' && strlen(text + len) <= n &&
            strspn(text + len, "0123456789") == strlen(text + len);
  return is ? atoi(text + len) : -1;
}

/* "cpu:8": how many virtual devices. */
static CtStatus parse_virtual(const char *text, int *n, CtErr *err) {
  *n = parse_number(text, "cpu:", 4);
  if (*n < 1 || *n > STATE_MAX_VIRTUAL) {
    return ct_fail(err, CT_EINVAL,
                   "device: '%.40s' is unknown; cpu:N are N virtual devices of "
                   "the CPU engine, 1 to %d",
                   text, STATE_MAX_VIRTUAL);
  }
  return CT_OK;
}

/* *ordinal is -1 of plain "cuda"; of "cpu:8" the number of devices. */
static CtStatus parse_choice(const char *text, Choice *choice, int *ordinal, CtErr *err) {
  *ordinal = -1;
  if (strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0) {
    *choice = text[0] == 'a' ? CHOICE_AUTO : text[1] == 'p' ? CHOICE_CPU : CHOICE_CUDA;
    return CT_OK;
  }
  if (strncmp(text, "cpu:", 4) == 0) {
    *choice = CHOICE_CPU;
    return parse_virtual(text, ordinal, err);
  }
  *ordinal = parse_number(text, "cuda:", 2);
  if (*ordinal >= 0) {
    *choice = CHOICE_CUDA;
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "device: '%.40s' is unknown; auto, cpu, cpu:N, cuda or cuda:N was expected", text);
}

static CtStatus check_device(const char *given, const char *env, CtErr *err) {
  Choice choice;
  int ordinal;
  const char *text = given != NULL ? given : env != NULL ? env : "";
  CtStatus status = text[0] == '\0' ? CT_OK : parse_choice(text, &choice, &ordinal, err);
  if (status != CT_OK && given == NULL) {
    ct_err_prefix(err, "CUTTLE_DEVICE");
  }
  return status;
}

const char *state_refuse_start(const cuttle_Options *o) {
  static _Thread_local CtErr why;
  bool checks;
  bool has = o != NULL && o->size >= offsetof(cuttle_Options, device) + sizeof o->device;
  bool sees = !has || o->no_environment == 0;
  const char *device = sees ? getenv("CUTTLE_DEVICE") : NULL;
  CtStatus status = check_device(has ? o->device : NULL, device, &why);
  if (status == CT_OK && sees) {
    status = ct_env_flag("CUTTLE_CHECK", getenv("CUTTLE_CHECK"), &checks, &why);
  }
  return status == CT_OK ? NULL : why.msg;
}

CtStatus state_choose_device(CuttleState *s, const char *text, CtErr *err) {
  Choice choice;
  int ordinal;
  CtStatus st = parse_choice(text, &choice, &ordinal, err);
  if (st == CT_OK) {
    snprintf(s->device_text, sizeof s->device_text, "%s", text);
    s->is_device_open = false;
  }
  return st;
}

int state_cpu_devices(const CuttleState *s) {
  int n = parse_number(s->device_text, "cpu:", 4);
  return n < 1 ? 1 : n;
}

/* {====== CUDA ====== */

static CtStatus open_cuda(CuttleState *s, int ordinal, CtDevice **out, CtErr *err) {
  CtDeviceOptions o = {.alloc = s->alloc,
                       .ordinal = ordinal < 0 ? 0 : ordinal, /* a context of the host says it */
                       .use_stream = s->options.use_stream != 0,
                       .stream = s->options.cuda_stream,
                       .interrupt = &s->interrupt,
                       .print = state_print_to,
                       .print_ud = s};
  if (ordinal < 0) {
    o.context = s->options.cuda_context;
  }
  bool before = ct_env_ignore(s->options.no_environment != 0);
  CtStatus st = ct_device_open(&o, out, err);
  (void)ct_env_ignore(before);
  return st;
}

/* The device of plain "cuda": of the processes of one machine each has its own. */
static int own_ordinal(const CuttleState *s) {
  StateLauncher l;
  int n = 0;
  bool has = state_launcher(s, &l, NULL) == CT_OK && l.name != NULL && l.local > 0;
  return has && ct_device_count(&n, NULL) == CT_OK && l.local < n ? l.local : 0;
}

/* With a context of the host its device is whatever the context is on: ask by -1 first. */
static CtDevice *find_cuda(const CuttleState *s, int ordinal) {
  for (int i = 0; i < STATE_MAX_DEVICES; i++) {
    bool is_host = s->cuda[i] != NULL && s->options.cuda_context != NULL &&
                   ct_device_context(s->cuda[i]) == s->options.cuda_context;
    if (ordinal == i || (ordinal < 0 && is_host)) {
      return s->cuda[i];
    }
  }
  return NULL;
}

CtStatus state_cuda(CuttleState *s, int ordinal, CtDevice **out, CtErr *err) {
  if (ordinal < 0 && s->options.cuda_context == NULL) {
    ordinal = own_ordinal(s);
  }
  CtDevice *d = find_cuda(s, ordinal);
  if (d == NULL) {
    if (ordinal >= STATE_MAX_DEVICES) {
      return ct_fail(err, CT_EMISSING, "device: cuda:%d is out of range; 0 to %d were expected",
                     ordinal, STATE_MAX_DEVICES - 1);
    }
    CtStatus st = open_cuda(s, ordinal, &d, err);
    if (st != CT_OK) {
      return st;
    }
    int at = ct_device_info(d)->ordinal;
    if (at < 0 || at >= STATE_MAX_DEVICES || s->cuda[at] != NULL) {
      ct_device_close(d);
      return ct_fail(err, CT_EMISSING, "device: cuda:%d cannot be opened twice", at);
    }
    s->cuda[at] = d;
  }
  *out = d;
  return CT_OK;
}

/* {====== The current device ====== */

static CtStatus open_auto(CuttleState *s, CtDevice **out) {
  CtErr err;
  CtDevice *d = NULL;
  s->device_why[0] = '\0';
  if (state_cuda(s, -1, &d, &err) != CT_OK) {
    char line[1100];
    d = NULL;
    snprintf(s->device_why, sizeof s->device_why, "%s", err.msg);
    snprintf(line, sizeof line, "no CUDA device (%s): the CPU engine is used", s->device_why);
    state_log(s, line);
  }
  *out = d;
  return CT_OK;
}

CtStatus state_named_device(CuttleState *s, const char *text, CtDevice **out, CtErr *err) {
  Choice choice;
  int ordinal;
  CtStatus st = parse_choice(text, &choice, &ordinal, err);
  if (st != CT_OK) {
    return st;
  }
  switch (choice) {
    case CHOICE_AUTO: return open_auto(s, out);
    case CHOICE_CUDA: return state_cuda(s, ordinal, out, err);
    case CHOICE_CPU: *out = NULL; break;
  }
  return CT_OK;
}

CtStatus state_device(CuttleState *s, CtDevice **out, CtErr *err) {
  if (!s->is_device_open) {
    CtStatus st = state_named_device(s, s->device_text, &s->device, err);
    if (st != CT_OK) {
      return st;
    }
    s->is_device_open = true;
  }
  *out = s->device;
  return CT_OK;
}

/* {====== The CPU engine ====== */

CtStatus state_open_simt(CuttleState *s, CtErr *err) {
  const char *given = state_env(s, "CUTTLE_ISA");
  const char *isa = given == NULL || given[0] == '\0' ? NULL : given;
  double threads = 0;
  CtStatus st = ct_env_number("CUTTLE_THREADS", state_env(s, "CUTTLE_THREADS"), 0, INT_MAX, true,
                              &threads, err);
  st = st == CT_OK ? ct_simt_open(s->alloc, (int)threads, isa, &s->simt, err) : st;
  s->simt = st == CT_OK ? s->simt : NULL;
  return st;
}

/* ir_function.c: functions that a kernel calls, each with an IR of its own. */
#include <string.h>

#include "ir.h"

CtIrFunction *ct_ir_function_new(CtAlloc alloc, const char *key) {
  size_t bytes = strlen(key) + 1;
  CtIrFunction *f = ct_alloc(alloc, sizeof *f);
  char *own = ct_alloc(alloc, bytes);
  if (f == NULL || own == NULL) {
    ct_free(alloc, f, sizeof *f);
    ct_free(alloc, own, bytes);
    return NULL;
  }
  memset(f, 0, sizeof *f);
  memcpy(own, key, bytes);
  f->key = own;
  ct_arena_init(&f->ir.arena, alloc);
  return f;
}

void ct_ir_functions_free(CtAlloc alloc, CtIrFunction *list) {
  while (list != NULL) {
    CtIrFunction *next = list->next;
    ct_ir_clear(&list->ir);
    ct_free(alloc, list->key, strlen(list->key) + 1);
    ct_free(alloc, list, sizeof *list);
    list = next;
  }
}

const CtIrFunction *ct_ir_function_find(const CtIr *ir, const char *key) {
  const CtIrFunction *f = ir->functions;
  while (f != NULL && strcmp(f->key, key) != 0) {
    f = f->next;
  }
  return f;
}

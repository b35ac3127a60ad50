/* ir_function.c: functions that a kernel calls, each with an IR of its own. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "ir_make.h"

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

static void free_one(CtAlloc alloc, CtIrFunction *f) {
  ct_ir_clear(&f->ir);
  ct_free(alloc, f->key, strlen(f->key) + 1);
  ct_free(alloc, f, sizeof *f);
}

void ct_ir_functions_free(CtAlloc alloc, CtIrFunction *list) {
  while (list != NULL) {
    CtIrFunction *next = list->next;
    free_one(alloc, list);
    list = next;
  }
}

bool ct_ir_function_is_called(const CtIrFunction *f) {
  bool computes = f->ir.n_returns == 0;
  for (int i = 0; i < f->ir.n_returns; i++) {
    CtReturnKind kind = f->ir.returns[i].kind;
    computes = computes || kind == CT_RETURN_VALUE || kind == CT_RETURN_EXACT;
  }
  return computes && f->ir.open_results == 0;
}

CtIrFunction *ct_ir_functions_called(CtAlloc alloc, CtIrFunction *list) {
  for (CtIrFunction **at = &list; *at != NULL;) {
    CtIrFunction *f = *at;
    if (ct_ir_function_is_called(f)) {
      at = &f->next;
    } else {
      *at = f->next;
      free_one(alloc, f);
    }
  }
  return list;
}

const CtIrFunction *ct_ir_function_find(const CtIr *ir, const char *key) {
  const CtIrFunction *f = ir->functions;
  while (f != NULL && strcmp(f->key, key) != 0) {
    f = f->next;
  }
  return f;
}

/* One parameter of the call, if the function uses it: "$a1", or "&$r1" of a result. */
static void add_parameter(const CtSlot *slot, const CtVal *args, CtEscape *e, const char **names,
                          CtVal *vals, CtTextOut *outs, CtText *text) {
  bool is_result = slot->kind == CT_SLOT_POINTER;
  if (!is_result && !slot->used) {
    return;
  }
  ct_text_printf(text, "%s%s%s", e->n + e->n_outs == 0 ? "" : ", ", is_result ? "&$" : "$",
                 slot->name);
  if (is_result) {
    outs[e->n_outs++] = (CtTextOut){.name = slot->name, .type = slot->dtype};
  } else {
    names[e->n] = slot->name; /* "a1" */
    vals[e->n++] = args[strtol(slot->name + 1, NULL, 10) - 1];
  }
}

bool ct_text_is_call(const CtEscape *e) { return strncmp(e->text, "$@", 2) == 0; }

CtVal ct_ir_call(CtIr *ir, const CtIrFunction *f, const CtVal *args) {
  size_t n = f->ir.n_slots + 1;
  const char **names = ct_arena_alloc(&ir->arena, n * sizeof *names);
  CtVal *vals = ct_arena_alloc(&ir->arena, n * sizeof *vals);
  CtTextOut *outs = ct_arena_alloc(&ir->arena, n * sizeof *outs);
  CtText text;
  if (names == NULL || vals == NULL || outs == NULL) {
    ir->failed = true;
    return 0;
  }
  CtEscape e = {.names = names, .vals = vals, .outs = outs};
  ct_text_init(&text, ir->arena.alloc);
  ct_text_printf(&text, "$@%s(", f->ir.name);
  for (size_t i = 0; i < f->ir.n_slots; i++) {
    add_parameter(&f->ir.slots[i], args, &e, names, vals, outs, &text);
  }
  ct_text_puts(&text, ");");
  e.text = ct_text_str(&text);
  ir->failed = ir->failed || text.failed;
  CtVal v = ir->failed ? 0 : ct_ir_code(ir, CT_VOID, &e);
  ct_text_clear(&text);
  return v;
}

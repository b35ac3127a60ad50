/* simt_listing.h: a program of the CPU engine as text: one line per instruction, with the line of the
   script where it changes. Slots are named by kind: s scalar, m mask, v lanes, var, p pattern, t table,
   r registers; their numbers are places in a warp's memory. */
#ifndef SIMT_LISTING_H
#define SIMT_LISTING_H

#include <string.h>

#include "runtime/simt/code/simt_program.h"

static void print_slot(const CtSimtProgram *p, char role, uint32_t at, CtText *out) {
  if (at >= p->vars_at && at < p->vars_end) {
    ct_text_printf(out, "var%u", (at - p->vars_at) / 4);
    return;
  }
  switch (role | 0x20) {
    case 's': ct_text_printf(out, "s%u", (at - p->scalars_at) / 8); break;
    case 'm': ct_text_printf(out, "m%u", (at - p->masks_at) / 4); break;
    case 'p':
    case 't': ct_text_printf(out, "%c%u", role | 0x20, (at - p->vars_end) / 8); break;
    default: ct_text_printf(out, "v%u", (at - p->lanes_at) / 128); break;
  }
}

static void print_field(const CtSimtProgram *p, char role, uint32_t value, uint32_t pos,
                        CtText *out) {
  switch (role) {
    case 'b': ct_text_puts(out, p->bufs[ct_in_buf(&p->code[pos])].name); break;
    case 'k':
    case 'r': ct_text_printf(out, "%s%d", role == 'r' ? "row" : "", (int32_t)value); break;
    case 'l': ct_text_printf(out, "-> %u", pos + value); break;
    default: print_slot(p, role, value, out); break;
  }
}

static void print_arg(const CtSimtProgram *p, const CtTileArg *arg, CtText *out) {
  ct_text_printf(out, " %s[", p->bufs[arg->buf].name);
  if (arg->lanes.kind != CT_REF_STATIC) {
    print_slot(p, 'v', (uint32_t)arg->lanes.v, out);
  } else {
    print_slot(p, 's', arg->base, out);
    if (arg->pattern != 0) {
      ct_text_putc(out, '+');
      print_slot(p, 'p', arg->pattern, out);
    }
    if (arg->imm != 0) {
      ct_text_printf(out, "%+lld", (long long)arg->imm);
    }
  }
  for (int i = 0; i < 2; i++) {
    if (p->modes[arg->mode[i]].n != 1) {
      ct_text_printf(out, " #%u", arg->mode[i]);
    }
  }
  ct_text_putc(out, ']');
}

static void print_tile(const CtSimtProgram *p, const CtTileOp *t, CtText *out) {
  ct_text_printf(out, " %s %s:", ct_ops[t->op].text, ct_dtypes[t->dtype].name);
  print_arg(p, &t->dst, out);
  if (t->a.buf != 0) {
    ct_text_puts(out, " <-");
    print_arg(p, &t->a, out);
  }
  if (t->b.buf != 0) {
    print_arg(p, &t->b, out);
  }
}

static void print_in(const CtSimtProgram *p, uint32_t pos, CtText *out) {
  const CtIn *in = &p->code[pos];
  const char *roles = ct_in_roles(in);
  const uint32_t fields[4] = {in->d, in->a, in->b, in->c};
  const char *sep = " ";
  ct_text_printf(out, "%5u  %-14s", pos, ct_simt_rows[in->u.op].name);
  for (int i = 0; i < 4; i++) {
    if (roles[i] == '.' || (roles[i] == '*' && fields[i] == 0)) {
      continue;
    }
    ct_text_puts(out, sep);
    print_field(p, roles[i], fields[i], pos, out);
    sep = ", ";
  }
  if (ct_in_is(in, CT_INS_TILE) || ct_in_is(in, CT_INS_GUARD)) {
    print_tile(p, &p->tiles[in->imm], out);
  } else if (in->u.op == CT_SIMT_TABLE) {
    ct_text_printf(out, " #%lld", (long long)in->imm);
  } else if (in->imm != 0) {
    ct_text_printf(out, ", %lld", (long long)in->imm);
  }
  ct_text_putc(out, '\n');
}

static void print_ref(const CtSimtProgram *p, CtRef r, CtText *out) {
  if (r.kind == CT_REF_STATIC) {
    ct_text_printf(out, "%lld", (long long)r.v);
  } else {
    print_slot(p, r.kind == CT_REF_SCALAR ? 's' : 'v', (uint32_t)r.v, out);
  }
}

static void print_modes(const CtSimtProgram *p, CtText *out) {
  for (uint32_t i = 0; i < p->n_modes; i++) {
    const CtTileMode *m = &p->modes[i];
    if (m->n == 1) {
      continue;
    }
    ct_text_printf(out, "#%u:", i);
    for (uint32_t j = 0; j < m->n_leaves; j++) {
      ct_text_putc(out, ' ');
      print_ref(p, m->leaves[j].extent, out);
      ct_text_putc(out, ':');
      print_ref(p, m->leaves[j].stride, out);
    }
    ct_text_puts(out, m->fixed != NULL ? "" : m->table != 0 ? ", table" : ", by element");
    ct_text_putc(out, '\n');
  }
}

static void print_consts(const CtSimtProgram *p, CtText *out) {
  for (uint32_t i = 0; i < p->n_consts; i++) {
    ct_text_printf(out, "s%u = 0x%llx\n", i, (unsigned long long)p->consts[i].i);
  }
  for (uint32_t i = 0; i < p->n_params; i++) {
    ct_text_printf(out, "s%u = slot %u\n", (p->params[i].at - p->scalars_at) / 8,
                   p->params[i].slot);
  }
}

static void list_program(const CtSimtProgram *p, CtText *out) {
  CtLoc loc = {0};
  ct_text_printf(out, "%s: %d threads, %u bytes per warp, %u shared\n", p->name, p->n_threads,
                 p->warp_bytes, p->shared_bytes);
  print_consts(p, out);
  print_modes(p, out);
  for (uint32_t i = 0; i < p->n_code; i++) {
    if (i == 0 || i == p->body) {
      ct_text_puts(out, i == 0 ? "prologue:\n" : "body:\n");
    }
    if (p->locs[i].line != loc.line || p->locs[i].chunk != loc.chunk) {
      loc = p->locs[i];
      ct_text_printf(out, "; %s:%d\n", p->chunks[loc.chunk], loc.line);
    }
    print_in(p, i, out);
  }
}

#endif

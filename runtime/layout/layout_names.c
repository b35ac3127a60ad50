/* layout_names.c: modes by their names: finding, naming, forgetting. Each operation decides, as it
   builds its result, how names follow the modes. */
#include "layout_algebra.h"

/* --- finding ----------------------------------------------------------------------------------- */

typedef struct Search {
  CtModeName name;
  int depth;              /* the depth to search: the children of the root are at 1 */
  int found;              /* number of modes found */
  int path[CT_MAX_DEPTH]; /* where the search is */
  int first[CT_MAX_DEPTH];
  CtText *paths; /* text of all paths, or NULL */
} Search;

static void print_path(const int *path, int n, CtText *out) {
  ct_text_putc(out, '{');
  for (int i = 0; i < n; i++) {
    ct_text_printf(out, i == 0 ? "%d" : ",%d", path[i]);
  }
  ct_text_putc(out, '}');
}

static void note_found(Search *s) {
  if (s->found == 0) {
    for (int i = 0; i < s->depth; i++) {
      s->first[i] = s->path[i];
    }
  }
  if (s->paths != NULL) {
    ct_text_puts(s->paths, s->found == 0 ? "" : " and ");
    print_path(s->path, s->depth, s->paths);
  }
  s->found++;
}

/* Notes the nodes at that depth that have the name themselves. */
static void search(Search *s, CtTuple t, CtModeName around, int depth) {
  if (depth == s->depth) {
    if (t->name == s->name && t->name != around) {
      note_found(s);
    }
    return;
  }
  if (ct_is_leaf(t)) {
    return;
  }
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    s->path[depth] = c == ct_first(t) ? 0 : s->path[depth] + 1;
    search(s, c, t->name, depth + 1);
  }
}

/* The names that nodes have of their own, each once, in preorder: "M, K". */
static void print_names(CtTuple shape, CtText *out) {
  for (uint32_t i = 0; i < shape->len; i++) {
    bool is_new = shape[i].name != 0;
    for (uint32_t k = 0; k < i; k++) {
      is_new = is_new && shape[k].name != shape[i].name;
    }
    if (is_new) {
      ct_text_puts(out, out->len == 0 ? "" : ", ");
      ct_mode_name_print(shape[i].name, out);
    }
  }
}

static void fail_missing(CtAlg *g, const char *op, CtLayout l, CtModeName name) {
  char text[CT_MODE_NAME_MAX + 1];
  CtText names;
  ct_text_init(&names, g->cx.arena->alloc);
  print_names(l.shape, &names);
  al_fail(g, CT_EINVAL, "%s: no mode is named '%s' in %s; its modes %s%s", op,
          ct_mode_name_unpack(name, text), al_show_layout(g, l),
          names.len > 0 ? "are " : "have no names", names.len > 0 ? ct_text_str(&names) : "");
  ct_text_clear(&names);
}

static void fail_ambiguous(CtAlg *g, const char *op, CtLayout l, CtModeName name, int depth) {
  char text[CT_MODE_NAME_MAX + 1];
  CtText paths;
  ct_text_init(&paths, g->cx.arena->alloc);
  Search s = {.name = name, .depth = depth, .paths = &paths};
  search(&s, l.shape, 0, 0);
  al_fail(g, CT_EINVAL, "%s: mode '%s' of %s is at paths %s; give a path", op,
          ct_mode_name_unpack(name, text), al_show_layout(g, l), ct_text_str(&paths));
  ct_text_clear(&paths);
}

int al_find_mode(CtAlg *g, const char *op, CtLayout l, CtModeName name, int path[CT_MAX_DEPTH]) {
  Search s = {.name = name};
  int deepest = al_ok(g) ? ct_depth(l.shape) : -1;
  for (; s.depth <= deepest && s.found == 0; s.depth++) {
    search(&s, l.shape, 0, 0);
  }
  s.depth--;
  if (s.found > 1) {
    fail_ambiguous(g, op, l, name, s.depth);
  } else if (s.found == 0 && al_ok(g)) {
    fail_missing(g, op, l, name);
  }
  for (int i = 0; i < s.depth; i++) {
    path[i] = s.first[i];
  }
  return s.depth < 0 ? 0 : s.depth;
}

CtModeName ct_own_name(CtTuple t, int i) {
  CtTuple c = ct_child(t, i);
  return ct_is_leaf(t) || c->name != t->name ? c->name : 0;
}

/* --- naming ------------------------------------------------------------------------------------ */

/* Renames to `name` those nodes from *at on that have inherited `old` from this node. */
static void rename_node(CtNode *node, CtModeName old, CtModeName name) {
  if (node->name != old) {
    return;
  }
  node->name = name;
  if (ct_is_leaf(node)) {
    return;
  }
  for (CtNode *c = node + 1; c != node + node->len; c += c->len) {
    rename_node(c, old, name);
  }
}

void ct_rename_mode(CtNode *shape, int n, const int *path, CtModeName name) {
  CtNode *node = shape;
  CtModeName around = 0;
  for (int i = 0; i < n && !ct_is_leaf(node); i++) { /* a leaf is its own child */
    around = node->name;
    node++;
    for (int k = 0; k < path[i]; k++) {
      node += node->len;
    }
  }
  rename_node(node, node->name, name != 0 ? name : around);
}

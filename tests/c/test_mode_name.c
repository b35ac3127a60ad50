/* test_mode_name.c: names of modes: packing, and their place in the text of shapes and layouts. */
#include "runtime/layout/mode_name.h"

#include "runtime/layout/layout.h"
#include "tap.h"

static CtArena arena;
static CtErr err;

static const char letters[64] =
    /* 63 and a NUL */ "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* --- packing ----------------------------------------------------------------------------------- */

/* A name of `len` characters, the first no digit; the others in turn. */
static void make_name(char *s, size_t len, uint32_t seed) {
  for (size_t i = 0; i < len; i++) {
    s[i] = letters[(seed + i * 7) % (i == 0 ? 53 : 63)];
  }
  s[len] = '\0';
}

static void test_round_trip(void) {
  char in[CT_MODE_NAME_MAX + 1], out[CT_MODE_NAME_MAX + 1];
  int n_same = 0, n = 0, n_distinct = 0;
  CtModeName before = 0, name = 0;
  for (size_t len = 1; len <= CT_MODE_NAME_MAX; len++) {
    for (uint32_t seed = 0; seed < 63; seed++) {
      make_name(in, len, seed);
      if (strcmp(in, "_") == 0) {
        continue;
      }
      n++;
      n_same += ct_mode_name_pack(in, len, &name, &err) == CT_OK && name != 0 &&
                strcmp(ct_mode_name_unpack(name, out), in) == 0;
      n_distinct += name != before;
      before = name;
    }
  }
  IS_INT(n_same, n, "what is packed is unpacked, at every length");
  OK(n_distinct >= n - 10, "and different names are different numbers");
}

static void test_axis(void) {
  char out[CT_MODE_NAME_MAX + 1];
  CtModeName name = 0, other = 0;
  OK(ct_mode_name_pack("gpu@model", 9, &name, &err) == CT_OK &&
         strcmp(ct_mode_name_unpack(name, out), "gpu@model") == 0,
     "a name may say an axis");
  OK(ct_mode_name_pack("gpu_model", 9, &other, &err) == CT_OK && other != name, "by an @");
  OK(ct_mode_name_pack(&"9_@_@__@_9"[1], 9, &name, &err) == CT_OK &&
         strcmp(ct_mode_name_unpack(name, out), "_@_@__@_9") == 0,
     "several are a name, too");
}

static void is_fault(const char *s, const char *fault) {
  CtModeName name = 7;
  CtStatus st = ct_mode_name_pack(s, strlen(s), &name, &err);
  OK(st == CT_EINVAL && strstr(err.msg, fault) != NULL && name == 7, "'%s' %s: %s", s, fault,
     err.msg);
}

static void test_faults(void) {
  CtModeName name = 0;
  is_fault("", "is empty");
  is_fault("abcdefghijk", "is longer than 10 characters");
  is_fault("M-1", "has a character that is not a letter, digit or _");
  is_fault("a b", "has a character that is not a letter, digit or _");
  is_fault("\xc3\xa9", "' has a character");
  is_fault("2M", "begins with a digit");
  is_fault("_", "is the wildcard");
  is_fault("gpu@", "has an @ that is not between two names");
  is_fault("@model", "has an @ that is not between two names");
  is_fault("a@@b", "has an @ that is not between two names");
  OK(ct_mode_name_pack("a\0b", 3, &name, &err) == CT_EINVAL, "a NUL is no character of a name");
  OK(ct_mode_name_pack("_1", 2, &name, &err) == CT_OK, "an underscore may come first");
}

/* --- text -------------------------------------------------------------------------------------- */

static const char *layout_text(const char *s) {
  static char text[1024];
  CtCx cx = {&arena, NULL};
  CtLayout l;
  CtText out;
  if (ct_layout_parse(&arena, s, strlen(s), &l, &err) != CT_OK) {
    return err.msg;
  }
  ct_text_init(&out, ct_alloc_std);
  ct_layout_print(&cx, l, &out);
  snprintf(text, sizeof text, "%s", ct_text_str(&out));
  ct_text_clear(&out);
  return text;
}

static void same_text(const char *s) { IS_STR(layout_text(s), s, "%s is read and written", s); }

static void test_layouts(void) {
  same_text("(M=128,K=64):(1,128)");
  same_text("(M=(8,4),K=64):((1,8),32)");
  same_text("(M=(a=8,b=4),K=64):((1,8),32)");
  same_text("M=8:1");
  same_text("all=(4,b=(2,3)):(1,(4,8))");
  same_text("((M=8,K=4),(M=16,K=16)):((1,128),(8,512))");
  same_text("(M=1,_a=2,Z_9=3):(0,1,2)");
  IS_STR(layout_text(" ( M = 8 , K=( 4 ,2) ) "), "(M=8,K=(4,2)):(1,(8,32))", "spaces, no strides");
  IS_STR(layout_text("(M=(M=2,4),K=8):((1,2),8)"), "(M=(2,4),K=8):((1,2),8)",
         "a part that says what its mode says says nothing");
  IS_STR(layout_text("M=(K=(M=2,3),4)"), "M=(K=(M=2,3),4):((1,2),6)",
         "but one inside a mode of another name does");
}

static void test_layout_errors(void) {
  IS_STR(layout_text("(M=4):(M=1)"),
         "layout: strides have no names; unexpected name at column 7 of '(M=4):(M=1)'", "stride");
  IS_STR(layout_text("(abcdefghijk=4)"),
         "layout: a name of a mode that is longer than 10 characters at column 1 of "
         "'(abcdefghijk=4)'",
         "too long");
  IS_STR(layout_text("(_=4)"),
         "layout: a name of a mode that is the wildcard at column 1 of '(_=4)'", "wildcard");
  IS_STR(layout_text("(M=)"), "layout: expected a number at column 3 of '(M=)'", "nothing named");
  IS_STR(layout_text("(M=N=4)"), "layout: expected a number at column 3 of '(M=N=4)'", "twice");
  IS_STR(layout_text("(M 4)"), "layout: expected a number at column 1 of '(M 4)'", "no '='");
  IS_STR(layout_text("(=4)"), "layout: expected a number at column 1 of '(=4)'", "no name");
  IS_STR(layout_text("(4M=4)"), "layout: expected ')' at column 2 of '(4M=4)'", "digit first");
}

static void test_where_names_go(void) {
  CtTuple t;
  CtTiler tiler;
  OK(ct_shape_parse(&arena, "(M=4,K=8)", 9, &t, &err) == CT_OK && ct_has_names(t), "in a shape");
  IS_INT(ct_tuple_parse(&arena, "(M=4,K=8)", 9, &t, &err), CT_EINVAL, "not in any tuple");
  HAS_STR(err.msg, "tuple: only the modes of a shape have names", "as the message says");
  IS_INT(ct_tiler_parse(&arena, "(M=4,K=8)", 9, &tiler, &err), CT_EINVAL, "not in tile sizes");
  HAS_STR(err.msg, "tiler: tile sizes cannot have names", "as the message says");
  OK(ct_tiler_parse(&arena, "<M=4:1,8:1>", 11, &tiler, &err) == CT_OK, "in a layout of a tiler");
}

/* Whatever bytes come in, a text that is read is written as a text that reads the same. */
static void test_any_text(void) {
  static const char bytes[] = "MK_a19(),:= @-";
  char s[40], once[1024];
  int n_read = 0, n_same = 0;
  uint32_t state = 12345;
  for (int i = 0; i < 300000; i++) {
    size_t len = 0;
    for (size_t n = 1 + (size_t)i % 16; len < n; len++) {
      state = state * 1664525u + 1013904223u;
      s[len] = bytes[(state >> 16) % (sizeof bytes - 1)];
    }
    s[len] = '\0';
    const char *text = layout_text(s);
    if (strncmp(text, "layout: ", 8) != 0 && strncmp(text, "integer: ", 9) != 0) {
      snprintf(once, sizeof once, "%s", text);
      n_read++;
      n_same += strcmp(layout_text(once), once) == 0;
    }
    ct_arena_reset(&arena);
  }
  OK(n_read > 1000, "%d random texts are layouts", n_read);
  IS_INT(n_same, n_read, "and all are written so that they read the same");
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_round_trip();
  test_axis();
  test_faults();
  test_layouts();
  test_layout_errors();
  test_where_names_go();
  test_any_text();
  ct_arena_clear(&arena);
  return done_testing();
}

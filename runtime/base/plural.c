/* plural.c: see plural.h. */
#include "plural.h"

#include <string.h>

static const char *const nouns[] = {
    "argument", "array",         "arrival",    "atom",     "barrier",   "batch",
    "bit",      "block",         "box",        "byte",     "character", "cluster",
    "column",   "configuration", "coordinate", "device",   "digit",     "dimension",
    "element",  "extent",        "finding",    "group",    "head",      "instruction",
    "key",      "lane",          "launch",     "line",     "mode",      "multiprocessor",
    "number",   "operand",       "parameter",  "part",     "phase",     "place",
    "point",    "process",       "rank",       "register", "result",    "row",
    "scale",    "shape",         "slot",       "stage",    "step",      "stride",
    "tensor",   "thread",        "tile",       "time",     "token",     "turn",
    "value",    "warp",          "wavefront",  "word"};

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_noun(const char *word, size_t n) {
  bool is = false;
  for (size_t i = 0; i < CT_ARRAY_LEN(nouns) && !is; i++) {
    is = strlen(nouns[i]) == n && memcmp(word, nouns[i], n) == 0;
  }
  return is;
}

/* Is the 1 before this place a count? It stands alone, and after no noun: "rank 1 launches" is not one. */
static bool is_count(const char *text, const char *word) {
  const char *one = word - 2;
  bool is_alone = one == text || one[-1] == ' ' || one[-1] == '(' || one[-1] == '\n';
  const char *end = one > text && one[-1] == ' ' ? one - 1 : one, *from = end;
  while (from > text && is_letter(from[-1])) {
    from--;
  }
  return is_alone && !is_noun(from, (size_t)(end - from));
}

/* How many letters of the word are a noun of the list, if it is the noun's plural; 0: it is none. */
static size_t noun_of(const char *word, size_t n) {
  for (size_t i = 0; i < CT_ARRAY_LEN(nouns); i++) {
    size_t len = strlen(nouns[i]);
    bool hisses = nouns[i][len - 1] == 'x' || nouns[i][len - 1] == 'h' || nouns[i][len - 1] == 's';
    if (n == len + 1 + hisses && memcmp(word, nouns[i], len) == 0 &&
        memcmp(word + len, hisses ? "es" : "s", n - len) == 0) {
      return len;
    }
  }
  return 0;
}

void ct_agree(char *text) {
  for (char *at = strstr(text, "1 "); at != NULL; at = strstr(at + 1, "1 ")) {
    char *word = at + 2;
    size_t n = 0;
    while (is_letter(word[n])) {
      n++;
    }
    size_t keep = is_count(text, word) ? noun_of(word, n) : 0;
    if (keep != 0) {
      memmove(word + keep, word + n, strlen(word + n) + 1);
    }
  }
}

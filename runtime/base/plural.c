/* plural.c: see plural.h. */
#include "plural.h"

#include <string.h>

/* Each with a blank before and after it. */
static const char nouns[] =
    " argument array arrival atom barrier batch bit block box byte character cluster column "
    "configuration coordinate device digit dimension element extent finding group head "
    "instruction iteration key lane launch line mode multiprocessor name number operand "
    "parameter part phase place point process product rank register result row scale shape "
    "slot stage step stride tensor thread tile time token turn value warp wavefront word ";

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_noun(const char *word, size_t n) {
  bool is = false;
  for (const char *at = nouns; n > 0 && !is && (at = strchr(at, ' ')) != NULL; at++) {
    is = strncmp(at + 1, word, n) == 0 && at[1 + n] == ' ';
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
  if (n < 3 || word[n - 1] != 's') {
    return 0;
  }
  bool hisses = word[n - 2] == 'e' && strchr("xhs", word[n - 3]) != NULL;
  return is_noun(word, n - 1) ? n - 1 : hisses && is_noun(word, n - 2) ? n - 2 : 0;
}

static size_t letters_at(const char *word) {
  size_t n = 0;
  while (is_letter(word[n])) {
    n++;
  }
  return n;
}

static bool follows(const char *text, const char *at, const char *words) {
  size_t n = strlen(words);
  return (size_t)(at - text) >= n && memcmp(at - n, words, n) == 0;
}

/* Puts another word in the place of `n` letters. */
static void put(char *at, size_t n, const char *word) {
  size_t len = strlen(word);
  memmove(at + len, at + n, strlen(at + n) + 1);
  for (size_t i = 0; i < len; i++) {
    at[i] = word[i];
  }
}

/* Verbs after a count, and what they are after 1. */
static const char *const verbs[][2] = {
    {"are", "is"}, {"have", "has"}, {"were", "was"}, {"wait", "waits"}};

static void agree_verb(char *at) {
  size_t n = letters_at(at);
  for (size_t i = 0; i < CT_ARRAY_LEN(verbs); i++) {
    if (strlen(verbs[i][0]) == n && memcmp(at, verbs[i][0], n) == 0) {
      put(at, n, verbs[i][1]);
      return;
    }
  }
}

/* "1 were expected". Of other verbs a bare number need not be the subject. */
static bool is_were(const char *word, size_t n) { return n == 4 && memcmp(word, "were", 4) == 0; }

/* What follows the 1 at `at`. A verb after "2 rows and 1 columns" or "0 to 1" has more than one subject. */
static void agree_after(const char *text, char *at) {
  char *word = at + 2;
  word += strncmp(word, "more ", 5) == 0 ? 5 : 0;
  size_t n = letters_at(word), keep = noun_of(word, n);
  bool is_alone = !follows(text, at, "and ") && !follows(text, at, "to ");
  if (keep != 0) {
    put(word + keep, n - keep, "");
  }
  if (keep != 0 && word[keep] == ' ' && is_alone) {
    agree_verb(word + keep + 1);
  } else if (is_were(word, n) && is_alone) {
    agree_verb(word);
  }
}

void ct_agree(char *text) {
  for (char *at = strstr(text, "1 "); at != NULL; at = strstr(at + 1, "1 ")) {
    if (is_count(text, at + 2)) {
      agree_after(text, at);
      if (follows(text, at, "there are ")) {
        put(at - strlen("are "), strlen("are"), "is");
        at--;
      }
    }
  }
}

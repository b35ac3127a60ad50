/* spec_twin.c: texts that differ by their kernel's name alone are compiled once. Kernels that one line of a script
   defines under several names have such texts, as those of a loop or of a template do: #line is a part of a text.
   The state keeps the last images; a twin loads the image of another kernel by that one's symbol. */
#include <ctype.h>
#include <string.h>

#include "spec_twin.h"

enum { KEPT_IMAGES = 32, KEPT_BYTES = 1 << 20 };

/* An image that was compiled, and the name of its kernel there. */
typedef struct Image {
  StateBlock block; /* the next one is older */
  CtHashKey key;
  char symbol[CT_EMIT_NAME_MAX];
  size_t len;
  char bytes[];
} Image;

static bool is_word(char c) { return isalnum((unsigned char)c) != 0 || c == '_'; }

/* The end of the word, the quoted text or the character that begins at s. */
static const char *next_token(const char *s) {
  if (is_word(*s)) {
    while (is_word(*s)) {
      s++;
    }
    return s;
  }
  if (*s != '"') {
    return s + 1;
  }
  for (s++; *s != '\0' && *s != '"'; s++) {
    s += *s == '\\' && s[1] != '\0';
  }
  return *s == '"' ? s + 1 : s;
}

/* The text without its symbol. What a text in quotes says stays: a kernel may print its name. */
static void add_source(CtHash *h, const char *source, const char *symbol) {
  size_t len = strlen(symbol);
  for (const char *s = source, *end; *s != '\0'; s = end) {
    end = next_token(s);
    if ((size_t)(end - s) == len && memcmp(s, symbol, len) == 0) {
      ct_hash_add(h, "\1", 1);
    } else {
      ct_hash_add(h, s, (size_t)(end - s));
    }
  }
}

CtHashKey spec_twin_key(const CtNvrtcJob *job, const char *symbol) {
  CtHash h;
  ct_hash_init(&h);
  ct_hash_field(&h, job->arch, strlen(job->arch));
  for (int i = 0; i < job->n_options; i++) {
    ct_hash_field(&h, job->options[i], strlen(job->options[i]));
  }
  add_source(&h, job->source, symbol);
  return ct_hash_end(&h);
}

bool spec_twin_find(const CuttleState *s, CtHashKey key, char symbol[CT_EMIT_NAME_MAX],
                    CtNvrtcOutput *out) {
  const StateBlock *b = s->images;
  const Image *image = NULL;
  for (; b != NULL && image == NULL; b = b->next) {
    const Image *one = (const Image *)(const void *)b;
    image = one->key.lo == key.lo && one->key.hi == key.hi ? one : NULL;
  }
  if (image == NULL) {
    return false;
  }
  *out = (CtNvrtcOutput){.from_cache = true};
  ct_text_init(&out->image, s->alloc);
  ct_text_init(&out->log, s->alloc);
  ct_text_add(&out->image, image->bytes, image->len);
  if (out->image.failed) {
    ct_nvrtc_output_clear(out);
    return false;
  }
  memcpy(symbol, image->symbol, CT_EMIT_NAME_MAX);
  return true;
}

/* Frees the oldest ones, so that fewer than KEPT_IMAGES stay. */
static void forget_oldest(CuttleState *s) {
  StateBlock **link = &s->images;
  for (int n = 0; *link != NULL && n < KEPT_IMAGES - 1; n++) {
    link = &(*link)->next;
  }
  while (*link != NULL) {
    StateBlock *old = *link;
    *link = old->next;
    ct_free(s->alloc, old, old->bytes);
  }
}

void spec_twin_keep(CuttleState *s, CtHashKey key, const char symbol[CT_EMIT_NAME_MAX],
                    const CtNvrtcOutput *made) {
  size_t bytes = sizeof(Image) + made->image.len;
  Image *image = made->image.len > KEPT_BYTES ? NULL : ct_alloc(s->alloc, bytes);
  if (image == NULL) {
    return; /* then a twin is compiled */
  }
  forget_oldest(s);
  image->block = (StateBlock){s->images, bytes};
  image->key = key;
  image->len = made->image.len;
  memcpy(image->symbol, symbol, CT_EMIT_NAME_MAX);
  memcpy(image->bytes, made->image.s, image->len);
  s->images = &image->block;
}

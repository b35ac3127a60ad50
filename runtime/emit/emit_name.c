/* emit_name.c: identifiers of the emitted text. A name is free again when its scope ends. Numbers
   follow the order of declaration, so the text depends only on the kernel. */
#include "emit.h"

#include <stdio.h>
#include <string.h>

#include "runtime/ir/atom.h"

struct CtName {
  CtName *next;    /* in its bucket */
  CtName *base;    /* "p" of "p_2" */
  uint32_t number; /* 2 of "p_2" */
  uint32_t to_try; /* the number after the last one given to this base */
  bool taken;
  bool hidden; /* a CUDA text of the script may declare it */
  char text[];
};

enum { MAX_NAME = 80 };

/* Words of C++ and CUDA, and functions of CUDA that the emitter calls: a local must not hide them. */
static const char words[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval "
    "constexpr constinit continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast "
    "struct switch template this thread_local throw true try typedef typeid typename union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq threadIdx blockIdx blockDim "
    "gridDim warpSize dim3 clusterIdx uint3 char2 char4 short2 short4 int2 int4 uint2 uint4 "
    "longlong2 float2 float4 double2 make_float2 make_float4 make_double2 make_int2 make_int4 "
    "make_longlong2 size_t linux unix NULL INFINITY NAN abs acos acosf asin asinf atan atan2 "
    "atan2f atanf cbrt cbrtf ceil ceilf copysign copysignf cos cosf cosh coshf erf erfc erfcf "
    "erff exp exp2 exp2f expf expm1 expm1f fabs fabsf floor floorf fma fmaf fmax fmaxf fmin "
    "fminf fmod fmodf hypot hypotf log log10 log10f log1p log1pf log2 log2f logf max min pow "
    "powf rint rintf round roundf rsqrt rsqrtf sin sinf sinh sinhf sqrt sqrtf tanh tanhf trunc "
    "truncf printf assert main smem make_uint2 make_uint4 ulonglong2 make_ulonglong2 atomicAdd "
    "atomicAnd atomicCAS atomicExch atomicMax atomicMin atomicOr atomicXor atomicAdd_system "
    "atomicAnd_system atomicCAS_system atomicExch_system atomicMax_system atomicMin_system "
    "atomicOr_system atomicXor_system bf16_fma ";

/* Functions and types that the emitter writes before a kernel, from the rows that it writes them by. */
static const struct {
  char before;
#define X(NAME, head, fn, rest) char NAME[sizeof(fn)];
#include "emit_prelude.def"
#undef X
  char end;
} helpers = {' ',
#define X(NAME, head, fn, rest) fn " ",
#include "emit_prelude.def"
#undef X
             '\0'};

/* Functions and types that CUDA always declares: a kernel cannot have their names. */
static const char declared[] =
    " acos acosf acosh acoshf asin asinf asinh asinhf atan atan2 atan2f atanf atanh atanhf cbrt "
    "cbrtf clock64 copysign copysignf cosh coshf cospi cospif cudaError_t cudaStream_t "
    "cyl_bessel_i0 cyl_bessel_i0f cyl_bessel_i1 cyl_bessel_i1f erf erfc erfcf erfcinv erfcinvf "
    "erfcx erfcxf erff erfinv erfinvf exp10 exp10f expm1 expm1f fdim fdimf fdivide fdividef free "
    "frexp frexpf hypot hypotf ilogb ilogbf j0 j0f j1 j1f jn jnf labs ldexp ldexpf lgamma lgammaf "
    "llabs llmax llmin llrint llrintf llround llroundf log10 log10f log1p log1pf logb logbf lrint "
    "lrintf lround lroundf malloc modf modff nan nanf nearbyint nearbyintf nextafter nextafterf "
    "norm norm3d norm3df norm4d norm4df normcdf normcdff normcdfinv normcdfinvf normf ptrdiff_t "
    "rcbrt rcbrtf remainder remainderf remquo remquof rhypot rhypotf rint rintf rnorm rnorm3d "
    "rnorm3df rnorm4d rnorm4df rnormf round roundf scalbln scalblnf scalbn scalbnf sincos sincosf "
    "sincospi sincospif sinh sinhf sinpi sinpif std tan tanf tgamma tgammaf trunc truncf ullmax "
    "ullmin umax umin va_arg va_copy va_end va_start y0 y0f y1 y1f yn ynf ";

/* Is the text a word of the list, which has a space before and after each? */
static bool is_in(const char *list, const char *text) {
  char word[64]; /* longer ones are in no list */
  size_t len = strlen(text);
  if (len + 3 > sizeof word) {
    return false;
  }
  word[0] = word[len + 1] = ' ';
  memcpy(word + 1, text, len);
  word[len + 2] = '\0';
  return strstr(list, word) != NULL;
}

static bool is_reserved(const char *text) {
  return is_in(words, text) || is_in((const char *)&helpers, text);
}

static CtName *find(CtNames *names, const char *text, size_t len) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < len; i++) {
    hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  }
  CtName **bucket = &names->buckets[hash % CT_NAME_BUCKETS];
  for (CtName *n = *bucket; n != NULL; n = n->next) {
    if (strncmp(n->text, text, len) == 0 && n->text[len] == '\0') {
      return n;
    }
  }
  CtName *n = ct_arena_alloc(names->arena, sizeof *n + len + 1);
  if (n == NULL) {
    names->failed = true;
    return NULL;
  }
  memcpy(n->text, text, len); /* the NUL is there: arena memory is zeroed */
  n->taken = is_reserved(n->text);
  n->to_try = 2;
  n->next = *bucket;
  *bucket = n;
  return n;
}

void ct_names_init(CtNames *names, CtArena *arena) { *names = (CtNames){.arena = arena}; }

void ct_names_clear(CtNames *names) {
  ct_free(names->arena->alloc, (void *)names->scope, names->cap * sizeof *names->scope);
  names->scope = NULL;
  names->n = names->cap = 0;
}

/* Unlike isalpha, ignores the locale. */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/* What C++ keeps for itself is avoided: a leading underscore, two of them in a row. */
/* The wanted text as an identifier; out is cut at `size` bytes. */
static void sanitise(const char *wanted, char *out, size_t size) {
  size_t n = 0;
  bool is_vararg = strncmp(wanted, CT_VARARG_NAME, strlen(CT_VARARG_NAME)) == 0;
  if (is_vararg) { /* "vararg1" for "...[1]" */
    n = (size_t)snprintf(out, size, "vararg");
    wanted += strlen(CT_VARARG_NAME);
  } else if (!is_letter(wanted[0])) {
    out[n++] = 'v';
  }
  for (const char *s = wanted; *s != '\0' && n + 1 < size; s++) {
    char c = is_word(*s) ? *s : '_';
    if (is_vararg && *s == ']') {
      continue;
    }
    if (c != '_' || n == 0 || out[n - 1] != '_') {
      out[n++] = c;
    }
  }
  out[n] = '\0';
}

/* The function that wraps an MMA atom has the atom's name, and letters of majors after it; of sm_120, with its types
   after it. */
static bool is_of_atom(const char *text) {
  static const char sm120[] = "SM120_16x8x";
  if (strncmp(text, sm120, sizeof sm120 - 1) == 0) {
    return true;
  }
  CtAtom atom;
  char name[CT_ATOM_TEXT_MAX];
  size_t len = strlen(text), end = len;
  if (strncmp(text, "SM", 2) != 0 || len >= sizeof name) {
    return false;
  }
  while (end > 0 && strchr("KMN", text[end - 1]) != NULL) {
    end--;
  }
  memcpy(name, text, len + 1);
  if (ct_atom_find(name, &atom)) {
    return true;
  }
  name[end > 0 && text[end - 1] == '_' ? end - 1 : len] = '\0';
  return ct_atom_find(name, &atom);
}

/* "tma_load_2d" */
static bool is_of_tma(const char *text) {
  size_t len = strlen(text);
  return strncmp(text, "tma_", 4) == 0 && len > 7 && text[len - 3] == '_' && text[len - 1] == 'd' &&
         text[len - 2] >= '1' && text[len - 2] <= '5';
}

/* Functions that are made for one text: which ones, shows only when they are. */
static bool is_made(const char *text) { return is_of_atom(text) || is_of_tma(text); }

static bool is_global(const char *text) {
  return is_reserved(text) || is_in(declared, text) || is_made(text);
}

/* Launches look kernels up by name, so we change only characters that a name cannot have. */
static void put_own_name(const CtIr *ir, char *out, size_t size) {
  size_t len = 0;
  while (is_word(ir->name[len]) || ir->name[len] == '_') {
    len++;
  }
  bool is_name = ir->name[len] == '\0' &&
                 (is_letter(ir->name[0]) || (ir->name[0] == '_' && ir->name[1] != '_'));
  if (is_name && len < size && !is_global(ir->name)) {
    memcpy(out, ir->name, len + 1);
    return;
  }
  sanitise(ir->name, out, size - 8);
  if (is_global(out)) {
    memcpy(out + strlen(out), "_kernel", sizeof "_kernel");
  }
}

void ct_emit_kernel_name(const CtIr *ir, char out[CT_EMIT_NAME_MAX]) {
  static const char rules[] =
      "_cutlass"; /* ptxas orders and colours kernels of that name otherwise */
  put_own_name(ir, out, CT_EMIT_NAME_MAX - (ir->emission.cutlass ? sizeof rules : 0));
  if (ir->emission.cutlass) {
    memcpy(out + strlen(out), rules, sizeof rules);
  }
}

void ct_emit_function_name(const CtIrFunction *f, const char *suffix,
                           char out[CT_EMIT_FUNCTION_MAX]) {
  snprintf(out, CT_EMIT_FUNCTION_MAX, "%s%s%s", f->ir.name,
           is_global(f->ir.name) ? "_function" : "", suffix);
}

/* The first of p_2, p_3, ... that is free, for "p". */
static CtName *numbered(CtNames *names, CtName *base) {
  char text[MAX_NAME + 16];
  for (uint32_t i = base->to_try;; i++) {
    size_t len = strlen(base->text);
    bool has_end = base->text[len - 1] == '_';
    snprintf(text, sizeof text, "%.80s%s%u", base->text, has_end ? "" : "_", i);
    CtName *n = find(names, text, strlen(text));
    if (n == NULL) {
      return NULL;
    }
    if (!n->taken && !n->hidden) {
      n->base = base;
      n->number = i;
      base->to_try = i + 1;
      return n;
    }
  }
}

static const char *add(CtNames *names, const char *wanted, bool is_operand) {
  char text[MAX_NAME];
  sanitise(wanted, text, sizeof text);
  CtName *n = find(names, text, strlen(text));
  if (n != NULL && (n->taken || (is_operand && n->hidden) || is_made(text))) {
    n = numbered(names, n);
  }
  if (n == NULL ||
      CT_GROW(names->arena->alloc, names->scope, names->cap, names->n + 1, NULL) != CT_OK) {
    names->failed = true;
    return "?";
  }
  n->taken = true;
  names->scope[names->n++] = n;
  return n->text;
}

const char *ct_names_add(CtNames *names, const char *wanted) { return add(names, wanted, false); }
const char *ct_names_add_operand(CtNames *names, const char *wanted) {
  return add(names, wanted, true);
}

/* Behind a string that begins at s. */
static const char *string_end(const char *s) {
  for (s++; *s != '\0' && *s != '"'; s++) {
    s += *s == '\\' && s[1] != '\0';
  }
  return s + (*s != '\0');
}

void ct_names_hide(CtNames *names, const char *text) {
  for (const char *s = text; *s != '\0';) {
    if (*s == '"') {
      s = string_end(s);
      continue;
    }
    size_t len = 0;
    while (is_word(s[len]) || s[len] == '_') {
      len++;
    }
    bool is_other = s > text && strchr("$.>", s[-1]) != NULL; /* an operand or a member */
    CtName *n = len == 0 || is_other ? NULL : find(names, s, len);
    if (n != NULL) {
      n->hidden = true;
    }
    s += len > 0 ? len : 1;
  }
}

bool ct_names_is_taken(CtNames *names, const char *text) {
  const CtName *n = find(names, text, strlen(text));
  return n != NULL && n->taken;
}

size_t ct_names_mark(const CtNames *names) { return names->n; }

void ct_names_release(CtNames *names, size_t mark) {
  while (names->n > mark) {
    CtName *n = names->scope[--names->n];
    n->taken = false;
    if (n->base != NULL && n->number < n->base->to_try) {
      n->base->to_try = n->number;
    }
  }
}

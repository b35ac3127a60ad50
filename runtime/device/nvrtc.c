/* nvrtc.c: compiling through NVRTC, and turning its log into one error of ours. */
#include "nvrtc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dl.h"

enum { MAX_OPTIONS = 64, NAME_BYTES = 256 };

/* What every kernel is compiled with. Contraction is decided in the IR, hence -fmad=false. */
static const char *const fixed_options[] = {"-std=c++17", "-lineinfo", "-fmad=false",
                                            "-default-device"};

typedef struct Options {
  char arch[64];
  const char *items[MAX_OPTIONS];
  int n;
} Options;

/* One compilation in progress. */
typedef struct Compile {
  const CtNvrtcJob *job;
  const CtNvrtc *lib;
  NvrtcProgram program;
  char file[NAME_BYTES]; /* what NVRTC calls lines that no #line covers */
  CtText image, log;
} Compile;

/* {====== Options and the key ====== */

/* PTX is asked for by the virtual architecture, which runs no assembler. */
static CtStatus make_options(const CtNvrtcJob *job, Options *o, CtErr *err) {
  const char *sm = job->arch;
  bool is_sm = strncmp(sm, "sm_", 3) == 0;
  if ((size_t)job->n_options + CT_ARRAY_LEN(fixed_options) + 1 > MAX_OPTIONS) {
    return ct_fail(err, CT_EINVAL, "nvrtc: kernel '%s' has %d options; at most %d are passed on",
                   job->name, job->n_options, (int)(MAX_OPTIONS - CT_ARRAY_LEN(fixed_options) - 1));
  }
  snprintf(o->arch, sizeof o->arch, "-arch=%s%s", job->ptx && is_sm ? "compute_" : "",
           job->ptx && is_sm ? sm + 3 : sm);
  o->n = 0;
  o->items[o->n++] = o->arch;
  for (size_t i = 0; i < CT_ARRAY_LEN(fixed_options); i++) {
    bool is_left_out = job->no_lines && strcmp(fixed_options[i], "-lineinfo") == 0;
    o->items[o->n] = fixed_options[i];
    o->n += !is_left_out;
  }
  for (int i = 0; i < job->n_options; i++) {
    o->items[o->n++] = job->options[i];
  }
  return CT_OK;
}

/* The name is part of the key as it is part of the image: line information speaks of the file. */
static CtHashKey make_key(const CtNvrtcJob *job, const Options *o, const CtNvrtcId *id) {
  CtHash h;
  ct_hash_init(&h);
  ct_hash_field(&h, job->source, strlen(job->source));
  ct_hash_field(&h, job->name, strlen(job->name));
  for (int i = 0; i < o->n; i++) {
    ct_hash_field(&h, o->items[i], strlen(o->items[i]));
  }
  ct_hash_field(&h, id->path, strlen(id->path));
  ct_hash_field(&h, &id->size, sizeof id->size);
  ct_hash_field(&h, &id->mtime_ns, sizeof id->mtime_ns);
  return ct_hash_end(&h);
}

/* The lines of a text without those that only say which lines of a script they are of. */
static void hash_lines(CtHash *h, const char *s) {
  while (*s != '\0') {
    size_t n = strcspn(s, "\n");
    if (strncmp(s, "#line ", 6) != 0) {
      ct_hash_field(h, s, n);
    }
    s += n + (s[n] == '\n');
  }
}

CtStatus ct_nvrtc_code_key(const CtNvrtcJob *job, char out[CT_NVRTC_KEY_BYTES], CtErr *err) {
  CtHash h;
  Options o;
  int version[2];
  CtStatus s = make_options(job, &o, err);
  s = s == CT_OK ? ct_nvrtc_version(&version[0], &version[1], err) : s;
  if (s != CT_OK) {
    return s;
  }
  ct_hash_init(&h);
  hash_lines(&h, job->source);
  ct_hash_field(&h, job->name, strlen(job->name));
  for (int i = 0; i < o.n; i++) {
    ct_hash_field(&h, o.items[i], strlen(o.items[i]));
  }
  ct_hash_field(&h, version, sizeof version);
  CtHashKey key = ct_hash_end(&h);
  snprintf(out, CT_NVRTC_KEY_BYTES, "%016" PRIx64 "%016" PRIx64, key.hi, key.lo);
  return CT_OK;
}

/* {====== Reading the log ====== */

typedef struct Blame {
  char file[NAME_BYTES]; /* "" when the log names no line */
  int line;
  int ptx_line; /* of an assembler error; else 0 */
  char text[512];
  int n_errors;
} Blame;

static const char *line_end(const char *s) { return s + strcspn(s, "\n"); }

static const char *next_line(const char *s) {
  s = line_end(s);
  return *s == '\n' ? s + 1 : s;
}

static void copy_span(char *out, size_t cap, const char *from, const char *to) {
  size_t len = (size_t)(to - from);
  len = len < cap - 1 ? len : cap - 1;
  memcpy(out, from, len);
  out[len] = '\0';
}

/* Finds `word` before `end`. */
static const char *find(const char *s, const char *end, const char *word) {
  const char *p = strstr(s, word);
  return p != NULL && p < end ? p : NULL;
}

/* The "(" of the `(line): ` after the file's name, which may hold parentheses itself. */
static const char *find_line(const char *s, const char *end, int *line) {
  for (const char *p = find(s, end, "("); p != NULL; p = find(p + 1, end, "(")) {
    size_t n_digits = strspn(p + 1, "0123456789");
    if (n_digits > 0 && strncmp(p + 1 + n_digits, "): ", 3) == 0) {
      *line = (int)strtol(p + 1, NULL, 10);
      return p;
    }
  }
  return NULL;
}

/* `file(line): error: text`; also "catastrophic error" and "error #20-D". */
static bool read_front_end(const char *s, const char *end, Blame *b) {
  int line = 0;
  const char *paren = find_line(s, end, &line);
  const char *kind = paren == NULL ? NULL : find(paren, end, "): ") + strlen("): ");
  const char *text = kind == NULL ? NULL : find(kind, end, ": ");
  const char *error = text == NULL ? NULL : find(kind, text, "error");
  if (error == NULL) {
    return false;
  }
  copy_span(b->file, sizeof b->file, s, paren);
  b->line = line;
  copy_span(b->text, sizeof b->text, text + 2, end);
  return true;
}

/* `ptxas application ptx input, line 33; error   : text`, `ptxas error   : text`, and `ptxas fatal
   : text`, which ends every log with errors by saying that there were some. */
static bool read_assembler(const char *s, const char *end, Blame *b) {
  const char *at = find(s, end, "line ");
  const char *word = find(s, end, "error  ");
  word = word == NULL ? find(s, end, "fatal  ") : word;
  const char *text = word == NULL ? NULL : find(word, end, ": ");
  if (text == NULL || strncmp(s, "ptxas", 5) != 0 ||
      find(s, end, "aborted due to errors") != NULL) {
    return false;
  }
  if (at != NULL && at < word) {
    b->ptx_line = (int)strtol(at + strlen("line "), NULL, 10);
  }
  copy_span(b->text, sizeof b->text, text + 2, end);
  return true;
}

/* `nvrtc: error: text`. */
static bool read_driver(const char *s, const char *end, Blame *b) {
  const char *error = find(s, end, "error: ");
  if (error == NULL || strncmp(s, "nvrtc", 5) != 0) {
    return false;
  }
  copy_span(b->text, sizeof b->text, error + strlen("error: "), end);
  return true;
}

/* `At end of source: error: text`: a brace of an escape that nothing closes, as a rule. */
static bool read_end(const char *s, const char *end, Blame *b) {
  static const char begin[] = "At end of source: error";
  const char *text = find(s, end, "error: ");
  if (strncmp(s, begin, sizeof begin - 1) != 0 || text == NULL) {
    return false;
  }
  snprintf(b->text, sizeof b->text, "at the end of the CUDA C: %.*s",
           (int)(end - text - (ptrdiff_t)strlen("error: ")), text + strlen("error: "));
  return true;
}

typedef bool ReadLine(const char *s, const char *end, Blame *b);
static ReadLine *const readers[] = {read_driver, read_assembler, read_end, read_front_end};

static bool read_line(const char *s, const char *end, Blame *b) {
  for (size_t i = 0; i < CT_ARRAY_LEN(readers); i++) {
    if (readers[i](s, end, b)) {
      return true;
    }
  }
  return false;
}

/* Takes the first error of the log and counts the rest. */
static void read_log(const char *log, Blame *b) {
  *b = (Blame){0};
  for (const char *s = log; *s != '\0'; s = next_line(s)) {
    Blame here = {0};
    if (read_line(s, line_end(s), &here)) {
      int n = b->n_errors + 1;
      if (n == 1) {
        *b = here;
      }
      b->n_errors = n;
    }
  }
}

/* {====== From a PTX line to the script ====== */

/* Drops the working directory, which NVRTC puts before relative names. */
static const char *strip_cwd(const char *path) {
  char cwd[1024];
  size_t len = getcwd(cwd, sizeof cwd) == NULL ? 0 : strlen(cwd);
  bool below = len > 0 && strncmp(path, cwd, len) == 0 && path[len] == '/';
  return below ? path + len + 1 : path;
}

/* Reads `s` up to its end of line: sscanf on the whole text would measure all of it each time. */
static const char *take_line(const char *s, char *line, size_t cap) {
  copy_span(line, cap, s, line_end(s));
  return next_line(s);
}

/* `.file 2 "/home/me/matmul.lua"` */
static void find_file(const char *ptx, int number, Blame *b) {
  char line[NAME_BYTES + 32], name[NAME_BYTES];
  for (const char *s = ptx; *s != '\0';) {
    int n = 0;
    s = take_line(s, line, sizeof line);
    if (sscanf(line, " .file %9d \"%255[^\"]\"", &n, name) == 2 && n == number) {
      snprintf(b->file, sizeof b->file, "%s", strip_cwd(name));
      return;
    }
  }
}

/* The last `.loc file line column` at or before the PTX line to blame. */
static void locate(const char *ptx, Blame *b) {
  char text[64];
  int file = 0, at = 1;
  for (const char *s = ptx; *s != '\0' && at <= b->ptx_line; at++) {
    int n = 0, line = 0;
    s = take_line(s, text, sizeof text);
    if (sscanf(text, " .loc %9d %9d", &n, &line) == 2) {
      file = n;
      b->line = line;
    }
  }
  if (file > 0) {
    find_file(ptx, file, b);
  }
}

/* {====== Running NVRTC ====== */

static CtStatus fail_call(const Compile *c, const char *call, NvrtcResult r, CtErr *err) {
  return ct_fail(err, CT_EDEVICE, "%s: %s (%u): kernel '%s'", call, c->lib->nvrtcGetErrorString(r),
                 r, c->job->name);
}

typedef NvrtcResult GetSize(NvrtcProgram p, size_t *bytes);
typedef NvrtcResult GetBytes(NvrtcProgram p, char *out);

/* Fetches one of the program's outputs: a size, then that many bytes. */
static CtStatus fetch(const Compile *c, const char *call, GetSize *get_size, GetBytes *get,
                      CtText *out, CtErr *err) {
  size_t bytes = 0;
  NvrtcResult r = get_size(c->program, &bytes);
  if (r != CT_NVRTC_SUCCESS) {
    return fail_call(c, call, r, err);
  }
  CtStatus s = ct_grow(out->alloc, &out->s, &out->cap, bytes + 1, 1, err);
  if (s != CT_OK) {
    return s;
  }
  r = bytes == 0 ? CT_NVRTC_SUCCESS : get(c->program, out->s);
  if (r != CT_NVRTC_SUCCESS) {
    return fail_call(c, call, r, err);
  }
  out->s[bytes] = '\0';
  out->len = bytes;
  return CT_OK;
}

/* NVRTC counts the NUL at the end of a text. */
static void drop_nul(CtText *t) {
  if (t->len > 0 && t->s[t->len - 1] == '\0') {
    t->len--;
  }
}

static CtStatus fetch_log(Compile *c, CtErr *err) {
  CtStatus s = fetch(c, "nvrtcGetProgramLog", c->lib->nvrtcGetProgramLogSize,
                     c->lib->nvrtcGetProgramLog, &c->log, err);
  drop_nul(&c->log);
  return s;
}

static CtStatus fetch_ptx(Compile *c, CtErr *err) {
  CtStatus s =
      fetch(c, "nvrtcGetPTX", c->lib->nvrtcGetPTXSize, c->lib->nvrtcGetPTX, &c->image, err);
  drop_nul(&c->image);
  return s;
}

static CtStatus fetch_image(Compile *c, CtErr *err) {
  if (c->job->ptx) {
    return fetch_ptx(c, err);
  }
  CtStatus s =
      fetch(c, "nvrtcGetCUBIN", c->lib->nvrtcGetCUBINSize, c->lib->nvrtcGetCUBIN, &c->image, err);
  if (s == CT_OK && c->image.len == 0) {
    s = ct_fail(err, CT_EINVAL,
                "nvrtc: architecture '%s' of kernel '%s' gives no cubin; "
                "expected a real one like sm_90a",
                c->job->arch, c->job->name);
  }
  return s;
}

static void list_archs(char *out, size_t cap) {
  int sms[64], n = 0;
  size_t len = 0;
  out[0] = '\0';
  if (ct_nvrtc_archs(sms, (int)CT_ARRAY_LEN(sms), &n, NULL) != CT_OK) {
    return;
  }
  for (int i = 0; i < n && len < cap; i++) {
    int more = snprintf(out + len, cap - len, "%ssm_%d", i == 0 ? "" : " ", sms[i]);
    len += more > 0 ? (size_t)more : 0;
  }
}

static CtStatus fail_option(const Compile *c, const Blame *b, CtErr *err) {
  if (strstr(b->text, "gpu-architecture") != NULL) {
    char archs[512];
    list_archs(archs, sizeof archs);
    return ct_fail(err, CT_EINVAL, "nvrtc: NVRTC %d.%d does not compile for '%s'; it does for %s",
                   c->lib->major, c->lib->minor, c->job->arch, archs);
  }
  return ct_fail(err, CT_EINVAL, "nvrtc: kernel '%s': %s", c->job->name, b->text);
}

/* What a script may have overlooked that the compiler does not speak of. */
static const char *rule_of(const Blame *b) {
  return strstr(b->text, "lvalue") != NULL
             ? "; operands of cuda are values: they have no address and are not assigned"
             : "";
}

/* Says whose error it is: the compiler speaks of the script, or of our text where no #line is. */
static CtStatus fail_compile(Compile *c, Blame *b, CtErr *err) {
  char where[NAME_BYTES + 32] = "", count[32] = "";
  if (b->ptx_line > 0 && fetch_ptx(c, NULL) == CT_OK) {
    locate(ct_text_str(&c->image), b);
  }
  bool in_script = b->line > 0 && b->file[0] != '\0' && strcmp(b->file, c->file) != 0;
  if (b->line > 0 && !in_script) {
    snprintf(where, sizeof where, "line %d of the CUDA C: ", b->line);
  }
  if (b->n_errors > 1) {
    snprintf(count, sizeof count, "%d errors; ", b->n_errors);
  }
  CtStatus s =
      ct_fail(err, CT_EDEVICE, "nvrtc: kernel '%s': %s%s%s (%sNVRTC %d.%d, %s)", c->job->name,
              where, b->text, rule_of(b), count, c->lib->major, c->lib->minor, c->job->arch);
  if (in_script) {
    ct_err_at(err, b->file, b->line);
  }
  return s;
}

static CtStatus fail_log(Compile *c, NvrtcResult r, CtErr *err) {
  Blame b;
  if (fetch_log(c, err) != CT_OK) {
    return fail_call(c, "nvrtcCompileProgram", r, err);
  }
  read_log(ct_text_str(&c->log), &b);
  if (b.n_errors == 0) {
    return fail_call(c, "nvrtcCompileProgram", r, err);
  }
  return r == CT_NVRTC_ERROR_INVALID_OPTION ? fail_option(c, &b, err) : fail_compile(c, &b, err);
}

static CtStatus run(Compile *c, const Options *o, CtErr *err) {
  NvrtcResult r = c->lib->nvrtcCreateProgram(&c->program, c->job->source, c->file, 0, NULL, NULL);
  if (r != CT_NVRTC_SUCCESS) {
    return fail_call(c, "nvrtcCreateProgram", r, err);
  }
  r = c->lib->nvrtcCompileProgram(c->program, o->n, o->items);
  if (r != CT_NVRTC_SUCCESS) {
    return fail_log(c, r, err);
  }
  CtStatus s = fetch_log(c, err);
  return s == CT_OK ? fetch_image(c, err) : s;
}

static CtStatus compile(const CtNvrtcJob *job, const Options *o, CtNvrtcOutput *out, CtErr *err) {
  Compile c = {.job = job};
  CtStatus s = ct_dl_nvrtc(&c.lib, err);
  if (s != CT_OK) {
    return s;
  }
  ct_text_init(&c.image, job->alloc);
  ct_text_init(&c.log, job->alloc);
  snprintf(c.file, sizeof c.file, "%s.cu", job->name);
  s = run(&c, o, err);
  if (c.program != NULL) {
    c.lib->nvrtcDestroyProgram(&c.program);
  }
  if (s != CT_OK) {
    ct_text_clear(&c.image);
    ct_text_clear(&c.log);
    return s;
  }
  *out = (CtNvrtcOutput){.image = c.image, .log = c.log};
  return CT_OK;
}

/* {====== Exported ====== */

void ct_nvrtc_output_clear(CtNvrtcOutput *out) {
  ct_text_clear(&out->image);
  ct_text_clear(&out->log);
}

CtStatus ct_nvrtc_compile(const CtNvrtcJob *job, CtNvrtcOutput *out, CtErr *err) {
  Options o;
  CtStatus s = make_options(job, &o, err);
  return s == CT_OK ? compile(job, &o, out, err) : s;
}

static bool build_from_cache(const CtNvrtcJob *job, const CtCache *cache, CtHashKey key,
                             CtNvrtcOutput *out) {
  CtNvrtcOutput found = {.from_cache = true};
  ct_text_init(&found.image, job->alloc);
  ct_text_init(&found.log, job->alloc);
  if (!ct_cache_get(cache, key, &found.image, &found.log)) {
    ct_nvrtc_output_clear(&found);
    return false;
  }
  *out = found;
  return true;
}

CtStatus ct_nvrtc_build(const CtNvrtcJob *job, const CtCache *cache, CtNvrtcOutput *out,
                        CtErr *err) {
  Options o;
  CtNvrtcId id;
  CtStatus s = make_options(job, &o, err);
  if (s != CT_OK || cache == NULL || cache->dir[0] == '\0') {
    return s == CT_OK ? compile(job, &o, out, err) : s;
  }
  s = ct_nvrtc_identity(&id, err);
  if (s != CT_OK) {
    return s;
  }
  CtHashKey key = make_key(job, &o, &id);
  if (build_from_cache(job, cache, key, out)) {
    return CT_OK;
  }
  s = compile(job, &o, out, err);
  if (s == CT_OK) {
    (void)ct_cache_put(cache, key, out->image.s, out->image.len, ct_text_str(&out->log),
                       out->log.len);
  }
  return s;
}

void ct_nvrtc_arch(int sm, char out[16]) { snprintf(out, 16, "sm_%d%s", sm, sm >= 90 ? "a" : ""); }

/* Without a file to look at, the library itself must tell one version from another. */
static CtStatus identify_loaded(CtNvrtcId *id, CtErr *err) {
  const CtNvrtc *lib;
  CtStatus s = ct_dl_nvrtc(&lib, err);
  if (s == CT_OK) {
    id->size = (uint64_t)lib->major * 1000 + (uint64_t)lib->minor;
  }
  return s;
}

CtStatus ct_nvrtc_identity(CtNvrtcId *id, CtErr *err) {
  struct stat st;
  CtNvrtcId found = {0};
  _Static_assert(sizeof found.path == CT_DL_PATH_BYTES, "the same paths");
  CtStatus s = ct_dl_nvrtc_path(found.path, err);
  if (s == CT_OK && stat(found.path, &st) == 0) {
    found.size = (uint64_t)st.st_size;
    found.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  } else if (s == CT_OK) {
    s = identify_loaded(&found, err);
  }
  if (s == CT_OK) {
    *id = found;
  }
  return s;
}

CtStatus ct_nvrtc_version(int *major, int *minor, CtErr *err) {
  const CtNvrtc *lib;
  CtStatus s = ct_dl_nvrtc(&lib, err);
  if (s == CT_OK) {
    *major = lib->major;
    *minor = lib->minor;
  }
  return s;
}

CtStatus ct_nvrtc_archs(int *sms, int cap, int *n, CtErr *err) {
  const CtNvrtc *lib;
  int all[256], count = 0;
  CtStatus s = ct_dl_nvrtc(&lib, err);
  if (s != CT_OK) {
    return s;
  }
  if (lib->nvrtcGetNumSupportedArchs == NULL || lib->nvrtcGetSupportedArchs == NULL ||
      lib->nvrtcGetNumSupportedArchs(&count) != CT_NVRTC_SUCCESS ||
      count > (int)CT_ARRAY_LEN(all) || lib->nvrtcGetSupportedArchs(all) != CT_NVRTC_SUCCESS) {
    return ct_fail(err, CT_EUNSUPPORTED, "nvrtc: '%s' does not list its architectures", lib->path);
  }
  *n = count < cap ? count : cap;
  memcpy(sms, all, (size_t)*n * sizeof *sms);
  return CT_OK;
}

/* test_nvrtc.c: CUDA C to cubin and PTX, the errors of a compilation and where they point, and the
   disk cache in front of it. Skipped where there is no NVRTC. */
#include "runtime/device/nvrtc.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loaded.h"
#include "tap.h"

static const char saxpy[] =
    "extern \"C\" __global__ void saxpy(int n, float a, const float *x, float *y) {\n"
    "#line 3 \"saxpy.lua\"\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) { y[i] = a * x[i] + y[i]; }\n"
    "}\n";

static CtNvrtcJob job_of(const char *source, const char *arch) {
  return (CtNvrtcJob){.alloc = ct_alloc_std, .source = source, .name = "saxpy", .arch = arch};
}

static void test_cubins(void) {
  const char *const archs[] = {"sm_75", "sm_80", "sm_90a"};
  for (size_t i = 0; i < CT_ARRAY_LEN(archs); i++) {
    CtErr err = {0};
    CtNvrtcOutput out;
    CtNvrtcJob job = job_of(saxpy, archs[i]);
    CtStatus s = ct_nvrtc_compile(&job, &out, &err);
    if (OK(s == CT_OK, "compiles for %s %s", archs[i], err.msg)) {
      OK(out.image.len > 500 && memcmp(out.image.s, "\177ELF", 4) == 0, "%s: an ELF file",
         archs[i]);
      IS_STR(ct_text_str(&out.log), "", "%s: no warnings", archs[i]);
      OK(!out.from_cache, "%s: not from a cache", archs[i]);
      ct_nvrtc_output_clear(&out);
    }
  }
}

static void test_ptx(void) {
  CtErr err = {0};
  CtNvrtcOutput out;
  CtNvrtcJob job = job_of(saxpy, "sm_90a");
  job.ptx = true;
  CtStatus s = ct_nvrtc_compile(&job, &out, &err);
  if (OK(s == CT_OK, "compiles to PTX %s", err.msg)) {
    HAS_STR(out.image.s, ".target sm_90a", "PTX names its target");
    HAS_STR(out.image.s, "saxpy.lua", "line information names the script");
    HAS_STR(out.image.s, "mul", "-fmad=false: a product");
    OK(strstr(out.image.s, "fma.rn") == NULL, "-fmad=false: and no fma");
    IS_INT(out.image.len, strlen(out.image.s), "length is that of the text");
    ct_nvrtc_output_clear(&out);
  }
}

static void test_warning(void) {
  CtErr err = {0};
  CtNvrtcOutput out;
  CtNvrtcJob job =
      job_of("#line 7 \"w.lua\"\nextern \"C\" __global__ void k() { int x; }", "sm_80");
  if (OK(ct_nvrtc_compile(&job, &out, &err) == CT_OK, "a warning is no error %s", err.msg)) {
    HAS_STR(ct_text_str(&out.log), "w.lua(7): warning", "the log has it");
    ct_nvrtc_output_clear(&out);
  }
}

typedef struct Failure {
  const char *what, *source, *arch, *option;
  CtStatus status;
  const char *chunk;
  int line;
  const char *msg; /* up to the version */
} Failure;

static const Failure failures[] = {
    {"undefined name", "__global__ void k(float *p) {\n#line 12 \"matmul.lua\"\n p[0] = y; q();\n}",
     "sm_80", NULL, CT_EDEVICE, "matmul.lua", 12,
     "nvrtc: kernel 'saxpy': identifier \"y\" is undefined (2 errors; NVRTC "},
    {"an error that no script line owns", "__global__ void k() { return }", "sm_80", NULL,
     CT_EDEVICE, "", 0, "nvrtc: kernel 'saxpy': line 1 of the CUDA C: expected an expression (2 e"},
    {"unknown option", "__global__ void k() {}", "sm_80", "-no-such", CT_EINVAL, "", 0,
     "nvrtc: kernel 'saxpy': unrecognized option -no-such found"},
    {"unknown architecture", "__global__ void k() {}", "sm_35", NULL, CT_EINVAL, "", 0,
     "nvrtc: NVRTC "},
    {"assembler error",
     "extern \"C\" __global__ void k(float *p) {\n"
     "#line 16 \"escape.lua\"\n  p[0] = 1;\n"
     "  asm volatile(\"bogus.f32 %0, 1;\" :: \"f\"(p[1]));\n"
     "  p[2] = p[3] + 1;\n}",
     "sm_80", NULL, CT_EDEVICE, "escape.lua", 17,
     "nvrtc: kernel 'saxpy': Not a name of any known instruction: 'bogus' (NVRTC "},
    {"an instruction that the target lacks",
     "extern \"C\" __global__ void k() {\n#line 5 \"wg.lua\"\n"
     "  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\");\n}",
     "sm_90", NULL, CT_EDEVICE, "wg.lua", 5,
     "nvrtc: kernel 'saxpy': Instruction 'setmaxnreg.inc' not supported on .target 'sm_90' (NVRT"},
};

static void test_failures(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(failures); i++) {
    const Failure *f = &failures[i];
    CtErr err = {0};
    CtNvrtcOutput out;
    CtNvrtcJob job = job_of(f->source, f->arch);
    const char *options[1] = {f->option};
    job.options = options;
    job.n_options = f->option != NULL;
    IS_INT(ct_nvrtc_compile(&job, &out, &err), f->status, "%s: status", f->what);
    HAS_STR(err.msg, f->msg, "%s: message", f->what);
    IS_STR(err.chunk, f->chunk, "%s: script", f->what);
    IS_INT(err.line, f->line, "%s: line", f->what);
    OK(strchr(err.msg, '\n') == NULL, "%s: one line", f->what);
  }
}

static void test_arch_message(void) {
  CtErr err = {0};
  CtNvrtcOutput out;
  CtNvrtcJob job = job_of(saxpy, "sm_35");
  OK(ct_nvrtc_compile(&job, &out, &err) == CT_EINVAL, "old architecture refused");
  HAS_STR(err.msg, "does not compile for 'sm_35'; it does for sm_",
          "and those that are not, named");
}

static void test_too_many_options(void) {
  CtErr err = {0};
  CtNvrtcOutput out;
  const char *options[100];
  CtNvrtcJob job = job_of(saxpy, "sm_80");
  for (size_t i = 0; i < CT_ARRAY_LEN(options); i++) {
    options[i] = "-lineinfo";
  }
  job.options = options;
  job.n_options = (int)CT_ARRAY_LEN(options);
  IS_INT(ct_nvrtc_compile(&job, &out, &err), CT_EINVAL, "too many options");
  IS_STR(err.msg, "nvrtc: kernel 'saxpy' has 100 options; at most 59 are passed on", "message");
}

static void test_arch_names(void) {
  char arch[16];
  ct_nvrtc_arch(75, arch);
  IS_STR(arch, "sm_75", "7.5");
  ct_nvrtc_arch(90, arch);
  IS_STR(arch, "sm_90a", "9.0 with its own features");
  ct_nvrtc_arch(120, arch);
  IS_STR(arch, "sm_120a", "12.0");
}

static void test_archs(void) {
  CtErr err = {0};
  int sms[64], n = 0, major = 0, minor = -1;
  OK(ct_nvrtc_archs(sms, 64, &n, &err) == CT_OK && n > 0, "lists architectures %s", err.msg);
  bool found = false;
  for (int i = 0; i < n; i++) {
    found = found || sms[i] == 90;
  }
  OK(found, "9.0 is one of them");
  OK(ct_nvrtc_version(&major, &minor, &err) == CT_OK && major >= 11 && minor >= 0, "has a version");
}

/* {====== Cache ====== */

/* Runs `child` in a process of its own, with nothing loaded; true when it exits with 0. */
static bool in_child(bool (*child)(const CtCache *), const CtCache *cache) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    _exit(child(cache) ? 0 : 1);
  }
  int status = -1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

static bool build(const CtCache *cache, const char *source, const char *arch, bool from_cache) {
  CtErr err = {0};
  CtNvrtcOutput out;
  CtNvrtcJob job = job_of(source, arch);
  if (ct_nvrtc_build(&job, cache, &out, &err) != CT_OK) {
    return false;
  }
  bool good = out.from_cache == from_cache && memcmp(out.image.s, "\177ELF", 4) == 0;
  ct_nvrtc_output_clear(&out);
  return good;
}

static bool nvrtc_is_loaded(void) {
  CtNvrtcId id;
  return ct_nvrtc_identity(&id, NULL) == CT_OK && is_loaded(id.path);
}

static bool child_miss(const CtCache *c) {
  return build(c, saxpy, "sm_80", false) && nvrtc_is_loaded();
}
static bool child_hit(const CtCache *c) {
  return build(c, saxpy, "sm_80", true) && !nvrtc_is_loaded();
}
static bool child_other_arch(const CtCache *c) { return build(c, saxpy, "sm_75", false); }
static bool child_other_source(const CtCache *c) {
  return build(c, "extern \"C\" __global__ void saxpy() {}", "sm_80", false);
}
static bool child_no_cache(const CtCache *c) {
  (void)c;
  return build(NULL, saxpy, "sm_80", false);
}

static void test_build(void) {
  char dir[] = "/tmp/cuttle-test-XXXXXX", command[64];
  CtCache cache = {.cap_bytes = 1 << 20};
  if (!OK(mkdtemp(dir) != NULL, "a folder for the cache")) {
    return;
  }
  snprintf(cache.dir, sizeof cache.dir, "%s/deep/er", dir);
  OK(in_child(child_miss, &cache), "first build compiles");
  OK(in_child(child_hit, &cache), "second build is a hit and loads no NVRTC");
  OK(in_child(child_other_arch, &cache), "another architecture is a miss");
  OK(in_child(child_other_source, &cache), "another source is a miss");
  OK(in_child(child_no_cache, &cache), "no cache, no hit");
  OK(in_child(child_hit, &cache), "the entry is still there");
  snprintf(command, sizeof command, "rm -r %s", dir);
  IS_INT(system(command), 0, "cleaned up"); // NOLINT(cert-env33-c): a fixed command
}

static bool child_missing(const CtCache *c) {
  CtErr err = {0};
  CtNvrtcOutput out;
  CtNvrtcJob job = job_of(saxpy, "sm_80");
  (void)c;
  setenv("CUTTLE_NVRTC", "/nowhere/libnvrtc.so", 1);
  return ct_nvrtc_build(&job, NULL, &out, &err) == CT_EMISSING &&
         strstr(err.msg, "nvrtc: cannot load '/nowhere/libnvrtc.so'") == err.msg;
}

static bool same_code(const CtNvrtcJob *a, const CtNvrtcJob *b) {
  CtErr err;
  char keys[2][CT_NVRTC_KEY_BYTES];
  return ct_nvrtc_code_key(a, keys[0], &err) == CT_OK &&
         ct_nvrtc_code_key(b, keys[1], &err) == CT_OK && strlen(keys[0]) == 32 &&
         strcmp(keys[0], keys[1]) == 0;
}

static void test_code_key(void) {
  static const char *const options[] = {"-maxrregcount=64"};
  CtNvrtcJob job = job_of("int a;\nint b;\n", "sm_80");
  CtNvrtcJob lines = job_of("#line 3 \"s.lua\"\nint a;\n#line 9 \"t.lua\"\nint b;\n", "sm_80");
  CtNvrtcJob joined = job_of("int a;int b;\n", "sm_80"), arch = job_of(job.source, "sm_90a");
  CtNvrtcJob limited = job;
  limited.options = options;
  limited.n_options = 1;
  OK(same_code(&job, &lines), "lines of a script do not count in the key of code");
  OK(!same_code(&job, &joined), "other texts do");
  OK(!same_code(&job, &arch), "and the architecture");
  OK(!same_code(&job, &limited), "and options");
}

int main(void) {
  CtErr err;
  CtNvrtcId id;
  /* Forked children must start without NVRTC: these come first. */
  OK(in_child(child_missing, NULL), "a CUTTLE_NVRTC that does not exist is an error that names it");
  if (ct_nvrtc_identity(&id, &err) != CT_OK) {
    SKIP(1, err.msg);
    return done_testing();
  }
  OK(!nvrtc_is_loaded(), "finding NVRTC does not load it");
  OK(id.path[0] == '/' && id.size > 0 && id.mtime_ns > 0, "identity of %s", id.path);
  test_build();
  test_code_key();
  test_cubins();
  test_ptx();
  test_warning();
  test_failures();
  test_arch_message();
  test_too_many_options();
  test_arch_names();
  test_archs();
  return done_testing();
}

/* launch_image.c: the files of `cuttle emit --ptx=FILE --cubin=FILE`. Their code is what a launch runs, under the
   name that the printed text has for it, and a launch of it would have the same parameters. Their debug information
   is finer: what belongs to no statement names a line of the script, too, so that other tools can name one for each
   instruction. Helper functions of the emitted text are inlined, and the table says where. */
#include <stdio.h>
#include <string.h>

#include "interp/state/state_language.h"
#include "launch.h"
#include "runtime/base/newfile.h"
#include "runtime/device/nvrtc.h"
#include "runtime/emit/emit_cuda.h"

/* The place for the name of the kernel that is missing in a path: before the ending. */
static int star_place(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash == NULL ? path : slash, '.');
  return (int)(dot == NULL ? strlen(path) : (size_t)(dot - path));
}

/* `*` in the option's value is the name. */
static CtStatus choose_path(const StateImages *files, const char *option, const char *name,
                            char out[PATH_MAX], CtErr *err) {
  const char *star = strchr(files->path, '*');
  int before = star_place(files->path);
  if (star == NULL && files->n > 0) {
    return ct_fail(err, CT_EINVAL,
                   "emit: --%s=%s is one file, and '%s' is another specialisation that the script "
                   "launches; write * for their names: '--%s=%.*s_*%s'",
                   option, files->path, name, option, before, files->path, files->path + before);
  }
  int n = star == NULL ? snprintf(out, PATH_MAX, "%s", files->path)
                       : snprintf(out, PATH_MAX, "%.*s%s%s", (int)(star - files->path), files->path,
                                  name, star + 1);
  return n < PATH_MAX
             ? CT_OK
             : ct_fail(err, CT_EINVAL, "emit: the path --%s=%s is too long", option, files->path);
}

typedef struct ImageFile {
  const char *path;
  const CtText *image;
  bool is_ptx;
  int failed; /* the errno of what failed; 0: nothing */
} ImageFile;

/* Light userdata: an ImageFile. Tools read no more of PTX than lines, so these are of the script; the cubin says what
   was inlined where. */
static int write_text(lua_State *L) {
  ImageFile *f = lua_touserdata(L, 1);
  size_t len;
  lua_pushlstring(L, f->image->s, f->image->len);
  if (f->is_ptx) {
    state_push_function(L, "cuttle.ptx_lines", "outer");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
  }
  const char *text = lua_tolstring(L, -1, &len);
  f->failed = ct_newfile_write(f->path, text, len);
  return 0;
}

static CtStatus write_file(lua_State *L, ImageFile *f, CtErr *err) {
  lua_pushcfunction(L, write_text);
  lua_pushlightuserdata(L, f);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    lua_pop(L, 1);
    return ct_fail_nomem(err); /* nothing else raises there */
  }
  return f->failed == 0
             ? CT_OK
             : ct_fail(err, CT_EINVAL, "emit: cannot write '%s': %s", f->path, strerror(f->failed));
}

static CtStatus write_image(lua_State *L, const Kernel *k, const CtNvrtcJob *job,
                            StateImages *files, const char *option, const char *name, CtErr *err) {
  CtNvrtcOutput output;
  char path[PATH_MAX];
  if (files->path == NULL) {
    return CT_OK;
  }
  CtStatus status = choose_path(files, option, name, path, err);
  status = status == CT_OK ? state_compile(k->state, job, true, &output, err) : status;
  if (status != CT_OK) {
    return status;
  }
  ImageFile file = {path, &output.image, job->ptx, 0};
  status = write_file(L, &file, err);
  ct_nvrtc_output_clear(&output);
  files->n++;
  return status;
}

CtStatus launch_write_images(lua_State *L, Kernel *k, const Spec *spec, const char *name,
                             CtErr *err) {
  StateEmit *emit = &k->state->emit;
  const CtEmitOpts opts = {.line_directives = true,
                           .is_every_line = true,
                           .print_records = true,
                           .marks = spec->has_marks ? &spec->marks : NULL,
                           .name = name};
  const char *options[LAUNCH_MAX_OPTIONS];
  CtText source;
  if (emit->ptx.path == NULL && emit->cubin.path == NULL) {
    return CT_OK;
  }
  ct_text_init(&source, k->state->alloc);
  CtStatus status = ct_emit_cuda(&spec->ir, &opts, &source, err);
  status = status == CT_OK ? ct_text_status(&source, err) : status;
  if (status == CT_OK) {
    CtNvrtcJob job = kernel_job(k, ct_text_str(&source), emit->arch, options);
    job.name = name;
    job.ptx = true;
    status = write_image(L, k, &job, &emit->ptx, "ptx", name, err);
    job.ptx = false;
    status = status == CT_OK ? write_image(L, k, &job, &emit->cubin, "cubin", name, err) : status;
  }
  ct_text_clear(&source);
  return status;
}

/* launch_image.c: the files of `cuttle emit --ptx=FILE --cubin=FILE`. Their code is what a launch runs, under the
   name that the printed text has for it, and a launch of it would have the same parameters. Their debug information
   is finer: what belongs to no statement names a line of the script, too, so that other tools can name one for each
   instruction. Helper functions of the emitted text are inlined, and the table says where. */
#include <stdio.h>
#include <string.h>

#include "launch.h"
#include "runtime/base/newfile.h"
#include "runtime/device/nvrtc.h"
#include "runtime/device/ptx_line.h"
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

/* Tools read no more of PTX than lines, so these are of the script; the cubin says what was inlined where. */
static CtStatus write_file(const char *path, const CtNvrtcJob *job, const CtText *image,
                           CtErr *err) {
  CtText text;
  ct_text_init(&text, job->alloc);
  CtStatus status = job->ptx ? ct_ptx_outer_lines(ct_text_str(image), &text, err) : CT_OK;
  if (status == CT_OK) {
    const CtText *from = job->ptx ? &text : image;
    int failed = ct_newfile_write(path, from->s, from->len);
    status = failed == 0
                 ? CT_OK
                 : ct_fail(err, CT_EINVAL, "emit: cannot write '%s': %s", path, strerror(failed));
  }
  ct_text_clear(&text);
  return status;
}

static CtStatus write_image(const Kernel *k, const CtNvrtcJob *job, StateImages *files,
                            const char *option, const char *name, CtErr *err) {
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
  status = write_file(path, job, &output.image, err);
  ct_nvrtc_output_clear(&output);
  files->n++;
  return status;
}

CtStatus launch_write_images(Kernel *k, const Spec *spec, const char *name, CtErr *err) {
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
    CtNvrtcJob job = {.alloc = k->state->alloc,
                      .source = ct_text_str(&source),
                      .name = name,
                      .arch = emit->arch,
                      .options = options,
                      .n_options = kernel_options(k, options),
                      .ptx = true};
    status = write_image(k, &job, &emit->ptx, "ptx", name, err);
    job.ptx = false;
    status = status == CT_OK ? write_image(k, &job, &emit->cubin, "cubin", name, err) : status;
  }
  ct_text_clear(&source);
  return status;
}

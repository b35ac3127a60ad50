/* usage.c: the texts of --help that are not of a command of the standard library. */
#include "program.h"

#include <stdio.h>

#include "interp/host/std_modules.h"

/* Around the rows of the commands of the standard library. */
static const char head_usage[] =
    "usage: cuttle [options] [script.lua [arguments]]\n"
    "       cuttle COMMAND ...\n"
    "\n"
    "Without a script, cuttle reads inputs and prints their values.\n"
    "\n"
    "  script.lua            run it; its arguments are in `arg` and `...`; - is standard input\n"
    "  emit script.lua       run it and print the CUDA C of every specialisation that it launches\n"
    "  help [name]           print this text, or explain a command or a name of the language\n"
    "  info                  print version, devices, compilers, caches, and why they were chosen\n";
static const char tail_usage[] =
    "\n"
    "  -e CODE               run CODE; may be given more than once\n"
    "  -i                    run the script, then open the prompt\n"
    "  --device=DEVICE       auto, cpu, cpu:N, cuda or cuda:N; default: CUTTLE_DEVICE, or auto\n"
    "  --sm=N                emit: the compute capability times 10, such as 80, 90a or 100f; 90\n"
    "                        means 90a. Without such a device, launches run on the CPU engine\n"
    "  --compile             emit: also compile the CUDA C with NVRTC, for that capability\n"
    "  --ptx=FILE            emit: also write its PTX to a file\n"
    "  --cubin=FILE          emit: also write its machine code to a file\n"
    "  --traceback           show the calls that led to an error\n"
    "  --sandbox[=MIB]       first of all: run a script that you do not trust, without files and\n"
    "                        processes, on the CPU engine, in so much memory; default: 1024 MiB\n"
    "  --version, --help\n"
    "  --                    end of the options; those of a command may also follow its script\n"
    "\n"
    "docs: docs/ in the source tree; environment: CUTTLE_DEVICE, CUTTLE_CHECK, CUTTLE_CAPTURE,\n"
    "CUTTLE_THREADS, CUTTLE_ISA, CUTTLE_NVRTC, CUTTLE_LIBCUDA, CUTTLE_NCCL, CUTTLE_COMM_ID,\n"
    "CUTTLE_COMM_TIMEOUT, CUTTLE_COMM_BLOCKING, CUTTLE_CACHE, CUTTLE_HISTORY, CUTTLE_LIBEDIT,\n"
    "CUTTLE_PLAYGROUND\n";

const char emit_usage[] =
    "usage: cuttle emit [--sm=N] [--compile] [--ptx=FILE] [--cubin=FILE] script.lua [arguments]\n"
    "\n"
    "Runs the script and prints the CUDA C of every specialisation that it launches, each once.\n"
    "nvcc can compile the output: if a kernel `sum` has more than one specialisation,\n"
    "they are called sum, sum_2, ... in the order of their first launches. For 90a, use\n"
    "nvcc -gencode arch=compute_90a,code=sm_90a; nvcc -arch=sm_90a would also need PTX for 90.\n"
    "\n"
    "  --sm=N                the compute capability to write for, times 10, such as 80, 90a or\n"
    "                        100f; 90 means 90a; default: the device's, or 90 without one.\n"
    "                        Without such a device, launches run on the CPU engine\n"
    "  --compile             also compile the CUDA C with NVRTC, for that capability\n"
    "  --ptx=FILE            also write its PTX, with the script's lines for other tools. A * in FILE\n"
    "                        stands for the kernel's name, so each specialisation has its own file\n"
    "  --cubin=FILE          also write its machine code, in the same way\n"
    "  --device=DEVICE       auto, cpu, cpu:N, cuda or cuda:N: where launches run\n"
    "\n"
    "Options may come before or after the script, up to `--`. The exit code is the script's, or 1 if a\n"
    "kernel does not compile.\n";

const char info_usage[] =
    "usage: cuttle info [--device=DEVICE]\n"
    "\n"
    "Prints the version, the device, the CPU engine, NVRTC with the values of --sm that it\n"
    "supports, the cache of compiled kernels, and why they were chosen.\n";

void put_usage(void) {
  fputs(head_usage, stdout);
  fputs(std_command_rows, stdout);
  fputs(tail_usage, stdout);
}

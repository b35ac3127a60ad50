# wasm.mk: WebAssembly of 32 bits by Emscripten, one thread, vectors of 128 bits; node runs programs.
#   make PLATFORM=wasm            build/wasm/cuttle, which node runs on the files of this machine

# Emscripten's compiler with the flags that emcc gives it: the same objects in half the time, as emcc itself is a
# Python program that starts for each file. By ccache, where that compiles for this machine, too. A CC of the
# command line is meant for this machine. Exceptions of WebAssembly for longjmp: without them every call that may
# raise goes through JavaScript.
EMCC = emcc
EM_LONGJMP = -sSUPPORT_LONGJMP=wasm
EM_CFLAGS := $(shell $(EMCC) --cflags $(EM_LONGJMP))
EM_COMPILER := $(if $(EM_CFLAGS),$(shell em-config LLVM_ROOT)/clang $(EM_CFLAGS),$(EMCC) $(EM_LONGJMP))
override CC = $(if $(findstring /ccache,$(PATH)),ccache) $(EM_COMPILER)
export CCACHE_COMPILERTYPE = clang
AR = emar
# Where Debian keeps the modules that emcc's own scripts look for.
export NODE_PATH := $(or $(NODE_PATH),/usr/share/nodejs)

# Debug information that nobody reads: node shows none, and the engine of a page has none.
CFLAGS = -O2
TOGETHER = 1
PLATFORM_CODEGEN = -msimd128 -Wno-pass-failed
# A stack that overflows runs into address 0 and traps, and not into data.
# Binaryen's optimizer, which takes 12 s for each program, is for the engine of a page alone.
PLATFORM_LDFLAGS = -O1 $(EM_LONGJMP) -sTOTAL_STACK=4MB -Wl,--stack-first -sALLOW_MEMORY_GROWTH=1
NODE_LDFLAGS = -sMAXIMUM_MEMORY=4GB -sNODERAWFS=1 -sEXIT_RUNTIME=1 --pre-js scripts/platforms/wasm_node.js
PLATFORM_LINK = scripts/platforms/link.sh js 'node --no-experimental-fetch' $(EMCC) $(NODE_LDFLAGS)
# Of the playground's engine: a function that makes an instance; a worker starts it and calls main or web.h.
ENGINE_LDFLAGS = -O2 -g0 -sMAXIMUM_MEMORY=1GB -sMODULARIZE=1 -sEXPORT_NAME=CuttleModule -sENVIRONMENT=worker \
	-sINVOKE_RUN=0 -sEXIT_RUNTIME=1 -sFORCE_FILESYSTEM=1 -sEXPORTED_RUNTIME_METHODS=callMain,FS,ENV,ccall \
	-sEXPORTED_FUNCTIONS=_main,_web_open,_web_input,_web_script,_web_complete,_web_picture,_web_call,_web_cell
PLATFORM_LIBS = -lm
PLATFORM_STDLIB = $(wildcard hosts/web/lua/*.lua)
PLATFORM_SRC = hosts/web/src/posix.c
PLATFORM_FILES = $(PROGRAM)
PLATFORM_HAS_NO_LIBRARIES = yes # shared ones, loaded at run time

# Cuttle: build, test, lint, install. For GNU make; no generator, no configure step.
#   make            the program, the libraries and the Lua module, into build/
#   make demo       installs what the build needs, builds, runs the first example
#   make test       installs what the tests need, builds and runs them all
#   make help       every target

# {====== Settings: override on the command line, as in `make CC=clang PREFIX=$HOME/.local` ======

PREFIX = /usr/local
DESTDIR =
DEBUG_INFO =
# Another machine than this one: a file of scripts/platforms/ (aarch64, musl, wasm).
PLATFORM =
BUILD = build$(PLATFORM:%=/%)
DEBUG = -g
CFLAGS = -O2 $(DEBUG)
AR = ar
LDFLAGS =
WERROR = -Werror
SANITIZE =
V = 0
# Of each fuzz target: in tests 2, by `make fuzz` 10.
FUZZ_SECONDS = $(if $(filter fuzz%,$(MAKECMDGOALS)),10,2)
TESTED_DOCS =
ONCE =
TOGETHER =
CHECKS = 1000000
SEED = 1
PROGRAMS = 100000
ROUNDS = 9
CUDA_HOME = /usr/local/cuda
# Found out where it is asked for, and once.
PYTHON = $(eval PYTHON := $(firstword $(foreach p,python3 /usr/bin/python3,\
	$(shell $(p) scripts/python_headers.py 2>/dev/null >&2 && echo $(p))) python3))$(PYTHON)
PYTHON_HEADERS = $(eval PYTHON_HEADERS := $(shell $(PYTHON) scripts/python_headers.py 2>/dev/null))$(PYTHON_HEADERS)

# Lua 5.4: names under which pkg-config may know it, and the interpreter that runs our scripts.
LUA_PC := $(firstword $(foreach n,lua5.4 lua-5.4 lua54 lua,\
	$(shell pkg-config --atleast-version=5.4 --max-version=5.4.99 $(n) 2>/dev/null && echo $(n))))
LUA := $(firstword $(foreach n,lua5.4 lua54 lua,$(shell command -v $(n) 2>/dev/null)) lua5.4)
LUA_CFLAGS := $(if $(LUA_PC),$(shell pkg-config --cflags $(LUA_PC)),-I/usr/include/lua5.4)
LUA_LIBS := $(if $(LUA_PC),$(shell pkg-config --libs $(LUA_PC)),-llua5.4)
LUA_LIBDIR := $(if $(LUA_PC),$(shell pkg-config --variable=libdir $(LUA_PC)),/usr/lib)
LUA_STATIC := $(firstword $(wildcard $(foreach n,liblua5.4.a lua5.4/liblua.a liblua-5.4.a \
	liblua54.a liblua.a,$(LUA_LIBDIR)/$(n))))

# For another machine Lua is compiled from its sources, which the distribution has.
ifneq ($(PLATFORM),)
include scripts/platforms/$(PLATFORM).mk
LUA_SRC = build/lua-source
LUA_CFLAGS = -isystem $(LUA_SRC)
LUA_STATIC = $(BUILD)/lua/liblua.a
LUA_LIBS = $(LUA_STATIC)
endif

CLANG := $(firstword $(foreach n,clang clang-14,$(shell command -v $(n) 2>/dev/null)) clang)
CLANG_FORMAT := $(firstword $(foreach n,clang-format-14 clang-format,\
	$(shell command -v $(n) 2>/dev/null)) clang-format)
CLANG_TIDY := $(firstword $(foreach n,clang-tidy-14 clang-tidy,\
	$(shell command -v $(n) 2>/dev/null)) clang-tidy)

# CPU engine handlers, compiled once per instruction set and chosen when the engine starts.
SIMT_VARIANTS = $(foreach part,arith moves memory control tile mma wgmma,\
	runtime/simt/run/simt_$(part).c) \
	runtime/simt/model/tensor_core.c

# {====== Nothing to change below ======

VERSION := $(shell sed -n 's/^.define CUTTLE_VERSION "\(.*\)"/\1/p' interp/cuttle.h)
SOVERSION = 0

# switch-enum: a switch over an enum lists every enumerator, so a new operation stops the compiler where one is missing.
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wwrite-strings -Wformat=2 -Wundef -Wswitch-enum \
	-Wimplicit-fallthrough$(if $(CC_IS_CLANG),,=5) $(WERROR)
# Instrumented code misleads gcc's flow analysis, and clang cannot vectorise it as loops ask.
ifneq ($(SANITIZE),)
WARNINGS += $(if $(CC_IS_CLANG),-Wno-pass-failed,-Wno-format-truncation -Wno-maybe-uninitialized)
# It does not know fences; the CPU engine has one, for kernels that ask for it.
WARNINGS += $(if $(CC_IS_CLANG),,$(if $(findstring thread,$(SANITIZE)),-Wno-tsan))
endif
# Contraction is decided in the IR, so that both engines agree: never by the C compiler.
# Debug information, from which the number of a build is made, does not say where the sources lie.
CODEGEN = -ffp-contract=off -ffile-prefix-map="$(CURDIR)"=. $(or $(PLATFORM_CODEGEN),-fPIC -fno-semantic-interposition -pthread)
BASE_FLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -I. $(LUA_CFLAGS)
# FILE_FLAGS are those of one file, set below.
COMPILE = $(CC) $(BASE_FLAGS) $(FILE_FLAGS) $(WARNINGS) $(CFLAGS) $(CODEGEN) $(SANITIZE)
LINK = $(or $(PLATFORM_LINK),$(CC)) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $(or $(PLATFORM_LDFLAGS),-pthread)
SYSTEM_LIBS = $(or $(PLATFORM_LIBS),-lm -ldl -lpthread)
TEST_FLAGS = -Itests/c $(if $(PLATFORM_HAS_NO_LIBRARIES),,$(if $(wildcard $(CUDA_HOME)/include/cuda.h),-isystem $(CUDA_HOME)/include))

TARGET := $(shell $(CC) -dumpmachine 2>/dev/null)
TARGET_IS_MAC := $(findstring darwin,$(TARGET))
TARGET_IS_X86 := $(findstring x86_64,$(TARGET))
CC_IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))

# Everything of Lua goes into the program and is exported, so that C modules find it there; so is what the public
# headers declare.
ifeq ($(LUA_STATIC),)
PROGRAM_LUA = $(LUA_LIBS)
else ifneq ($(PLATFORM_HAS_NO_LIBRARIES),)
PROGRAM_LUA = $(LUA_STATIC)
else ifneq ($(TARGET_IS_MAC),)
PROGRAM_LUA = -Wl,-force_load,$(LUA_STATIC)
else
PROGRAM_LUA = -Wl,--whole-archive $(LUA_STATIC) -Wl,--no-whole-archive -Wl,--dynamic-list=$(PROGRAM_EXPORTS)
endif
PROGRAM_EXPORTS = $(BUILD)/gen/program_exports
HAS_PROGRAM_EXPORTS = $(if $(findstring dynamic-list,$(PROGRAM_LUA)),$(PROGRAM_EXPORTS))
TEST_LUA = $(or $(LUA_STATIC),$(LUA_LIBS))
# What the public headers declare, and nothing else.
EXPORT_LIST = $(BUILD)/gen/exports
EXPORTS = -Wl,$(if $(TARGET_IS_MAC),-exported_symbols_list$(comma),--version-script=)$(EXPORT_LIST)
MODULE_FLAGS = -shared $(if $(TARGET_IS_MAC),-undefined dynamic_lookup) $(EXPORTS)
SO_FLAGS = -shared $(if $(TARGET_IS_MAC),,-Wl$(comma)-soname$(comma)libcuttle.so.$(SOVERSION)) $(EXPORTS)
comma = ,

# Sanitized, of the newer two the one that this processor takes: they differ in the width of vectors, and each takes a
# fifth of the build.
SANITIZED_ISA := $(if $(SANITIZE),$(if $(shell grep -w avx512vl /proc/cpuinfo 2>/dev/null),avx512,avx2))
ISAS = base $(if $(TARGET_IS_X86),$(or $(SANITIZED_ISA),avx2 avx512))
LACKED_ISAS = $(foreach i,avx2 avx512,$(if $(filter $(i),$(ISAS)),,-DCT_SIMT_LACKS_$(i)))
# Without errno and trapping arithmetic sqrt, floor and selects become vector code; values stay. Nothing unwinds
# through them, so they do without tables for it: 2 % of what is installed. Sanitized ones stay at CFLAGS' level, and
# those for old processors at -O0: at -O3 they take minutes to compile.
VARIANT_FLAGS = $(if $(SANITIZE),,-O3 -fno-asynchronous-unwind-tables) -fno-math-errno -fno-trapping-math
ISA_FLAGS_base = -DCT_SIMT_BASE $(if $(SANITIZE),-O0)
ISA_FLAGS_avx2 = -DCT_SIMT_AVX2 -mavx2 -mfma -mf16c
# Frames that outlive a call, for AddressSanitizer, gcc 12 aligns to 32 bytes, and its code asks for 64.
ISA_FLAGS_avx512 = -DCT_SIMT_AVX512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mf16c \
	$(if $(SANITIZE),$(if $(CC_IS_CLANG),,--param asan-use-after-return=0))

ifeq ($(MAKELEVEL),0)
JOBS := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
export JOBS
MAKEFLAGS += -j$(JOBS)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL: # `make clean all` means: first one, then the other
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(V),0)
Q = @
say = @printf '  %-5s %s\n' $(1) $(2)$(if $(filter-out build,$(BUILD)),' -> $(BUILD)')
else
say = @:
endif

# {====== Files ======

VARIANT_SRC := $(wildcard $(SIMT_VARIANTS))
PROGRAM_SRC := $(wildcard interp/shell/*.c)
LIB_SRC := $(filter-out $(VARIANT_SRC) $(PROGRAM_SRC),\
	$(wildcard runtime/*/*.c runtime/*/*/*.c interp/*/*.c)) $(PLATFORM_SRC)
STDLIB := $(foreach ext,lua html css js c h tune,$(wildcard stdlib/*.$(ext) stdlib/*/*.$(ext))) $(PLATFORM_STDLIB)
FOREIGN_PAGES := $(wildcard docs/from_*.md)
TEST_SRC := $(wildcard tests/c/test_*.c)
DEVICE_SRC := $(wildcard tests/device/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
CALLS_SRC := $(wildcard tests/fuzz/calls_*.c)
LAWS_SRC := $(wildcard tests/laws/*.c)
EMBED_SRC := $(wildcard examples/embed/*.c)
WEB_SRC := hosts/web/src/web.c
PYTHON_SRC := $(wildcard hosts/python/src/*.c)
PYTHON_FILES := $(filter-out %__pycache__,$(wildcard hosts/python/cuttle/*))

VARIANT_OBJ := $(foreach isa,$(ISAS),$(VARIANT_SRC:%.c=$(BUILD)/%.$(isa).o))
# Builds that nobody changes files for compile those of a folder together, but not what has flags of its own.
APART := $(addprefix runtime/,base/message.c base/newfile.c simt/simt.c simt/run/simt_isa.c)
LIB_NAMES := $(if $(TOGETHER),$(APART:%.c=%) $(shell $(LUA) scripts/together.lua $(BUILD) $(filter-out $(APART),$(LIB_SRC))),\
	$(LIB_SRC:%.c=%))
LIB_OBJ := $(LIB_NAMES:%=$(BUILD)/%.o) $(VARIANT_OBJ) $(BUILD)/gen/stdlib.o
PROGRAM_OBJ := $(PROGRAM_SRC:%.c=$(BUILD)/%.o)
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
DEVICE_BIN := $(DEVICE_SRC:%.c=$(BUILD)/%)
LAWS_OBJ := $(LAWS_SRC:%.c=$(BUILD)/%.o)
LAWS_BIN := $(BUILD)/tests/laws/laws
# What fuzz targets reach: readers of texts and files, which need no engine and no Lua state.
FUZZ_OBJ := $(filter-out $(VARIANT_OBJ) $(foreach r,simt watch emit device reference,$(BUILD)/runtime/$(r)/%),\
	$(filter $(BUILD)/runtime/% $(BUILD)/interp/text/%,$(LIB_OBJ)))
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
# Sequences of calls of the whole library: random ones in sanitized tests, libFuzzer's in fuzz-calls.
CALLS_BIN := $(CALLS_SRC:%.c=$(BUILD)/%)
CALLS_FUZZ_BIN := $(CALLS_SRC:tests/fuzz/%.c=$(BUILD)/tests/fuzz/fuzz_%)
EMBED_BIN := $(EMBED_SRC:%.c=$(BUILD)/%)
WEB_OBJ := $(WEB_SRC:%.c=$(BUILD)/%.o)
PYTHON_OBJ := $(PYTHON_SRC:%.c=$(BUILD)/%.o)
POCL_BIN := $(BUILD)/tests/pocl/bench_pocl
# Runs tables of test programs, a state for each program.
STATES_BIN := $(BUILD)/tests/support/states
# The programs that see what the CPU engine does, with a lowering that can be broken.
MUTANT_TESTS := $(filter $(BUILD)/tests/c/test_simt%,$(TEST_BIN))
MUTANT_BIN := $(addprefix $(BUILD)/mutants/,cuttle states $(notdir $(MUTANT_TESTS)))
# The program whose engines get each IR by way of its bytes.
IR_FILE_BIN := $(BUILD)/irfile/cuttle
BENCH_OBJ := $(BUILD)/scripts/bench/bench_tools.o
ALL_OBJ := $(LIB_OBJ) $(PROGRAM_OBJ) $(LAWS_OBJ) $(BENCH_OBJ) $(PYTHON_OBJ) $(WEB_OBJ) \
	$(patsubst %,%.o,$(TEST_BIN) $(DEVICE_BIN) $(FUZZ_BIN) $(CALLS_BIN) $(EMBED_BIN) $(POCL_BIN) $(STATES_BIN)) \
	$(patsubst %,$(BUILD)/tests/support/%.o,mutants ir_file emit_also)

PROGRAM = $(BUILD)/cuttle
STATIC_LIB = $(BUILD)/libcuttle.a
OWN_LIB = $(BUILD)/libcuttle_own.a
CORE_LIB = $(BUILD)/libcuttle_core.a
OWN_CORE_LIB = $(BUILD)/libcuttle_own_core.a
OWN_LUA_LIB = $(BUILD)/libcuttle_own_lua.a
HOST_LIBS = $(STATIC_LIB) $(CORE_LIB)
CORE_OBJ := $(filter $(BUILD)/runtime/%,$(LIB_OBJ))
# The samples that need no Lua.
CORE_EMBED_BIN := $(addprefix $(BUILD)/examples/embed/,core ir_file)
SHARED_LIB = $(BUILD)/libcuttle.so
MODULE = $(BUILD)/cuttle.so
BENCH_TOOLS = $(BUILD)/bench_tools.so
PYTHON_PACKAGE = $(BUILD)/python/cuttle
PYTHON_MODULE = $(PYTHON_PACKAGE)/_cuttle.abi3.so

# runtime/ct.h and what it includes, installed side by side: #include <cuttle/ct.h>.
CORE_HEADERS := $(filter runtime/%,$(shell $(CC) $(BASE_FLAGS) -x c -MM runtime/ct.h))
FLATTEN = 's|^\(\#include "\)[^"]*/|\1|'
put_headers = install -d "$(1)/cuttle" && install -m 644 interp/cuttle.h interp/cuttle.hpp "$(1)" && \
	for h in $(CORE_HEADERS); do sed $(FLATTEN) $$h > "$(1)/cuttle/$${h\#\#*/}"; done

# {====== Building ======

.PHONY: all lib module python wheel playground help demo bench bench-tools bench-pocl conversions test run-tests test-engine gpu-test asan covered tsan run-tsan laws kernel-fuzz c-fuzz fuzz fuzz-programs fuzz-calls golden ledger docs dist \
	mutants lint linted lint-python lint-format lint-lua lint-includes lint-sentences \
	format install uninstall install-playground install-playground-files uninstall-playground stage stage-files install-files install-headers install-module install-lua install-docs \
	deb rockspec clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(or $(PLATFORM_FILES),$(PROGRAM) $(STATIC_LIB) $(CORE_LIB) $(SHARED_LIB) $(MODULE))
lib: $(STATIC_LIB) $(CORE_LIB)
module: $(MODULE)

# A change of compiler or flags rebuilds everything.
FLAGS_FILE = $(BUILD)/flags
FLAGS_NOW := $(COMPILE) | $(LINK) | $(VARIANT_FLAGS) $(ISAS) | $(TEST_FLAGS) | $(PROGRAM_LUA)
$(FLAGS_FILE): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@

ifneq ($(PLATFORM),)
# What linit.c opens, and what that needs. Compatibility as in the distribution's own package.
LUA_PARTS = api code ctype debug do dump func gc lex mem object opcodes parser state string table tm undump \
	vm zio auxlib baselib corolib dblib iolib mathlib oadlib oslib strlib tablib utf8lib init
LUA_OBJ := $(LUA_PARTS:%=$(BUILD)/lua/l%.o)
$(FLAGS_FILE): | $(LUA_SRC)/lua.h
$(LUA_SRC)/lua.h:
	$(call say,LUA,$(LUA_SRC))
	$(Q)scripts/lua_source.sh $(LUA_SRC)
$(BUILD)/lua/%.o: $(FLAGS_FILE)
	$(call say,CC,$(LUA_SRC)/$*.c)
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 $(CODEGEN) $(PLATFORM_LUA_FLAGS) -DLUA_COMPAT_5_3 -c $(LUA_SRC)/$*.c -o $@
$(LUA_STATIC): $(LUA_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(PROGRAM) $(SHARED_LIB) $(TEST_BIN) $(LAWS_BIN) $(STATES_BIN) $(CALLS_BIN) $(EMBED_BIN): $(LUA_STATIC)
endif

$(BUILD)/%.o: %.c $(FLAGS_FILE)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

# What scripts/together.lua wrote.
$(BUILD)/%.o: $(BUILD)/%.c $(FLAGS_FILE)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

define variant_rule
$$(BUILD)/%.$(1).o: %.c $$(FLAGS_FILE)
	$$(call say,CC,'$$< ($(1))')
	@mkdir -p $$(@D)
	$$(Q)$$(COMPILE) $$(VARIANT_FLAGS) $$(ISA_FLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call variant_rule,$(isa))))
# The longest handlers, in three installed files: short where processors have better ones than the base.
# Clang cannot vectorise them at -O2 as loops ask.
ifneq ($(and $(TARGET_IS_X86),$(if $(SANITIZE)$(CC_IS_CLANG),,y)),)
$(patsubst %,$(BUILD)/runtime/simt/run/simt_%.base.o,arith tile memory): ISA_FLAGS_base += -O2
endif

# The model of tensor cores is short, and a fifth of what sanitized tests of products and attention take.
ifneq ($(and $(SANITIZE),$(if $(CC_IS_CLANG),,gcc)),)
$(BUILD)/runtime/simt/model/tensor_core.$(SANITIZED_ISA).o: VARIANT_FLAGS += -O2
endif

# Rooms that call nothing of the host: nothing unwinds through them, so they do without tables for it.
NO_UNWINDING = $(if $(SANITIZE),,-fno-asynchronous-unwind-tables)
$(foreach r,layout ir emit simt/lower watch,$(BUILD)/runtime/$(r)/%.o) $(BUILD)/interp/text/%.o: FILE_FLAGS = $(NO_UNWINDING)
# The cores that this process may use; public headers as where they are installed.
$(BUILD)/runtime/simt/simt.o $(BUILD)/lint/runtime/simt/simt: FILE_FLAGS = -D_GNU_SOURCE
$(BUILD)/runtime/simt/run/simt_isa.o: FILE_FLAGS = $(LACKED_ISAS)
# A limit that POSIX does not have: of the memory of data.
$(BUILD)/interp/shell/worker.o $(BUILD)/lint/interp/shell/worker: FILE_FLAGS = -D_GNU_SOURCE
# Where links lead.
$(BUILD)/runtime/base/newfile.o $(BUILD)/lint/runtime/base/newfile: FILE_FLAGS = -D_XOPEN_SOURCE=700
$(BUILD)/tests/%.o: FILE_FLAGS = $(TEST_FLAGS) $(LACKED_ISAS)
$(BUILD)/tests/%.o: WARNINGS += -Wno-switch-enum
$(BUILD)/examples/%.o $(BUILD)/lint/examples/%: FILE_FLAGS = -I$(BUILD)/include
$(EMBED_SRC:%.c=$(BUILD)/%.o): $(BUILD)/include/made
$(BUILD)/include/made: interp/cuttle.h interp/cuttle.hpp runtime/ct.h $(CORE_HEADERS)
	$(Q)mkdir -p $(@D)
	$(Q)$(call put_headers,$(@D))
	@touch $@

# Other builds for this machine take the text of the first one: it takes 4 s to make.
STDLIB_C = $(BUILD)/gen/stdlib.c
$(STDLIB_C): $(STDLIB) $(FOREIGN_PAGES) scripts/embed.lua
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(LUA) scripts/embed.lua $@ $(STDLIB) $(FOREIGN_PAGES)

$(BUILD)/gen/stdlib.o: $(STDLIB_C) $(FLAGS_FILE)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

PUBLIC_HEADERS = '\#include "interp/cuttle.h"' '\#include "runtime/ct.h"'
$(EXPORT_LIST): interp/cuttle.h runtime/ct.h $(CORE_HEADERS) scripts/exports.lua $(FLAGS_FILE)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)printf '%s\n' $(PUBLIC_HEADERS) | $(CC) $(BASE_FLAGS) -E -x c - > $@.i
	$(Q)$(LUA) scripts/exports.lua $(if $(TARGET_IS_MAC),mac,elf) $(basename $(VERSION)) < $@.i > $@

$(PROGRAM_EXPORTS): $(EXPORT_LIST)
	$(Q)$(LUA) scripts/exports.lua program < $(EXPORT_LIST).i > $@

# Names as in the sources, for tests of internals; hosts link the other one.
$(OWN_LIB): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)

$(OWN_CORE_LIB): $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(CORE_OBJ)

# What is over the core: a host links both archives, in this order.
$(OWN_LUA_LIB): $(filter-out $(CORE_OBJ),$(LIB_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(STATIC_LIB): $(OWN_LUA_LIB) $(OWN_LIB) scripts/prefix_names.sh
	$(call say,NAMES,$@)
	$(Q)scripts/prefix_names.sh $(OWN_LUA_LIB) $@ $(OWN_LIB)

$(CORE_LIB): $(OWN_CORE_LIB) scripts/prefix_names.sh
	$(call say,NAMES,$@)
	$(Q)scripts/prefix_names.sh $(OWN_CORE_LIB) $@ $(OWN_CORE_LIB)

# The shared library has a Lua of its own, under names of its own, for hosts that have another one. Its calls go
# through a table, since it is the module for `require`, too: then they go to the Lua that requires it.
HAS_OWN_LUA = $(and $(LUA_STATIC),$(findstring linux,$(TARGET)),$(filter x86_64% aarch64%,$(TARGET)),$(if $(PLATFORM),,y))
SHARED_LUA = $(if $(HAS_OWN_LUA),$(addprefix $(BUILD)/gen/,lua_table.o liblua_own.a))
$(BUILD)/gen/lua_table.c: $(LIB_OBJ) scripts/lua_table.lua
	$(call say,GEN,$@)
	$(Q)nm -u $(LIB_OBJ) | $(LUA) scripts/lua_table.lua > $@
$(BUILD)/gen/lua_table.o: $(BUILD)/gen/lua_table.c
	$(call say,CC,$<)
	$(Q)$(CC) -std=c11 $(CFLAGS) $(CODEGEN) $(SANITIZE) -Wall -Wextra -Werror -c $< -o $@
$(BUILD)/gen/liblua_own.a: $(BUILD)/gen/liblua_python.a scripts/prefix_names.sh
	$(call say,NAMES,$@)
	$(Q)scripts/prefix_names.sh $< $@ $<
	$(Q)objcopy --remove-section=.eh_frame --remove-section=.rela.eh_frame $@ # errors of Lua in C jump

$(SHARED_LIB): $(LIB_OBJ) $(EXPORT_LIST) $(SHARED_LUA)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(SO_FLAGS) $(LIB_OBJ) $(or $(SHARED_LUA),$(LUA_LIBS)) $(SYSTEM_LIBS) -o $@
	$(Q)ln -sf $(@F) $@.$(SOVERSION)

$(MODULE): $(LIB_OBJ) $(EXPORT_LIST)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(MODULE_FLAGS) $(LIB_OBJ) $(SYSTEM_LIBS) -o $@

# The playground: a static folder. Its engine is the program for WebAssembly with what a page calls beside main.
PLAYGROUND = build/playground
ENGINE = $(BUILD)/engine.js
$(ENGINE): $(PROGRAM_OBJ) $(WEB_OBJ) $(OWN_LIB) $(LUA_STATIC)
	$(call say,LINK,$@)
	$(Q)$(EMCC) $(CFLAGS) $(LDFLAGS) $(PLATFORM_LDFLAGS) $(ENGINE_LDFLAGS) $(PROGRAM_OBJ) $(WEB_OBJ) $(OWN_LIB) $(PROGRAM_LUA) \
		$(SYSTEM_LIBS) -o $@

# Settings of the command line are those of this machine's program, which draws the pictures.
playground:
	@$(MAKE) PLATFORM=wasm BUILD=build/wasm AR=emar build/wasm/engine.js
	@$(LUA) hosts/web/build.lua build/wasm $(DOCS)/docs/pictures $(PLAYGROUND)

SHARED_LDFLAGS := $(filter-out -no-pie -static-lib%,$(LDFLAGS))
$(SHARED_LIB) $(MODULE) $(PYTHON_MODULE) $(BENCH_TOOLS): override LDFLAGS := $(SHARED_LDFLAGS)
ifneq ($(findstring -static-libasan,$(LDFLAGS)),)
$(BENCH_TOOLS): private override SANITIZE = # the program that loads it has the runtimes
endif
$(BENCH_TOOLS): $(BENCH_OBJ)
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared $(if $(TARGET_IS_MAC),-undefined dynamic_lookup) $< -ldl -o $@

# The package as it is installed: `PYTHONPATH=build/python python3` finds it. Python's headers are those of
# any version from 3.9 on; the module serves all of these.
PYTHON_LUA = $(if $(and $(LUA_STATIC),$(if $(TARGET_IS_MAC),,y)),$(BUILD)/gen/liblua_python.a)
PYTHON_LIBS = $(HOST_LIBS) $(or $(PYTHON_LUA),$(LUA_STATIC),$(LUA_LIBS))
# Lua's archive may be compiled for programs only, where the C library's variables are at fixed distances. For
# a shared object they get names of the module's own; streams.c has them.
$(BUILD)/gen/liblua_python.a: $(LUA_STATIC)
	$(call say,NAMES,$@)
	$(Q)mkdir -p $(@D) && objcopy $(foreach f,stdin stdout stderr,--redefine-sym $(f)=cuttle_$(f)) $< $@
$(BUILD)/hosts/python/src/%.o $(BUILD)/lint/hosts/python/src/%: FILE_FLAGS = -isystem $(PYTHON_HEADERS)
$(PYTHON_MODULE): $(PYTHON_OBJ) $(HOST_LIBS) $(PYTHON_LUA) $(PYTHON_FILES) hosts/python/exports
	$(call say,LINK,$@)
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && cp $(PYTHON_FILES) $(@D)
	$(Q)$(LINK) -shared $(if $(TARGET_IS_MAC),-undefined dynamic_lookup,-Wl$(comma)--version-script=hosts/python/exports) \
		$(PYTHON_OBJ) $(PYTHON_LIBS) $(SYSTEM_LIBS) -o $@

python: $(PYTHON_MODULE)

# One wheel for Python 3.9 and later, without a network and without setuptools.
wheel: $(PYTHON_MODULE)
	@cd hosts/python && $(PYTHON) cuttle_build.py $(abspath $(BUILD))

# For the 80 programs of tests: LLVM's linker, where it is here, takes half the time of the other one, or a third.
QUICK_LINKER := $(if $(or $(PLATFORM),$(TARGET_IS_MAC)),,$(if $(shell command -v ld.lld 2>/dev/null),-fuse-ld=lld))

# What takes longest to compile begins first, so that the last processor is not alone with it.
$(PROGRAM): $(VARIANT_OBJ) $(HAS_PROGRAM_EXPORTS)
$(IR_FILE_BIN) $(BUILD)/mutants/cuttle: | $(HAS_PROGRAM_EXPORTS)
$(PROGRAM): $(PROGRAM_OBJ) $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(PROGRAM_OBJ) $(LIB_OBJ) $(PROGRAM_LUA) $(SYSTEM_LIBS) -o $@

$(BUILD)/tests/c/test_bench_tools: $(BENCH_OBJ)
$(TEST_BIN) $(DEVICE_BIN) $(POCL_BIN) $(STATES_BIN): %: %.o $(OWN_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(QUICK_LINKER) $(filter %.o,$^) $(OWN_LIB) $(TEST_LUA) $(SYSTEM_LIBS) -o $@

$(filter-out $(CORE_EMBED_BIN),$(EMBED_BIN)): %: %.o $(HOST_LIBS)
	$(call say,LINK,$@)
	$(Q)$(LINK) $< $(HOST_LIBS) $(TEST_LUA) $(SYSTEM_LIBS) -o $@

$(CORE_EMBED_BIN): %: %.o $(CORE_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) $< $(CORE_LIB) $(SYSTEM_LIBS) -o $@

$(LAWS_BIN): $(LAWS_OBJ) $(OWN_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) $^ $(TEST_LUA) $(SYSTEM_LIBS) -o $@

-include $(ALL_OBJ:.o=.d)

# {====== Trying it ======

help:
	@echo 'all        the program, the libraries and the Lua module, into $(BUILD)/'
	@echo 'demo       install what the build needs, build, run examples/moye_matmul.lua'
	@echo 'test       install what the tests need, build and run them; with WHOLE=1 also packages and installed hosts'
	@echo 'test-engine  what tests the CPU engine and the language alone, also with PLATFORM=NAME'
	@echo 'asan       the same tests with AddressSanitizer and UBSan'
	@echo 'covered    write tests/golden/covered.txt anew: the tests that asan leaves out, as others take all their edges'
	@echo 'tsan       the tests of threads with ThreadSanitizer'
	@echo 'gpu-test   the tests and examples that need a CUDA device'
	@echo 'laws       the layout algebra against its laws, until CHECKS=$(CHECKS) random cases have held'
	@echo 'kernel-fuzz  PROGRAMS=$(PROGRAMS) random kernels of SEED=$(SEED) against plain Lua'
	@echo 'c-fuzz       the same against references in C, by JOBS=$(JOBS) processes'
	@echo 'mutants    the CPU engine with each case of its lowering broken once, those that fit MUTANT: a test must fail'
	@echo 'fuzz       each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) seconds'
	@echo 'fuzz-calls sequences of calls of cuttle.h and ct.h, likewise; builds the library for it'
	@echo 'python     the Python package, into $(BUILD)/python'
	@echo 'wheel      the package as a wheel, into $(BUILD)/'
	@echo 'PLATFORM=aarch64|musl|wasm  with all: another machine, into build/PLATFORM; scripts/platforms says how'
	@echo 'playground  the engine and its pages for a browser, a static folder: $(PLAYGROUND)/'
	@echo 'bench      scripts/bench/main.lua: the product against its peers'
	@echo 'bench-tools  what scripts/bench needs besides the program, into $(BUILD)/'
	@echo 'bench-pocl the CPU engine beside PoCL, in ROUNDS=$(ROUNDS) rounds'
	@echo 'golden     write the expected outputs of tests/golden anew; review the diff'
	@echo 'ledger     write tests/golden/compiled.txt anew, after compiling the kernels that are new; with LEDGER= all'
	@echo 'docs       build the pages, the reference and the pictures into $(BUILD)/docs, and write outputs of'
	@echo '           examples into the pages anew; review'
	@echo 'dist       $(BUILD)/$(DIST).tar.gz: the sources with the built documents'
	@echo 'lint       formatting, clang-tidy, luacheck, who knows whom, and long sentences'
	@echo 'linted     write tests/golden/linted.txt anew, after clang-tidy and luacheck on what is new; with LINTED= on all'
	@echo 'format     format the C sources'
	@echo 'deb        $(BUILD)/cuttle_$(VERSION)-1_ARCH.deb: a package for Debian and its kin'
	@echo 'rockspec   $(BUILD)/cuttle-$(VERSION)-1.rockspec, which builds from the archive of make dist'
	@echo 'uninstall  removes what make install put into PREFIX, under DESTDIR'
	@echo 'install    into PREFIX=$(PREFIX), under DESTDIR; DEBUG_INFO=1 puts debug information beside'
	@echo 'install-playground  build the playground and install it, where cuttle view finds it; uninstall-playground'
	@echo 'clean      remove $(BUILD)/'

demo:
	@scripts/deps.sh build
	@$(MAKE) all
	@$(PROGRAM) examples/moye_matmul.lua

bench: $(PROGRAM) bench-tools
	@$(PROGRAM) scripts/bench/main.lua

bench-tools: $(BENCH_TOOLS)

bench-pocl: $(POCL_BIN)
	@scripts/deps.sh pocl
	@$(POCL_BIN) $(ROUNDS)

# All 2^32 inputs on a GPU, 2^26 on the CPU.
conversions: $(PROGRAM)
	@echo f16 bf16 tf32 f8e4m3 f8e5m2 f8ue8m0 f8ue4m3 f6e2m3 f6e3m2 f4e2m1 | xargs -P 0 -n 1 $(PROGRAM) scripts/conversions.lua

# {====== Testing: everything speaks TAP to prove ======

# scripts/suites.lua lists all tests, how each is run, and what a run leaves out: $(call run_suites,RUN,OPTIONS).
SUITES = $(LUA) scripts/suites.lua
run_suites = $(TEST_ENV) prove --exec '$(SUITES) one $(1)' $(PROVE_OPTIONS) $(2) $$($(TEST_ENV) $(SUITES) list $(1))
PROVE_OPTIONS = --jobs $(or $(JOBS),2) --failures --comments --timer
# Sanitized runs take what NVRTC has compiled for the others: it is no code of ours.
# gcc's runtime takes some thread-local blocks of libraries for what glibc before 2.25 made, and its
# search for leaks dies of that: so intercept_tls_get_addr=0. The blocks are searched as heap blocks.
# A freed block is watched until 64 MiB more are freed: with the 256 of the default most time of the kernel is
# that of making new pages. For the same reason glibc keeps blocks of up to 32 MiB that are freed: else new pages are
# an eighth of the time of `check`. Each error that Lua jumps out of looks through all frames that are kept for
# detect_stack_use_after_return: a quarter of the default's are enough for calls some thousand deep.
CACHE = $(BUILD)/cache
KEPT_BLOCKS = MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=67108864
TEST_ENV = CC='$(CC)' CUTTLE_CACHE=$(abspath $(CACHE)) $(KEPT_BLOCKS) $(SUITES_ENV) $(if $(WHOLE),WHOLE=1) \
	ASAN_OPTIONS=protect_shadow_gap=0:detect_stack_use_after_return=1:max_uar_stack_size_log=18:quarantine_size_mb=64:intercept_tls_get_addr=0:handle_sigill=1 \
	UBSAN_OPTIONS=print_stacktrace=1 LSAN_OPTIONS=suppressions=$(abspath tests/lsan.supp):print_suppressions=0
SUITES_ENV = BUILD='$(BUILD)' LUA='$(LUA)' PLAYGROUND='$(PLAYGROUND)' FUZZ_SECONDS=$(FUZZ_SECONDS) FILING='$(FILING_PROGRAM)' $(if $(ONCE),ONCE=1)
RUN_TESTS = $(LUA) scripts/run_tests.lua --cuttle=$(PROGRAM)
RUN_DOCS = $(LUA) scripts/run_docs.lua --cuttle=$(PROGRAM) --built=$(DOCS)
# IRs go through files where texts are compiled, and where a sanitizer watches the tests of kernels: so each of
# these runs is that of a file, too. The linker of a Mac wraps no functions.
FILING_PROGRAM = $(if $(TARGET_IS_MAC),$(PROGRAM),$(IR_FILE_BIN))

# The pages as readers of a release get them: with the reference, and with the pictures that their examples
# draw. The repository keeps the one that README.md shows, and those that were measured on a GPU.
DOCS = $(BUILD)/docs
KEPT_FILES := $(wildcard docs/pictures/*.svg docs/*.json)
DRAWN_PAGES = $(shell grep -l '^!\[' docs/*.md)
PAGES := $(wildcard *.md docs/*.md)
OTHER_PAGES := examples/README.md $(wildcard tests/*/README.md)
REFERENCE = $(DOCS)/docs/reference.md

# What NVRTC makes of the kernels whose speed is measured.
FINGERPRINTS = tests/golden/fingerprints.txt
FINGERPRINT_RUN = env CUTTLE_DEVICE=cpu $(PROGRAM) --sm=90a scripts/fingerprints.lua

test:
	@scripts/deps.sh test
	@$(MAKE) run-tests

include scripts/platforms/tests.mk

# What the tests run: of programs in C those that scripts/suites.lua lists. Those that are not sanitized also read
# documents, start hosts and fuzz targets.
TEST_RUN = $(if $(SANITIZE),asan,test)
TESTED = $(BENCH_TOOLS) $(STATES_BIN) $(FILING_PROGRAM) $(if $(filter run-tests,$(MAKECMDGOALS)),$(patsubst %.c,$(BUILD)/%,\
	$(filter-out tests/fuzz/fuzz_%,$(filter %.c,$(shell $(SUITES_ENV) $(SUITES) list $(TEST_RUN))))))
ifneq ($(and $(filter run-tests,$(MAKECMDGOALS)),$(if $(SANITIZE),,y)),)
TESTED += $(REFERENCE) $(if $(FUZZ_SRC),fuzz-programs)
# Without Python's headers there is no package, and without emcc no playground: their tests are skipped.
TESTED += $(if $(PYTHON_HEADERS),$(PYTHON_MODULE))
TESTED += $(if $(PLATFORM),,$(if $(shell scripts/deps.sh has emcc python chromium codemirror && echo yes),playground))
endif

run-tests: $(if $(SANITIZE),$(PROGRAM),all) $(TESTED)
	@$(call run_suites,$(TEST_RUN))

gpu-test: all $(DEVICE_BIN)
	@$(call run_suites,gpu,--jobs 1)

# The text of the library's modules is that of the first build.
SAME_TEXTS = STDLIB_C=$(STDLIB_C)
# At -Og: to compile takes two thirds of what it takes at -O1, and tests are as fast.
# Programs at fixed addresses: else a fourth of what a short one takes is to relocate the tables of its variables. With
# gcc's runtimes in the program, as clang has them, tests take a twelfth less; what a program loads finds them there.
STATIC_SANITIZERS = $(if $(or $(CC_IS_CLANG),$(TARGET_IS_MAC)),,$(if $(wildcard $(shell $(CC) -print-file-name=libasan.a)),\
	-static-libasan -static-libubsan -Wl$(comma)--export-dynamic-symbol=__asan_*$(comma)--export-dynamic-symbol=__ubsan_*))
# Undefined behaviour is a trap, which AddressSanitizer reports with its line: texts that say which for each place are
# nine tenths of the program's data, and a fifth of what it takes to compile. `make asan TRAPS=` has them.
TRAPS = $(if $(CC_IS_CLANG),-fsanitize-trap=undefined,-fsanitize-undefined-trap-on-error)
asan:
	@$(MAKE) BUILD=$(BUILD)/asan TOGETHER=1 CACHE=$(CACHE) $(SAME_TEXTS) CFLAGS='-Og -g1 -fno-omit-frame-pointer' \
		LDFLAGS='$(LDFLAGS) $(if $(TARGET_IS_MAC),,-no-pie) $(QUICK_LINKER) $(STATIC_SANITIZERS)' \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all $(TRAPS)' run-tests

# The tests that the sanitized run leaves out because its others take all edges of our C that they take: listed anew
# after a run that notes the edges of each. What fails there is not left out. Needs clang.
COVER = $(BUILD)/cover
covered:
	@rm -rf $(COVER)/edges && mkdir -p $(COVER)
	@$(CLANG) -O1 -fPIC -c tests/support/edges.c -o $(COVER)/edges.o
	-@COVERED= EDGES=$(abspath $(COVER))/edges $(MAKE) BUILD=$(COVER) CACHE=$(CACHE) $(SAME_TEXTS) CC='$(CLANG)' \
		CFLAGS='-O1 -D__SANITIZE_ADDRESS__' LDFLAGS='$(abspath $(COVER))/edges.o -no-pie $(QUICK_LINKER)' \
		SANITIZE='-fsanitize-coverage=trace-pc-guard,pc-table' SUITES='$(LUA) scripts/covering.lua' run-tests
	@$(LUA) scripts/covering.lua choose $(COVER)/edges > $(COVER)/covered.txt
	@cp $(COVER)/covered.txt tests/golden/covered.txt

# The whole library, as any of it may run in a thread, but unoptimised: threads meet in the engine and in states.
# .ci/run makes it with clang, and so has clang's warnings of everything from the same build.
tsan:
	@$(MAKE) BUILD=$(BUILD)/tsan TOGETHER=1 $(SAME_TEXTS) CFLAGS='-O0 -g1' SANITIZE='-fsanitize=thread' all run-tsan

run-tsan: $(BUILD)/tests/c/test_threads
	@TSAN_OPTIONS=halt_on_error=1 $(TEST_ENV) prove --exec '' $(PROVE_OPTIONS) $<

# For as long as it is told to: make laws CHECKS=10000000 SEED=7 LAW=composition.
laws: $(LAWS_BIN)
	@$(LAWS_BIN) $(CHECKS) $(SEED) '$(LAW)'

# For as long as it is told to: make kernel-fuzz PROGRAMS=100000 SEED=7.
kernel-fuzz: $(PROGRAM)
	@env CUTTLE_DEVICE=$(or $(CUTTLE_DEVICE),cpu) $(PROGRAM) scripts/fuzz_kernels.lua $(PROGRAMS) $(SEED)

# Likewise against references in C: make c-fuzz PROGRAMS=100000 SEED=7 JOBS=16.
c-fuzz: $(PROGRAM)
	@env CUTTLE_DEVICE=$(or $(CUTTLE_DEVICE),cpu) $(PROGRAM) scripts/fuzz_c.lua $(PROGRAMS) $(SEED) $(JOBS)

# The fuzz targets need clang's libFuzzer; without it their tests are skipped. Tests run each for two seconds: to
# optimise them would take longer than all else of their build.
FUZZ_LEVEL = $(if $(filter fuzz%,$(MAKECMDGOALS)),-O1,-O0)
fuzz-programs:
	@if scripts/run_fuzz.sh --probe $(CLANG); then \
		$(MAKE) BUILD=$(BUILD)/fuzz TOGETHER=1 CC=$(CLANG) CFLAGS='$(FUZZ_LEVEL) -g1' \
			SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' \
			$(FUZZ_BIN:$(BUILD)/%=$(BUILD)/fuzz/%); \
	fi

# Real files for fuzz_ir_file: their bytes change with the operations, so they are made here.
IR_SEEDS = $(BUILD)/fuzz/tests/fuzz/fuzz_ir_file.seeds
fuzz-programs: $(if $(TARGET_IS_MAC),,$(IR_SEEDS)/made)
$(IR_SEEDS)/made: $(IR_FILE_BIN)
	$(Q)mkdir -p $(@D)
	$(Q)CUTTLE_DEVICE=cpu CUTTLE_IR_FILES=$(@D) $(IR_FILE_BIN) scripts/kernel_cases.lua tests/kernel_cases >$@

$(CALLS_BIN): %: %.o $(BUILD)/tests/fuzz/random_inputs.o $(OWN_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) $< $(BUILD)/tests/fuzz/random_inputs.o $(OWN_LIB) $(TEST_LUA) $(SYSTEM_LIBS) -o $@

$(CALLS_FUZZ_BIN): $(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/%.o $(OWN_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) -fsanitize=fuzzer $< $(OWN_LIB) $(TEST_LUA) $(SYSTEM_LIBS) -o $@

# With everything in the way of a whole build of its own: for as long as it is told to.
fuzz-calls:
	@$(MAKE) BUILD=$(BUILD)/fuzz TOGETHER=1 CC=$(CLANG) CFLAGS='-O1 -g' \
		SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' \
		$(CALLS_FUZZ_BIN:$(BUILD)/%=$(BUILD)/fuzz/%)
	@for f in $(CALLS_FUZZ_BIN:$(BUILD)/%=$(BUILD)/fuzz/%); do \
		$(TEST_ENV) scripts/run_fuzz.sh $$f $(FUZZ_SECONDS); done

$(FUZZ_BIN): %: %.o $(FUZZ_OBJ)
	$(call say,LINK,$@)
	$(Q)$(LINK) -fsanitize=fuzzer $< $(FUZZ_OBJ) $(SYSTEM_LIBS) -o $@

# Each case of the CPU engine's lowering broken once: some test must fail. Takes minutes.
MUTANT_RUN = $(LUA) scripts/mutate_lowering.lua $(BUILD)/mutants --jobs=$(or $(JOBS),2)
mutants: $(MUTANT_BIN)
	@$(MUTANT_RUN) '$(MUTANT)'

LINK_MUTANT = $(LINK) -Wl,--wrap=ct_simt_lower
$(BUILD)/mutants/cuttle: $(PROGRAM_OBJ) $(BUILD)/tests/support/mutants.o $(OWN_LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_MUTANT) $^ $(PROGRAM_LUA) $(SYSTEM_LIBS) -o $@
$(BUILD)/mutants/states: $(STATES_BIN).o $(BUILD)/tests/support/mutants.o $(OWN_LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_MUTANT) $^ $(TEST_LUA) $(SYSTEM_LIBS) -o $@
$(BUILD)/mutants/test_%: $(BUILD)/tests/c/test_%.o $(BUILD)/tests/support/mutants.o $(OWN_LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_MUTANT) $^ $(TEST_LUA) $(SYSTEM_LIBS) -o $@

$(IR_FILE_BIN): $(PROGRAM_OBJ) $(BUILD)/tests/support/ir_file.o $(BUILD)/tests/support/emit_also.o $(OWN_LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(foreach f,ct_simt_lower ct_emit_cuda launch_emit,-Wl,--wrap=$(f)) $^ $(PROGRAM_LUA) $(SYSTEM_LIBS) -o $@

fuzz: fuzz-programs
	@$(TEST_ENV) prove --exec '$(SUITES) one test' --verbose $(FUZZ_SRC)

golden: $(PROGRAM) $(BUILD)/tests/c/test_emit
	@$(BUILD)/tests/c/test_emit --update | grep -v '^ok'
	@$(RUN_TESTS) --update tests/golden
	@$(FINGERPRINT_RUN) --update $(FINGERPRINTS)

# The texts that compiled, and what cubins came of others, so that tests compile only new ones; `make ledger LEDGER=`
# compiles all of them again. The second list is that of scripts/ledger.lua.
LEDGER = tests/golden/compiled.txt
LEDGER_RUN = CUTTLE_CACHE=$(abspath $(CACHE)) LEDGER=$(LEDGER) RECORD=$(BUILD)/compiled
ledger: $(PROGRAM) $(FILING_PROGRAM) $(BUILD)/tests/c/test_emit
	@for f in compiled compiled.cubins compiled.emission; do : > $(BUILD)/$$f; done
	@$(LEDGER_RUN) scripts/compile_kernels.sh $(FILING_PROGRAM) > $(BUILD)/compiled.tap; \
		grep -A 5 '^not ok' $(BUILD)/compiled.tap || true
	@$(LEDGER_RUN) $(BUILD)/tests/c/test_emit | grep -A 5 '^not ok' || true
	@$(LEDGER_RUN) $(FINGERPRINT_RUN) $(FINGERPRINTS) | grep -A 5 '^not ok' || true
	@$(LEDGER_RUN) $(RUN_TESTS) $(sort $(wildcard tests/lua/*/compile*.lua) \
		$(shell grep -l 'support/compiled.lua' tests/lua/*/*.lua)) \
		tests/lua/program/emission_compiles.lua tests/lua/program/helper_names.lua | grep -A 5 '^not ok' || true
	@LC_ALL=C sort -k4,4 -k3,3 $(BUILD)/compiled > tests/golden/compiled.txt
	@LC_ALL=C sort $(BUILD)/compiled.emission > tests/golden/emission.txt
	@LC_ALL=C sort -u $(BUILD)/compiled.cubins | LC_ALL=C sort -s -k3 -k2,2 > tests/golden/cubins.txt

# All pages with all pictures, so that links lead somewhere from the first on.
check_docs = $(RUN_DOCS) $(1) > $(DOCS)/tap || { grep -A 9 '^not ok' $(DOCS)/tap; exit 1; }
$(REFERENCE): $(PROGRAM) $(PAGES) $(OTHER_PAGES) $(KEPT_FILES) scripts/gen_docs.lua scripts/gen_findings.lua \
		$(wildcard tests/check/*.lua tests/check/right/*.lua)
	$(call say,DOCS,$(DOCS))
	$(Q)for f in $(PAGES) $(OTHER_PAGES) $(KEPT_FILES); do \
		mkdir -p $(DOCS)/$$(dirname $$f) && cp $$f $(DOCS)/$$f; done
	$(Q)$(PROGRAM) scripts/gen_docs.lua $@
	$(Q)$(PROGRAM) scripts/gen_findings.lua $(DOCS)/docs/findings.md
	$(Q)$(call check_docs,$(DRAWN_PAGES))

playground: $(REFERENCE)
docs: $(REFERENCE)
	@$(RUN_DOCS) --update $(PAGES)

# What is released: the sources, as committed, with the pages and pictures that are built. TESTED_DOCS=1: the test
# `documents` has run the pages of this build already, with their pictures.
DIST = cuttle-$(VERSION)
dist: $(REFERENCE)
	@$(if $(TESTED_DOCS),,$(call check_docs,$(PAGES) $(REFERENCE)))
	@rm -rf $(BUILD)/$(DIST) && mkdir -p $(BUILD)/$(DIST)
	@git archive HEAD | tar -x -C $(BUILD)/$(DIST)
	@cp -r $(DOCS)/docs $(BUILD)/$(DIST)/
	@scripts/pack_tree.sh $(BUILD) $(DIST) $(BUILD)/$(DIST).tar.gz $$(scripts/source_date.sh) && rm -r $(BUILD)/$(DIST)
	@echo $(BUILD)/$(DIST).tar.gz

# {====== Linting ======

# How far the analyzer follows each function: ten times fewer steps than its default, which takes ten
# times as long; `make lint ANALYZER=` for the whole way.
ANALYZER = -Xclang -analyzer-config -Xclang max-nodes=20000
TIDY_SRC = $(BENCH_OBJ:$(BUILD)/%.o=%.c) $(LIB_SRC) $(PROGRAM_SRC) $(EMBED_SRC) $(WEB_SRC)
TIDY_STAMPS = $(TIDY_SRC:%.c=$(BUILD)/lint/%) $(VARIANT_SRC:%.c=$(BUILD)/lint/%)
TIDY_PYTHON = $(if $(and $(filter lint%,$(MAKECMDGOALS)),$(PYTHON_HEADERS)),$(PYTHON_SRC:%.c=$(BUILD)/lint/%))
C_FILES = $(wildcard scripts/bench/*.[ch] runtime/*.h runtime/*/*.[ch] runtime/*/*/*.[ch] interp/*.h interp/*.hpp \
	interp/*/*.[ch] hosts/*/src/*.[ch] tests/*/*.[ch] tests/*/*.cpp examples/*/*.[ch] examples/*/*.cpp)
LUA_DIRS = $(foreach d,scripts stdlib hosts tests examples,$(if $(shell find $(d) -name '*.lua'),$(d)))

lint: lint-format lint-lua lint-includes lint-sentences $(TIDY_STAMPS)
	@$(MAKE) lint-python

lint-python: $(TIDY_PYTHON)

lint-format:
	$(call say,LINT,'format of $(words $(C_FILES)) C files')
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)

LUA_STAMP = $(BUILD)/lint/lua
lint-lua:
	@mkdir -p $(dir $(LUA_STAMP))
	$(call say,LINT,'luacheck: $(LUA_DIRS)')
	$(Q)LUA='$(LUA)' STAMP=$(LUA_STAMP) scripts/luacheck.sh $(LUA_DIRS)

lint-includes: $(LIB_OBJ) $(PROGRAM_OBJ)
	$(Q)$(LUA) scripts/check_includes.lua
	$(Q)$(LUA) scripts/check_requires.lua
	$(Q)$(LUA) scripts/check_headers.lua
	$(Q)$(LUA) scripts/check_objects.lua $(BUILD)
	$(Q)$(LUA) scripts/function_sizes.lua
	$(Q)$(LUA) scripts/check_formats.lua
	$(Q)$(LUA) scripts/check_bytes.lua

lint-sentences:
	$(Q)$(LUA) scripts/draw_sentences.lua --long

# A stamp follows the object, and so the headers too: only what changed is looked at. Of that, what is as it was when
# the ledger was written is not checked again; with LINTED= it is.
TIDY_SETTING = $(BUILD)/lint/setting
$(TIDY_SETTING): FORCE
	@mkdir -p $(sort $(dir $(TIDY_STAMPS) $(TIDY_PYTHON)))
	@{ $(CLANG_TIDY) --version | grep version; cat .clang-tidy; \
		CLANG='$(CLANG)' scripts/system_headers.sh $(BASE_FLAGS) -- $(TIDY_SRC) $(TIDY_HEADERS); } > $@.new
	@cmp -s $@.new $@ || mv $@.new $@
TIDY = @CLANG='$(CLANG)' CLANG_TIDY='$(CLANG_TIDY)' scripts/tidy.sh $*.c $@ $(TIDY_SETTING)
TIDY_HEADERS = $(filter %.h %.hpp,$(filter-out tests/%,$(C_FILES)))
# Python's headers are none of the setting: another Python changes its module's files only.
$(BUILD)/lint/hosts/python/%: $(BUILD)/hosts/python/%.o $(TIDY_SETTING) scripts/tidy.sh
	@CLANG='$(CLANG)' CLANG_TIDY='$(CLANG_TIDY)' scripts/tidy.sh hosts/python/$*.c $@ $(TIDY_SETTING) - \
		$(BASE_FLAGS) $(FILE_FLAGS) $(ANALYZER)
$(BUILD)/lint/%: $(BUILD)/%.o $(TIDY_SETTING) scripts/tidy.sh
	$(TIDY) $(BUILD)/$*.d $(BASE_FLAGS) $(FILE_FLAGS) $(ANALYZER)
$(BUILD)/lint/%: $(BUILD)/%.base.o $(TIDY_SETTING) scripts/tidy.sh
	$(TIDY) $(BUILD)/$*.base.d $(BASE_FLAGS) -DCT_SIMT_BASE $(ANALYZER)

# What clang-tidy and luacheck found nothing in, so that they run on new texts only; with LINTED= they run on all.
linted: $(TIDY_STAMPS) $(TIDY_PYTHON) lint-lua
	@cat $(TIDY_STAMPS) $(TIDY_PYTHON) $(LUA_STAMP) | LC_ALL=C sort -k2 > tests/golden/linted.txt

format:
	$(CLANG_FORMAT) -i $(C_FILES)

# {====== Installing ======

# A relative one is below this folder. Names of folders may have spaces, so recipes quote them.
ifeq ($(filter /%,$(firstword $(PREFIX))),)
override PREFIX := $(if $(word 2,$(PREFIX)),$(CURDIR)/$(PREFIX),$(abspath $(PREFIX)))
endif
# Folders of libraries and headers; below PREFIX.
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
LIB_DIR = $(DESTDIR)$(LIBDIR)
# Of the files that say where the library is: pkg-config's and CMake's.
UP = $(shell printf %s '$(subst $(PREFIX)/,,$(LIBDIR))' | sed 's|[^/][^/]*|..|g')
PACKAGING = scripts/packaging
FILL_IN = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	-e 's|@VERSION@|$(VERSION)|' -e 's|@SOVERSION@|$(SOVERSION)|' -e 's|@LUA_PC@|$(LUA_PC)|' \
	-e 's|@MINOR_VERSION@|$(basename $(VERSION))|' -e 's|@LIB_TO_PREFIX@|$(UP)|' \
	-e 's|@INCLUDE_IN_PREFIX@|$(subst $(PREFIX)/,,$(INCLUDEDIR))|'
# Without debug information; DEBUG_INFO=1 puts it beside.
INSTALL_STRIPPED = DEBUG_INFO='$(DEBUG_INFO)' scripts/install_stripped.sh
LUA_MODULE_DIR = $(LIB_DIR)/lua/5.4
SHARED_NAME = libcuttle.so.$(VERSION)

# In a folder of its own first: what is there then is what is installed, and what uninstall removes.
STAGE = $(BUILD)/stage
MANIFEST = $(PREFIX)/share/cuttle/manifest
DOCDIR = $(PREFIX)/share/doc/cuttle
MANDIR = $(PREFIX)/share/man
# Where the shells look for completions.
BASH_COMPLETIONS = $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS = $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS = $(PREFIX)/share/fish/vendor_completions.d

install: stage
	scripts/install_tree.sh install '$(STAGE)' '$(DESTDIR)' '$(MANIFEST)'

uninstall:
	scripts/install_tree.sh uninstall '$(DESTDIR)' '$(MANIFEST)'

# The static playground beside it, where `cuttle view` looks, with a list of its own.
PLAYGROUND_DIR = $(PREFIX)/share/cuttle/playground
PLAYGROUND_STAGE = $(BUILD)/stage-playground
PLAYGROUND_MANIFEST = $(PREFIX)/share/cuttle/playground.manifest
install-playground: playground
	@$(MAKE) install-playground-files

# What is built already.
install-playground-files:
	@rm -rf $(PLAYGROUND_STAGE) && install -d "$(PLAYGROUND_STAGE)$(PLAYGROUND_DIR)"
	cp -R $(PLAYGROUND)/. "$(PLAYGROUND_STAGE)$(PLAYGROUND_DIR)"
	scripts/install_tree.sh install '$(PLAYGROUND_STAGE)' '$(DESTDIR)' '$(PLAYGROUND_MANIFEST)'

uninstall-playground:
	scripts/install_tree.sh uninstall '$(DESTDIR)' '$(PLAYGROUND_MANIFEST)'

stage: all $(REFERENCE)
	@$(MAKE) stage-files

# Of what is built already.
stage-files:
	@rm -rf $(STAGE) && mkdir -p $(STAGE)
	@$(MAKE) install-files install-lua install-docs DESTDIR=$(abspath $(STAGE))

# What is built already.
install-files: install-headers
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(LIB_DIR)/pkgconfig"
	$(INSTALL_STRIPPED) 755 $(PROGRAM) "$(DESTDIR)$(PREFIX)/bin/cuttle"
	$(INSTALL_STRIPPED) 644 $(STATIC_LIB) "$(LIB_DIR)/libcuttle.a"
	$(INSTALL_STRIPPED) 644 $(CORE_LIB) "$(LIB_DIR)/libcuttle_core.a"
	$(INSTALL_STRIPPED) 755 $(SHARED_LIB) "$(LIB_DIR)/$(SHARED_NAME)"
	ln -sf $(SHARED_NAME) "$(LIB_DIR)/libcuttle.so.$(SOVERSION)"
	ln -sf libcuttle.so.$(SOVERSION) "$(LIB_DIR)/libcuttle.so"
	install -d "$(DESTDIR)$(PREFIX)/share/cuttle/meta"
	install -m 644 stdlib/meta/*.lua "$(DESTDIR)$(PREFIX)/share/cuttle/meta"
	$(LUA) scripts/language_names.lua > "$(DESTDIR)$(PREFIX)/share/cuttle/luacheckrc"
	for name in cuttle cuttle-core; do $(FILL_IN) $(PACKAGING)/$$name.pc.in > "$(LIB_DIR)/pkgconfig/$$name.pc"; done
	install -d "$(LIB_DIR)/cmake/cuttle"
	for name in cuttleConfig cuttleConfigVersion; do \
		$(FILL_IN) $(PACKAGING)/$$name.cmake.in > "$(LIB_DIR)/cmake/cuttle/$$name.cmake"; done

# The manual page, completions, pages, licence and examples. Whoever installs has the findings in `check --explain`.
EXAMPLES = $(patsubst %/,%,$(wildcard examples/*/))
COMMAND_TEXTS = $(LUA) scripts/gen_commands.lua $(PROGRAM)
install-docs:
	for d in "$(MANDIR)/man1" "$(BASH_COMPLETIONS)" "$(ZSH_COMPLETIONS)" "$(FISH_COMPLETIONS)" \
		"$(DOCDIR)/docs/pictures"; do install -d "$(DESTDIR)$$d"; done
	for d in $(EXAMPLES); do install -d "$(DESTDIR)$(DOCDIR)/$$d"; done
	$(COMMAND_TEXTS) man $(VERSION) > "$(DESTDIR)$(MANDIR)/man1/cuttle.1"
	$(COMMAND_TEXTS) bash > "$(DESTDIR)$(BASH_COMPLETIONS)/cuttle"
	$(COMMAND_TEXTS) zsh > "$(DESTDIR)$(ZSH_COMPLETIONS)/_cuttle"
	$(COMMAND_TEXTS) fish > "$(DESTDIR)$(FISH_COMPLETIONS)/cuttle.fish"
	install -m 644 LICENSE *.md "$(DESTDIR)$(DOCDIR)"
	install -m 644 $$(ls $(DOCS)/docs/*.md | grep -v findings.md) "$(DESTDIR)$(DOCDIR)/docs"
	install -m 644 $(DOCS)/docs/report.schema.json "$(DESTDIR)$(DOCDIR)/docs"
	install -m 644 $(addprefix $(DOCS)/docs/pictures/,division.svg timeline_*.svg tutorial_*.svg) \
		"$(DESTDIR)$(DOCDIR)/docs/pictures"
	install -m 644 $(wildcard examples/*.*) "$(DESTDIR)$(DOCDIR)/examples"
	for d in $(EXAMPLES); do install -m 644 $$d/* "$(DESTDIR)$(DOCDIR)/$$d"; done

# For `require`: the shared library, if it takes the Lua that there is; else one of its own.
SHARES_LUA = $(and $(filter $(LIB_DIR)/lua/5.4,$(LUA_MODULE_DIR)),$(or $(HAS_OWN_LUA),\
	$(shell readelf -d $(SHARED_LIB) 2>/dev/null | grep -o 'NEEDED.*liblua')))
install-lua:
	$(if $(SHARES_LUA),install -d "$(LUA_MODULE_DIR)" && \
		ln -sf ../../$(SHARED_NAME) "$(LUA_MODULE_DIR)/cuttle.so",$(MAKE) install-module)

install-headers:
	$(call put_headers,$(DESTDIR)$(INCLUDEDIR))

install-module: $(MODULE)
	install -d "$(LUA_MODULE_DIR)"
	$(INSTALL_STRIPPED) 755 $(MODULE) "$(LUA_MODULE_DIR)/cuttle.so"

# A package for Debian and its kin, of what `make install` installs; needs dpkg-deb.
deb:
	@$(MAKE) stage PREFIX=/usr STAGE=$(BUILD)/deb/root
	@scripts/make_deb.sh $(BUILD)/deb $(VERSION)

# A rockspec that builds from the archive of `make dist`, wherever that is: ROCK_URL.
ROCK_URL = file://$(abspath $(BUILD))/$(DIST).tar.gz
rockspec:
	@sed -e 's|url = "[^"]*"|url = "$(ROCK_URL)", dir = "$(DIST)"|' $(PACKAGING)/cuttle-$(VERSION)-1.rockspec \
		> $(BUILD)/cuttle-$(VERSION)-1.rockspec
	@echo $(BUILD)/cuttle-$(VERSION)-1.rockspec

clean:
	rm -rf $(BUILD)

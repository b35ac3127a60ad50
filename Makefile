# Cuttle: build, test, lint, install. For GNU make; no generator, no configure step.
#   make            the program, the libraries and the Lua module, into build/
#   make demo       installs what the build needs, builds, runs the first example
#   make test       installs what the tests need, builds and runs them all
#   make help       every target

# {====== Settings: override on the command line, as in `make CC=clang PREFIX=$HOME/.local` ======

PREFIX = /usr/local
DESTDIR =
BUILD = build
CFLAGS = -O2 -g
LDFLAGS =
WERROR = -Werror
SANITIZE =
V = 0
FUZZ_SECONDS = 10
CUDA_HOME = /usr/local/cuda

# Lua 5.4: names under which pkg-config may know it, and the interpreter that runs our scripts.
LUA_PC := $(firstword $(foreach n,lua5.4 lua-5.4 lua54 lua,\
	$(shell pkg-config --atleast-version=5.4 --max-version=5.4.99 $(n) 2>/dev/null && echo $(n))))
LUA := $(firstword $(foreach n,lua5.4 lua54 lua,$(shell command -v $(n) 2>/dev/null)) lua5.4)
LUA_CFLAGS := $(if $(LUA_PC),$(shell pkg-config --cflags $(LUA_PC)),-I/usr/include/lua5.4)
LUA_LIBS := $(if $(LUA_PC),$(shell pkg-config --libs $(LUA_PC)),-llua5.4)
LUA_LIBDIR := $(if $(LUA_PC),$(shell pkg-config --variable=libdir $(LUA_PC)),/usr/lib)
LUA_STATIC := $(firstword $(wildcard $(foreach n,liblua5.4.a lua5.4/liblua.a liblua-5.4.a \
	liblua54.a liblua.a,$(LUA_LIBDIR)/$(n))))

CLANG := $(firstword $(foreach n,clang clang-14,$(shell command -v $(n) 2>/dev/null)) clang)
CLANG_FORMAT := $(firstword $(foreach n,clang-format-14 clang-format,\
	$(shell command -v $(n) 2>/dev/null)) clang-format)
CLANG_TIDY := $(firstword $(foreach n,clang-tidy-14 clang-tidy,\
	$(shell command -v $(n) 2>/dev/null)) clang-tidy)

# CPU engine handlers, compiled once per instruction set and chosen when the engine starts.
SIMT_VARIANTS = runtime/simt_ops.c

# {====== Nothing to change below ======

VERSION = 0.1.0
SOVERSION = 0

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wwrite-strings -Wformat=2 -Wundef $(WERROR)
# Contraction is decided in the IR, so that both engines agree: never by the C compiler.
CODEGEN = -ffp-contract=off -fPIC -fno-semantic-interposition -pthread
BASE_FLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -I. $(LUA_CFLAGS)
COMPILE = $(CC) $(BASE_FLAGS) $(WARNINGS) $(CFLAGS) $(CODEGEN) $(SANITIZE)
LINK = $(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -pthread
SYSTEM_LIBS = -lm -ldl -lpthread
TEST_FLAGS = $(if $(wildcard $(CUDA_HOME)/include/cuda.h),-isystem $(CUDA_HOME)/include)

TARGET_IS_MAC := $(findstring darwin,$(shell $(CC) -dumpmachine 2>/dev/null))
TARGET_IS_X86 := $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null))

# Everything of Lua goes into the program and is exported, so that C modules find it there.
ifeq ($(LUA_STATIC),)
PROGRAM_LUA = $(LUA_LIBS)
else ifneq ($(TARGET_IS_MAC),)
PROGRAM_LUA = -Wl,-force_load,$(LUA_STATIC)
else
PROGRAM_LUA = -Wl,--whole-archive $(LUA_STATIC) -Wl,--no-whole-archive -Wl,-E
endif
TEST_LUA = $(or $(LUA_STATIC),$(LUA_LIBS))
MODULE_FLAGS = -shared $(if $(TARGET_IS_MAC),-undefined dynamic_lookup)
SO_FLAGS = -shared $(if $(TARGET_IS_MAC),,-Wl,-soname,libcuttle.so.$(SOVERSION))

ISAS = base $(if $(TARGET_IS_X86),avx2 avx512)
ISA_FLAGS_base = -DCT_SIMT_BASE
ISA_FLAGS_avx2 = -DCT_SIMT_AVX2 -mavx2 -mfma
ISA_FLAGS_avx512 = -DCT_SIMT_AVX512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma

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
say = @printf '  %-5s %s\n' $(1) $(2)
else
say = @:
endif

# {====== Files ======

VARIANT_SRC := $(wildcard $(SIMT_VARIANTS))
PROGRAM_SRC := $(wildcard interp/main.c interp/repl.c)
LIB_SRC := $(filter-out $(VARIANT_SRC) $(PROGRAM_SRC),$(wildcard runtime/*.c interp/*.c))
STDLIB := $(wildcard stdlib/*.lua)
TEST_SRC := $(wildcard tests/c/test_*.c)
DEVICE_SRC := $(wildcard tests/device/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
EMBED_SRC := $(wildcard examples/embed/*.c)

VARIANT_OBJ := $(foreach isa,$(ISAS),$(VARIANT_SRC:%.c=$(BUILD)/%.$(isa).o))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(VARIANT_OBJ) $(BUILD)/gen/stdlib.o
PROGRAM_OBJ := $(PROGRAM_SRC:%.c=$(BUILD)/%.o)
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
DEVICE_BIN := $(DEVICE_SRC:%.c=$(BUILD)/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
EMBED_BIN := $(EMBED_SRC:%.c=$(BUILD)/%)
ALL_OBJ := $(LIB_OBJ) $(PROGRAM_OBJ) \
	$(patsubst %,%.o,$(TEST_BIN) $(DEVICE_BIN) $(FUZZ_BIN) $(EMBED_BIN))

PROGRAM = $(BUILD)/cuttle
STATIC_LIB = $(BUILD)/libcuttle.a
SHARED_LIB = $(BUILD)/libcuttle.so
MODULE = $(BUILD)/cuttle.so

# {====== Building ======

.PHONY: all lib help demo test run-tests run-gpu-tests asan gpu-test fuzz bench golden lint format \
	install clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(PROGRAM) $(STATIC_LIB) $(SHARED_LIB) $(MODULE)
lib: $(STATIC_LIB)

# A change of compiler or flags rebuilds everything.
FLAGS_FILE = $(BUILD)/flags
FLAGS_NOW = $(COMPILE) | $(LINK) | $(ISAS) | $(PROGRAM_LUA)
$(FLAGS_FILE): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@

$(BUILD)/%.o: %.c $(FLAGS_FILE)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

define variant_rule
$$(BUILD)/%.$(1).o: %.c $$(FLAGS_FILE)
	$$(call say,CC,'$$< ($(1))')
	@mkdir -p $$(@D)
	$$(Q)$$(COMPILE) -O3 $$(ISA_FLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call variant_rule,$(isa))))

$(BUILD)/tests/%.o $(BUILD)/examples/%.o: BASE_FLAGS += $(TEST_FLAGS)

$(BUILD)/gen/stdlib.c: $(STDLIB) scripts/embed.lua $(FLAGS_FILE)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(LUA) scripts/embed.lua $@ $(STDLIB)

$(BUILD)/gen/stdlib.o: $(BUILD)/gen/stdlib.c
	$(call say,CC,$<)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

$(STATIC_LIB): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(LIB_OBJ)

$(SHARED_LIB): $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(SO_FLAGS) $(LIB_OBJ) $(LUA_LIBS) $(SYSTEM_LIBS) -o $@
	$(Q)ln -sf $(@F) $@.$(SOVERSION)

$(MODULE): $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(MODULE_FLAGS) $(LIB_OBJ) $(SYSTEM_LIBS) -o $@

$(PROGRAM): $(PROGRAM_OBJ) $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(PROGRAM_OBJ) $(LIB_OBJ) $(PROGRAM_LUA) $(SYSTEM_LIBS) -o $@

$(TEST_BIN) $(DEVICE_BIN) $(EMBED_BIN): %: %.o $(STATIC_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) $< $(STATIC_LIB) $(TEST_LUA) $(SYSTEM_LIBS) -o $@

-include $(ALL_OBJ:.o=.d)

clean:
	rm -rf $(BUILD)

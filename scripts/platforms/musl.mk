# musl.mk: Linux with the C library musl in the program: one file that needs nothing of the system.
#   make PLATFORM=musl            build/musl/cuttle, a static program for this machine's processor
# A static program cannot load libraries: no CUDA, no C modules of Lua, a prompt without libedit. On a
# system whose C library is musl, such as Alpine, `make` alone builds the whole product.

CC = musl-gcc
PLATFORM_LDFLAGS = -static -pthread
PLATFORM_FILES = $(PROGRAM) $(STATIC_LIB) $(CORE_LIB)
PLATFORM_LUA_FLAGS = -DLUA_USE_POSIX

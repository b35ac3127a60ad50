# aarch64.mk: Linux on ARM of 64 bits, by Debian's cross compiler; qemu runs programs in tests.
#   make PLATFORM=aarch64                                         build/aarch64/cuttle and the libraries
#   make PLATFORM=aarch64 CC='clang --target=aarch64-linux-gnu'   the same by clang
# On such a machine itself `make` alone does it.

PREFIX_OF_TOOLS = aarch64-linux-gnu-
CC = $(PREFIX_OF_TOOLS)gcc
AR = $(PREFIX_OF_TOOLS)ar
# For scripts/prefix_names.sh and scripts/install_stripped.sh.
export NM = $(PREFIX_OF_TOOLS)nm
export OBJCOPY = $(PREFIX_OF_TOOLS)objcopy
export STRIP = $(PREFIX_OF_TOOLS)strip

PLATFORM_LUA_FLAGS = -DLUA_USE_LINUX
# Tests start programs by it; programs that start themselves again find the script that did.
PLATFORM_RUNNER = qemu-aarch64 -0 "$$0" -L /usr/aarch64-linux-gnu
PLATFORM_TIME_LIMIT = 900

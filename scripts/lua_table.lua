-- lua_table.lua: C that leads the calls of Lua's API to one of two Luas: the shared library's own,
-- or that of the process, if it has a whole one.
--   nm -u OBJECTS | lua scripts/lua_table.lua > FILE.c
-- Each function of the API that the objects call is a jump through a table. When the library is
-- loaded, the table leads to its own Lua, whose names begin with cuttle_own_. So a host may have
-- another Lua, such as LuaJIT: no call goes there. But if all of the functions are found in one
-- object of the process, that is a Lua 5.4 that the host itself uses, or that requires the library
-- as a module: then the table leads there.
local names, known = {}, {}
for line in io.lines() do
  local name = line:match "%f[%w_]U%s+(lua[%w_]+)"
  if name and not known[name] and name ~= "luaopen_cuttle" then
    known[name] = true
    names[#names + 1] = name
  end
end
table.sort(names)
assert(#names > 50, "lua_table: the objects call hardly any function of Lua")

local function each(format)
  local rows = {}
  for i, name in ipairs(names) do
    rows[i] = format:gsub("%$(%a+)", { name = name, at = tostring(8 * (i - 1)) })
  end
  return table.concat(rows)
end

local text = ("/* Made by scripts/lua_table.lua. */\n" .. [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))
@EXTERNS@
enum { N = @N@ };
extern void (*cuttle_lua_table[N])(void) HIDDEN;
void (*cuttle_lua_table[N])(void) = {
@OWN@};
static const char *const names[N] = {
@NAMES@};

#if defined __x86_64__
#define JUMP(name, at) "jmp *cuttle_lua_table+" at "(%rip)\n"
#elif defined __aarch64__
#define JUMP(name, at)                                                                             \
  "adrp x16, cuttle_lua_table\nadd x16, x16, :lo12:cuttle_lua_table\n"                            \
  "ldr x16, [x16, " at "]\nbr x16\n"
#endif
#define FUNCTION(name, at)                                                                         \
  __asm__(".text\n.globl " name "\n.hidden " name "\n.type " name ", %function\n" name ":\n"       \
          JUMP(name, at) ".size " name ", .-" name "\n");
@FUNCTIONS@
/* The streams of the C library, as the own Lua knows them; see the Makefile. */
extern FILE *cuttle_stdin HIDDEN, *cuttle_stdout HIDDEN, *cuttle_stderr HIDDEN;
FILE *cuttle_stdin, *cuttle_stdout, *cuttle_stderr;

/* All functions, of one object. */
static int find_all(void *handle, void **found) {
  const void *object = NULL;
  for (int i = 0; i < N; i++) {
    Dl_info info;
    found[i] = dlsym(handle, names[i]);
    if (found[i] == NULL || dladdr(found[i], &info) == 0 ||
        (object != NULL && object != info.dli_fbase)) {
      return 0;
    }
    object = info.dli_fbase;
  }
  return 1;
}

/* A shared Lua 5.4 that some objects see. Where all see another Lua, its own calls go there. */
static int find_hidden(void **found) {
  static const char *const files[] = {"liblua5.4.so.0", "liblua-5.4.so", "liblua.so.5.4"};
  int is_found = 0;
  for (int i = 0; i < 3 && !is_found && dlsym(RTLD_DEFAULT, "lua_newstate") == NULL; i++) {
    void *handle = dlopen(files[i], RTLD_NOW | RTLD_NOLOAD);
    is_found = handle != NULL && find_all(handle, found);
  }
  return is_found;
}

__attribute__((constructor)) static void choose_lua(void) {
  void *found[N];
  cuttle_stdin = stdin;
  cuttle_stdout = stdout;
  cuttle_stderr = stderr;
  if (find_all(RTLD_DEFAULT, found) || find_hidden(found)) {
    for (int i = 0; i < N; i++) {
      cuttle_lua_table[i] = (void (*)(void))found[i];
    }
  }
}
]]):gsub("@(%u+)@", {
  N = tostring(#names),
  EXTERNS = each "extern void cuttle_own_$name(void) HIDDEN;\n",
  OWN = each "  cuttle_own_$name,\n",
  NAMES = each '  "$name",\n',
  FUNCTIONS = each 'FUNCTION("$name", "$at")\n',
})
io.write(text)

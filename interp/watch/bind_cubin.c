/* bind_cubin.c: what the machine code of a cubin says of its instructions. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/fields.h"
#include "interp/state/state.h"
#include "runtime/device/cubin_access.h"
#include "runtime/device/cubin_line.h"

/* --- accesses ---------------------------------------------------------------------------------------------- */

static const char *const cubin_ops[] = {
    [CT_CUBIN_LOAD] = "load", [CT_CUBIN_STORE] = "store", [CT_CUBIN_COPY] = "copy"};
static const char *const cubin_spaces[] = {
    [CT_CUBIN_SHARED] = "shared", [CT_CUBIN_GLOBAL] = "global", [CT_CUBIN_GENERIC] = "generic"};
static const Field cubin_fields[] = {FIELD_NAMED("op", CtCubinAccess, op, cubin_ops),
                                     FIELD_NAMED("space", CtCubinAccess, space, cubin_spaces),
                                     FIELD(CtCubinAccess, at),
                                     FIELD(CtCubinAccess, bits),
                                     FIELD(CtCubinAccess, line),
                                     FIELD_AS("loops", CtCubinAccess, is_in_loop),
                                     FIELD(CtCubinAccess, sunk_by)};

static int collect_accesses(lua_State *L) {
  CtCubinAccesses *a = lua_touserdata(L, 1);
  lua_createtable(L, (int)a->n, 0);
  for (size_t i = 0; i < a->n; i++) {
    FIELDS_PUSH(L, cubin_fields, &a->list[i]);
    field_text(L, "folder", a->list[i].folder);
    field_text(L, "file", a->list[i].file);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* _watch.cubin_accesses(image) -> what its instructions take of shared and global memory, a list of {op =, space =, bits =,
   at =, folder =, file =, line =, loops = is it in a loop, sunk_by = the later line whose branch goes past it, or 0}, of instructions in their order; see cubin_access.h. */
static int cubin_accesses(lua_State *L) {
  size_t len;
  CtErr err;
  CtCubinAccesses a;
  const char *image = luaL_checklstring(L, 1, &len);
  diag_check(L, ct_cubin_accesses(state_of(L)->alloc, image, len, &a, &err), &err);
  lua_pushcfunction(L, collect_accesses);
  lua_pushlightuserdata(L, &a);
  int status = lua_pcall(L, 1, 1, 0);
  ct_cubin_accesses_close(&a);
  return status == LUA_OK ? 1 : lua_error(L);
}

/* --- code -------------------------------------------------------------------------------------------------- */

/* The code of a kernel. */
typedef struct Code {
  CtElf elf;
  CtCubinLines lines;
  uint32_t section;
} Code;

enum { INSTRUCTION_BYTES = 16 };

static const char prefix[] = ".text.";

static const char *kernel_name(const CtElf *elf, uint32_t section) {
  const char *name = ct_elf_section(elf, section).name;
  return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : NULL;
}

/* `kernel` NULL: any. 0: there is none. */
static uint32_t find_kernel(const CtElf *elf, const char *kernel) {
  for (uint32_t i = 1; i < elf->n; i++) {
    const char *name = kernel_name(elf, i);
    if (name != NULL && (kernel == NULL || strcmp(name, kernel) == 0)) {
      return i;
    }
  }
  return 0;
}

static int collect_code(lua_State *L) {
  const Code *p = lua_touserdata(L, 1);
  CtBytes code = ct_elf_section(&p->elf, p->section).bytes;
  size_t n = code.len / INSTRUCTION_BYTES;
  lua_pushlstring(L, (const char *)code.at, n * INSTRUCTION_BYTES);
  lua_createtable(L, (int)n, 0); /* paths */
  lua_createtable(L, (int)n, 0); /* lines */
  for (size_t i = 0; i < n; i++) {
    const CtCubinRow *row = ct_cubin_script_row(&p->lines, p->section, i * INSTRUCTION_BYTES);
    const CtCubinFile *file = row == NULL ? NULL : &p->lines.files[row->file];
    lua_pushfstring(L, file == NULL ? "" : "%s/%s", file == NULL ? "" : file->folder,
                    file == NULL ? "" : file->name);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
    lua_pushinteger(L, row == NULL ? 0 : (lua_Integer)row->line);
    lua_rawseti(L, 4, (lua_Integer)i + 1);
  }
  lua_pushstring(L, kernel_name(&p->elf, p->section));
  lua_pushinteger(L, (lua_Integer)ct_cubin_sm(&p->elf));
  return 5;
}

/* _watch.cubin_code(image, symbol) -> the code of a kernel, whole instructions of 16 bytes, two lists: the path and
   the line that each is of; "" and 0: of no line of a script; its symbol; and the
   capability, times 10. Nothing if the image has no such kernel; without a symbol it is the first one. */
static int cubin_code(lua_State *L) {
  size_t len;
  CtErr err;
  Code p = {.section = 0};
  const char *image = luaL_checklstring(L, 1, &len);
  const char *kernel = luaL_optstring(L, 2, NULL);
  if (!ct_elf_open(image, len, &p.elf) || (p.section = find_kernel(&p.elf, kernel)) == 0) {
    return 0;
  }
  diag_check(L, ct_cubin_lines(state_of(L)->alloc, &p.elf, &p.lines, &err), &err);
  lua_pushcfunction(L, collect_code);
  lua_pushlightuserdata(L, &p);
  int status = lua_pcall(L, 1, 5, 0);
  ct_cubin_lines_close(&p.lines);
  return status == LUA_OK ? 5 : lua_error(L);
}

/* --- opening --------------------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {
    {"_watch.cubin_accesses", cubin_accesses}, {"_watch.cubin_code", cubin_code}, {NULL, NULL}};

void bind_open_cubin(lua_State *L) { luaL_setfuncs(L, functions, 0); }

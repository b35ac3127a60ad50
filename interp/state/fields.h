/* fields.h: structs of the core as Lua tables. A row names a field, its type and where it lies; the type
   is found by the compiler, so a row is no more than FIELD(CtFinding, line). */
#ifndef CUTTLE_FIELDS_H
#define CUTTLE_FIELDS_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/base.h"
#include "runtime/device/device.h"

typedef enum FieldType {
  FIELD_TEXT,   /* const char *; NULL: the table has no such field */
  FIELD_CHARS,  /* a text in the struct itself */
  FIELD_TRIPLE, /* int64_t[3], as a list */
  FIELD_DIM3,   /* a CtDim3, as a list */
  FIELD_BOOL,
  FIELD_F64,
  FIELD_INT, /* of any size */
  FIELD_UINT /* of any size; beyond INT64_MAX it reads as that */
} FieldType;

typedef struct Field {
  const char *name; /* in Lua */
  FieldType type;
  uint16_t at, bytes;
  const char *const *names; /* of an enumeration: what Lua gets for each value; NULL: the number */
} Field;

#define FIELD_TYPE_OF(v)                                                                           \
  _Generic((v), const char *: FIELD_TEXT, char *: FIELD_CHARS, int64_t *: FIELD_TRIPLE,            \
           CtDim3: FIELD_DIM3, bool: FIELD_BOOL, double: FIELD_F64, int16_t: FIELD_INT,            \
           int: FIELD_INT, int64_t: FIELD_INT, default: FIELD_UINT)
/* The member under its own name; under another one; and by the names of an enumeration. */
#define FIELD(T, member) FIELD_AS(#member, T, member)
#define FIELD_AS(name, T, member) FIELD_NAMED(name, T, member, NULL)
#define FIELD_NAMED(name, T, member, names)                                                        \
  { name, FIELD_TYPE_OF(((T *)0)->member), offsetof(T, member), sizeof(((T *)0)->member), names }

/* Sets the fields of the struct `of` in the table at the top [-0, +0, m]. */
void fields_set(lua_State *L, const Field *fields, size_t n, const void *of);
#define FIELDS_SET(L, fields, of) fields_set(L, fields, CT_ARRAY_LEN(fields), of)
/* Pushes a new table with them [-0, +1, m]. */
void fields_push(lua_State *L, const Field *fields, size_t n, const void *of);
#define FIELDS_PUSH(L, fields, of) fields_push(L, fields, CT_ARRAY_LEN(fields), of)

/* Each sets one field of the table at the top [-0, +0, m]. */
void field_text(lua_State *L, const char *name, const char *text); /* NULL: none */
void field_integer(lua_State *L, const char *name, int64_t v);
void field_bool(lua_State *L, const char *name, bool v);
void field_triple(lua_State *L, const char *name, const int64_t v[3]); /* a list */
void field_push_triple(lua_State *L, const int64_t v[3]);              /* [-0, +1, m] */

/* The integer field of the table at idx; `absent` if it is nil [-0, +0, v]. */
lua_Integer field_to_integer(lua_State *L, int idx, const char *name, lua_Integer absent);

#endif

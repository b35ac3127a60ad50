/* own_modules.h: the library's modules as the library itself finds them. A script may put anything into
   package.loaded and package.preload, and reports must not be made by that. */
#ifndef CUTTLE_OWN_MODULES_H
#define CUTTLE_OWN_MODULES_H

#include <lua.h>

/* Before any other function of this file [-0, +0, m]. */
void own_modules_open(lua_State *L);
/* Pushes the table of loaders by the names of modules: these the library finds [-0, +1, -]. */
void own_modules_push_loaders(lua_State *L);
/* The module is about to be loaded [-0, +0, e]. */
void own_modules_begin(lua_State *L, const char *name);
/* The module at the top has been loaded, perhaps by a script [-0, +0, m]. */
void own_modules_keep(lua_State *L, const char *name);
/* require(name) of the library. Upvalue 1: that of scripts, for all other modules. */
int own_modules_require(lua_State *L);
/* on_module(f): f(name) is called before a module is loaded, from now on, and f(name, module) afterwards. */
int own_modules_set_hook(lua_State *L);

#endif

-- export_lists.lua: what an export has more if a kernel gets a list of tensors: parts of the texts
-- export_head.h, export_driver.c, export_check.c and export_cpu.c, by the names that stand there.
local M = {}

--- Of NAME.h.
M.head = { LIST = [[
/* A list of tensors: a kernel reads their addresses, extents and strides in a table on the GPU. A
   launch copies it there, after what its stream does already, and waits until it is there. So a
   launch that may run at the same time in another stream needs another table. With keeps_table
   there is neither copy nor wait. */
typedef struct NAME_list {
  const NAME_tensor *tensors;  /* n of them, in the host's memory; read by the launch only */
  int n;
  bool keeps_table;  /* an earlier launch has copied the table, of the same tensors */
  void *table;       /* n * UPPER_LIST_BYTES bytes on the GPU, aligned to 8; the CPU twin: NULL */
} NAME_list;

enum { UPPER_LIST_BYTES = 8 + 16 * UPPER_MAX_RANK }; /* of the table for each tensor */

]] }

--- Of NAME.c.
M.driver = {
  LIST_CALLS = [[
  int (*copy)(uint64_t to, const void *from, size_t bytes, void *stream);
  int (*wait)(void *stream);
  int (*is_capturing)(void *stream, int *status);
]],
  FIND_LIST_CALLS = [[
NAME_find(library, "cuMemcpyHtoDAsync_v2", &NAME_cu.copy) &&
         NAME_find(library, "cuStreamSynchronize", &NAME_cu.wait) &&
         NAME_find(library, "cuStreamIsCapturing", &NAME_cu.is_capturing) &&
         ]],
  LIST_SLOT = "  const NAME_list *list;\n",
  LIST_KIND = ", UPPER_LIST",
  LIST_GRID = [[
    if (rule->kind == UPPER_LIST) {
      return NAME_fail(err, UPPER_BAD_ARGUMENT,
                       "%s: the grid is NULL, which stands for that of the example, and the "
                       "tensors of a list may be others; pass a grid",
                       special->texts[n].title);
    }
]],
  PUT_LISTS = [[
  status = NAME_put_lists(k, special, args, stream, err);
  if (status != UPPER_OK) {
    return status;
  }
]],
}

M.check = {
  TAKE_LISTS = [[
    } else if (rule->kind == UPPER_LIST) {
      if (!NAME_take_list(special, rule, args[i].list, &s[rule->slot])) {
        return false;
      }
]],
  CHECK_LISTS = [[
    } else if (rule->kind == UPPER_LIST) {
      status = NAME_check_list(special, i, args[i].list, n_held, err);
]],
}

--- Of the CPU twin.
M.cpu = {
  COUNT_LISTS = [[
    if (rule->kind == UPPER_LIST) {
      n_elems[n++] = (int64_t)args[i].list->n * NAME_columns(special, rule);
    }
]],
  MAKE_LISTS = [[
  CtSimtList lists[UPPER_ARGS];
  if (!NAME_begin_lists(k, special, args, slots, lists)) {
    NAME_end_lists(k, special, slots, lists);
    return NAME_fail(err, UPPER_CPU_ERROR, "%s: there is no memory for the tables of lists",
                     k->name);
  }
  launch.lists = lists;
]],
  FREE_LISTS = "  NAME_end_lists(k, special, slots, lists);\n",
}

--- The parts, or nothing for each; `more` is added.
function M.parts(parts, has_lists, more)
  local out = {}
  for name, text in pairs(parts) do out[name] = has_lists and text or "" end
  for name, text in pairs(more) do out[name] = text end
  return out
end

return M

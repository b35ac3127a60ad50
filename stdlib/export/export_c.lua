-- export_c.lua: the words of C that the files of an export are made of: names, constants, tables
-- and the texts of export_*.c, whose NAME and UPPER stand for the prefix.
local internal = ...
local M = {}

-- {====== Names ======

local function set_of(words)
  local set = {}
  for word in words:gmatch "[%w_]+" do set[word] = true end
  return set
end

-- Words of C and C++, and macros of their libraries and of compilers.
local taken <const> = set_of [[
  alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
  char32_t class compl concept const const_cast consteval constexpr constinit continue
  co_await co_return co_yield decltype default delete do double dynamic_cast else enum
  explicit export extern false float for friend goto if inline int long mutable namespace new
  noexcept not not_eq nullptr operator or or_eq private protected public register
  reinterpret_cast requires restrict return short signed sizeof static static_assert
  static_cast struct switch template this thread_local throw true try typedef typeid typename
  typeof typeof_unqual union unsigned using virtual void volatile wchar_t while workspace xor
  xor_eq BUFSIZ CHAR_BIT EDOM EILSEQ EINVAL ENOMEM EOF ERANGE EXIT_FAILURE EXIT_SUCCESS
  HUGE_VAL HUGE_VALF HUGE_VALL I INFINITY MATH_ERREXCEPT MATH_ERRNO NAN NDEBUG NULL RAND_MAX
  SEEK_CUR SEEK_END SEEK_SET complex emit errno foreach imaginary linux offsetof signals slots
  stderr stdin stdout unix]]

-- Headers that a file of the same name would hide.
local headers <const> = set_of [[
  assert complex ctype dlfcn errno fenv float inttypes limits locale math memory new pthread
  setjmp signal stdarg stddef stdint stdio stdlib string tgmath time vector wchar]]

local function is_taken(id)
  return taken[id] or id:find "^%u+_MAX$" or id:find "^%u+_MIN$" or id:find "^SIG%u+$"
    or id:find "^FLT_" or id:find "^DBL_" or id:find "^M_%d*%u"
end

--- An identifier: "o.params" -> "o_params", "for" -> "for_", "NULL" -> "NULL_".
function M.identifier(text)
  local id = text:gsub("[^%w_]+", "_"):gsub("^_+", ""):gsub("_+$", "")
  if id == "" or id:find "^%d" then id = "x" .. id end
  return is_taken(id) and id .. "_" or id
end

--- An identifier that files can be called by: "math" -> "math_".
function M.file_name(text)
  local id = M.identifier(text)
  return headers[id] and id .. "_" or id
end

--- The text with its prefix.
function M.prefixed(text, name)
  local result = text:gsub("UPPER", name:upper()):gsub("NAME", name)
  return result
end

-- {====== Constants ======

--- The value as a literal of C.
function M.int64(v)
  if v == math.mininteger then return "INT64_MIN" end
  return ("INT64_C(%d)"):format(v)
end

--- The text as a literal of C.
function M.text(text)
  return '"' .. text:gsub('[%c"\\?\128-\255]', function(c) return ("\\%03o"):format(c:byte()) end)
    .. '"'
end

local BYTES_PER_LINE <const> = 32

--- The definition of an array of bytes, aligned as the driver likes images.
function M.bytes(name, data)
  local lines = {}
  for at = 1, #data, BYTES_PER_LINE do
    lines[#lines + 1] = "  "
      .. table.concat({ data:byte(at, math.min(at + BYTES_PER_LINE - 1, #data)) }, ",") .. ","
  end
  return ("__attribute__((aligned(16))) static const unsigned char %s[%d] = {\n%s\n};\n"):format(
    name, #data, table.concat(lines, "\n"))
end

--- The definition of a table: rows are texts.
function M.table(type, name, rows)
  if #rows == 0 then return "" end
  return ("static const %s %s[] = {\n  %s,\n};\n"):format(type, name, table.concat(rows, ",\n  "))
end

function M.dim3(d) return ("{%d, %d, %d}"):format(d[1], d[2], d[3]) end

-- {====== Element types ======

--- In the order of NAME_dtype: _export.dtypes(), and the member of NAME_slot that takes a number.
M.dtypes, M.dtype = internal.export.dtypes(), {}
local slots <const> = { double = "f64", float = "f32" }
for _, d in ipairs(M.dtypes) do
  d.enum, d.slot = "UPPER_" .. d.name:upper(), slots[d.c] or d.c:find "^uint" and "u" or "i"
  M.dtype[d.name] = d
end

--- The value that the slot's bits are, as a literal of C.
function M.number(dtype, bits)
  local d = M.dtype[dtype]
  if d.c == "double" then
    local v = ("<d"):unpack(("<i8"):pack(bits))
    if v ~= v or v == math.huge or v == -math.huge then return nil end
    return ("%a"):format(v)
  elseif d.c == "float" then
    local v = ("<f"):unpack(("<i8"):pack(bits))
    if v ~= v or v == math.huge or v == -math.huge then return nil end
    return ("%af"):format(v)
  elseif d.c == "bool" then
    return bits ~= 0 and "true" or "false"
  elseif d.c == "uint64_t" then
    return ("UINT64_C(0x%x)"):format(bits)
  end
  if d.slot == "u" then return ("%d"):format(bits & ((1 << 8 * d.bytes) - 1)) end
  return d.c == "int64_t" and M.int64(bits) or ("%d"):format(bits)
end

return M

-- scripts/check_bytes.lua finds code that counts elements in memory by the bytes of one value.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

-- What the script says of a file with a function of these lines, and whether it was content.
local function judge(lines)
  local path = shell.file("void f(CtDtype t, const CtBuf *b, Box *box, int64_t n) {\n" .. lines
    .. "\n}\n")
  local said, code = shell.cuttle("scripts/check_bytes.lua '%s'", path)
  os.remove(path)
  return said, code == 0
end

local wrong <const> = {
  ["a product"] = "use(n * ct_value_bytes(t));",
  ["a product that begins with it"] = "use(ct_value_bytes(b->dtype) * n);",
  ["a product with a cast"] = "use(n * (int64_t)ct_value_bytes(t));",
  ["a product in parentheses"] = "use((size_t)n * (ct_value_bytes(t)));",
  ["a quotient"] = "use(n / (int64_t)ct_value_bytes(t));",
  ["a remainder"] = "use(n % (int64_t)ct_value_bytes(t));",
  ["a shift"] = "use(ct_value_bytes(t) << 4);",
  ["a product of its name"] = "size_t bytes = ct_value_bytes(t);\n  use(bytes * n);",
  ["a product of the second name"] = "size_t x = 1, size = ct_value_bytes(t);\n  use(n * size);",
  ["a product of its name with a cast"] =
    "uint32_t bytes = (uint32_t)ct_value_bytes(t);\n  use(n * (int64_t)bytes);",
  ["a name that gets a value later"] = "size_t k;\n  k = ct_value_bytes(t);\n  use(k * n);",
  ["a step"] = "for (const char *p = at; p < end; p += ct_value_bytes(t)) {}",
  ["a step of its name"] = "size_t k = ct_value_bytes(t);\n  p += k;",
  ["an argument that is multiplied"] = "use(ct_fits_memory(n, ct_value_bytes(t), &all));",
  ["a field of a literal"] = "use((Box){.bytes = ct_value_bytes(t)});",
  ["a field"] = "box->bytes = (int64_t)ct_value_bytes(t);",
  ["the column itself"] = "use(n * ct_dtypes[t].bytes);",
}
for name, lines in pairs(wrong) do
  local said, is_content = judge(lines)
  tap.ok(not is_content and said:find("counts no elements", 1, true), name, said)
end

local right <const> = {
  ["one value that is copied"] = "memcpy(&bits, p, ct_value_bytes(t));",
  ["a comparison"] = "use(ct_value_bytes(t) == 8 && n > 0);",
  ["a place and its end"] = "size_t k = ct_value_bytes(t);\n  use(at + k <= end);",
  ["a pointer of that name's type"] = "size_t k = ct_value_bytes(t);\n  use(*p + k);",
  ["what the header counts"] = "use(ct_dtype_span(t, n) * 2);",
  ["a comment"] = "use(n); /* not n * ct_value_bytes(t) */",
}
for name, lines in pairs(right) do
  local said, is_content = judge(lines)
  tap.ok(is_content, name, said)
end
tap.done()

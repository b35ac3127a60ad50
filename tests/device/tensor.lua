-- Tensors on a CUDA device: every function of the host on memory there, against the same on the CPU.
local A = rand(f32, {300, 40})
print(A.device)                                    -- expect: cuda:0
local H = A:to("cpu")
print(H.device, allclose(A, H), H[{299, 39}] == A[{299, 39}]) -- expect: cpu	true	true
manual_seed(0)
local same = rand(f32, {300, 40})
print(allclose(A, same, {rtol = 0, atol = 0}))     -- expect: true
A[{1, 2}] = 5
print(A[{1, 2}], A[601], A(1, _)[2], H[{1, 2}] == 5) -- expect: 5.0	5.0	5.0	false
local B = H:to("cuda:0")
print(B.device, allclose(B, H))                    -- expect: cuda:0	true

-- strides: what lies between the elements stays
local memory = zeros(i32, 64)
fill(view(memory, "(4,4):(2,16)"), 7)
local t = memory:totable()
print(t[1], t[2], t[3], t[7], t[8], t[9], t[17], t[55], t[56]) -- expect: 7	0	7	7	0	0	7	7	0
clear(view(memory, "(2,4):(4,16)"))
t = memory:totable()
print(t[1], t[3], t[5], t[7])                      -- expect: 0	7	0	7
copy(arange(i32, 8), view(memory, "8:3"))
print(memory[0], memory[3], memory[21], memory[22]) -- expect: 0	1	7	7
copy(arange(i32, 8):to("cpu"), view(memory, 8))
print(memory[7], memory[9])                        -- expect: 7	3
local T = parallelize(tile(arange(i32, {6, 8}), {3, 4}, {1, 1}), layout{3, 2}, 4)
print(T.device, T[0], T[1])                        -- expect: cuda:0	34	46
print(arange(i32, {2, 3}))
-- expect: tensor i32 (2,3):(1,2) on cuda:0
-- expect:     0    2    4
-- expect:     1    3    5

local path = os.tmpname()
for _, layout in ipairs{"(30,20)", "(30,20):(20,1)", "(30,20):(1,33)"} do
  local S = rand(f64, layout)
  save_npy(path, S)
  print(allclose(load_npy(path), S), load_npy(path).device)
end
-- expect: true	cuda:0
-- expect: true	cuda:0
-- expect: true	cuda:0
os.remove(path)

for _, dtype in ipairs{f32, f64, i32} do
  for _, shapes in ipairs{{"(65,33)", "(17,33)"}, {"(65,33):(33,1)", "(17,33):(33,1)"},
                          {"(65,33):(1,70)", "(17,33):(40,1)"}, {"(65,33):(2,130)", "(17,33)"},
                          {"(1,33)", "(17,33)"}, {"(65,1):(1,0)", "(17,1)"}} do
    local X, Y = rand(dtype, shapes[1]), rand(dtype, shapes[2])
    local C = reference.matmul(X, Y)
    local close, why = allclose(C, reference.matmul(X:to("cpu"), Y:to("cpu")))
    if not close or C.device ~= "cuda:0" then
      print(dtype, shapes[1], shapes[2], C.device, why)
    end
  end
end
A:close()
print(A)                                           -- expect: tensor f32 (300,40):(1,300), closed
do
  local big <close> = zeros(f64, {1 << 14, 1 << 14})
  print(big[{(1 << 14) - 1, (1 << 14) - 1}])       -- expect: 0.0
end
for _ = 1, 150 do                                  -- 300 GB in all: freed as it goes
  zeros(f64, {1 << 14, 1 << 14})
end
print(select(2, pcall(zeros, f64, {1 << 20, 1 << 20})):match("zeros: .*") ~= nil) -- expect: true

---@meta _
-- Topic: random: random numbers by seed and offset, in kernels and on the host

--- Returns four random 32-bit words for a seed and an offset.
--- The generator is Philox4x32-10. It has no state, so threads with different offsets are
--- independent. Seed, offset and stream are integers of up to 64 bits. In a kernel, the words are
--- u32; on the host, they are Lua integers.
---
---     > ("%08x %08x %08x %08x"):format(rand_u32x4(0, 0))
---     6627e8d5 e169c58d bc57ac4c 9b00dbd8
--- CuTe: curand_Philox4x32_10. MoYe: Philox4x.
---@param seed Value
---@param offset Value
---@param stream? Value selects one of the sequences of a seed; the default is 0
---@return Value
---@return Value
---@return Value
---@return Value
function rand_u32x4(seed, offset, stream) end

--- Returns four random numbers in [0,1) for a seed and an offset.
--- Each number is made from 24 bits of a word of rand_u32x4. In a kernel, the numbers are f32. They
--- are bit-identical on both engines and on the host.
---
---     > ("%.4f %.4f %.4f %.4f"):format(rand_f32x4(1, 7))
---     0.4807 0.4675 0.5577 0.5201
--- CuTe: curand_uniform4. MoYe: rand.
---@param seed Value
---@param offset Value
---@param stream? Value selects one of the sequences of a seed; the default is 0
---@return Value
---@return Value
---@return Value
---@return Value
function rand_f32x4(seed, offset, stream) end

--- Returns four normally distributed numbers for a seed and an offset.
--- Their mean is 0 and their variance is 1. They are computed from the words of rand_u32x4 by the
--- Box-Muller method. In a kernel, they are f32 and bit-identical on both engines.
---
---     > ("%.3f %.3f %.3f %.3f"):format(randn_f32x4(1, 7))
---     -1.185 0.246 -1.072 -0.136
--- CuTe: curand_normal4. MoYe: randn.
---@param seed Value
---@param offset Value
---@param stream? Value selects one of the sequences of a seed; the default is 0
---@return Value
---@return Value
---@return Value
---@return Value
function randn_f32x4(seed, offset, stream) end

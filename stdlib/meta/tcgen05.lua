---@meta _
-- Topic: tcgen05: tensor memory and tensor cores of Blackwell

--- A tensor in tensor memory, where tcgen05 keeps sums.
--- A block has 128 lanes and 512 columns of 32 bits there. The shape is {128, columns} or {64,
--- columns}, perhaps with more modes: rows are lanes, and elements narrower than 32 bits share
--- words along a row. Another layout counts elements down the lanes, then the columns. The block's
--- first warp allocates a power of two of columns, at least 32; put a barrier before the first use.
--- Declare tensors at the kernel's top level, the largest first, and give each back by tmem_dealloc.
--- It needs sm_100a, sm_100f, sm_103a or sm_110a.
---
---     > k = kernel("k", function()
---     >>   local acc = tmem(f32, {128, 256})
---     >>   print(acc)
---     >>   sync_threads()
---     >>   tmem_dealloc(acc)
---     >> end)
---     > k{grid = 1, block = 128}()
---     tensor acc f32 (128,256):(1,128) in tensor memory
--- CuTe: TMEM::Allocator1Sm, make_fragment_C. PTX: tcgen05.alloc. MoYe: none.
--- See: tmem_dealloc, tmem_copy, tmem_layout.
---@param dtype Dtype of 8, 16 or 32 bits
---@param shape Shape|Layout
---@return Tensor
function tmem(dtype, shape) end

--- Gives a tensor in tensor memory back, in the block's first warp.
--- All threads may call it; the first warp must. Put a barrier before it, after the last use. A block
--- that ends without it leaves its columns to nobody; cuttle check reports that.
--- CuTe: TMEM::Allocator1Sm::free. PTX: tcgen05.dealloc. MoYe: none.
--- See: tmem.
---@param t Tensor made by tmem
function tmem_dealloc(t) end

--- The layout of a shape in tensor memory, as tmem has it.
--- Elements are counted down the 128 lanes of a column, then the columns.
---
---     > tmem_layout(f32, {128, 256})
---     (128,256):(1,128)
---     > tmem_layout(bf16, {64, 32})
---     ((16,4),(2,16)):((2,64),(1,256))
--- CuTe: tmem_frg_1sm. MoYe: none.
--- See: tmem.
---@param dtype Dtype of 8, 16 or 32 bits
---@param shape Shape {128, columns, ...} or {64, columns, ...}
---@return Layout
function tmem_layout(dtype, shape) end

--- A tiled copy of 128 threads between tensor memory and registers.
--- The atom is one of atoms{family = "tcgen05.ld"} or "tcgen05.st"; the number in its name before x
--- says how many columns it takes at once. Warp w of four reaches 32 lanes, from 32 * w on. A copy
--- is over when the call is: it ends with tcgen05.wait.
---
---     > k = kernel("k", function()
---     >>   local acc = tmem(f32, {128, 64})
---     >>   sync_threads()
---     >>   local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b16x", acc):get_slice(threadIdx.x)
---     >>   print(ld:partition_S(acc).layout)
---     >>   tmem_dealloc(acc)
---     >> end)
---     > k{grid = 1, block = 128}()
---     ((16,1),1,4):((128,0),0,2048)
--- CuTe: make_tmem_copy. PTX: tcgen05.ld, tcgen05.st, tcgen05.wait. MoYe: none.
--- See: tmem, atom.
---@param atom string|Atom
---@param t Tensor in tensor memory, of 128 or 64 rows
---@return TiledCopy
function tmem_copy(atom, t) end

--- Lets an mbarrier arrive when this thread's products are complete.
--- It means those that the thread has issued so far by tcgen05. It is one arrival. One thread calls
--- it: the one that called gemm. After a wait for the phase, tensor memory holds the sums, and shared
--- memory has been read. It includes tcgen05_before_thread_sync.
--- CuTe: umma_arrive. PTX: tcgen05.commit. MoYe: none.
--- See: gemm, mbarrier, tcgen05_after_thread_sync.
---@param bar Mbarrier such as full[i]
function tcgen05_commit(bar) end

--- Makes this thread's copies of tensor memory part of what it hands on.
--- Call it after them, before the arrival or barrier that tells other threads.
--- CuTe: tcgen05_before_thread_sync. PTX: tcgen05.fence::before_thread_sync. MoYe: none.
--- See: tcgen05_after_thread_sync.
function tcgen05_before_thread_sync() end

--- Keeps later uses of tensor memory after the wait or barrier before it.
--- Call it after a wait, before a product or copy that touches what other threads, or products,
--- have used.
--- CuTe: tcgen05_after_thread_sync. PTX: tcgen05.fence::after_thread_sync. MoYe: none.
--- See: tcgen05_before_thread_sync, tcgen05_commit.
function tcgen05_after_thread_sync() end

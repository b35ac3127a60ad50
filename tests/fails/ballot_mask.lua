-- CUDA's mask of lanes in front of a vote.
kernel("k", function(x)
  x[0] = ballot(0xffffffff, x[threadIdx.x] > 0) -- expect error: ballot: no mask of lanes goes in front, as all lanes take part; write ballot(condition)
end){grid = 1, block = 32}(zeros(i32, 32))

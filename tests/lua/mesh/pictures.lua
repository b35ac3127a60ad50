-- Pictures and explanations of meshes, shardings and plans.
local m = mesh"(data=2,model=2)"
local s = m:sharding({6, 5}, "(M@model,K@data)")
local dealt = m:sharding({9, 4}, "(M=(2,2,3),K=4,@data+):((1,1@model,2),6)")

show(s)
-- expect: sharding (M@model,K@data) of (6,5) over mesh (data=2,model=2):(1,2)
-- expect: M\K       0      1      2      3      4
-- expect:     ┌───────────────────────────────────┐
-- expect:   0 │ R0 +0  R0 +3  R0 +6  R1 +0  R1 +3 │
-- expect:   1 │ R0 +1  R0 +4  R0 +7  R1 +1  R1 +4 │
-- expect:   2 │ R0 +2  R0 +5  R0 +8  R1 +2  R1 +5 │
-- expect:   3 │ R2 +0  R2 +3  R2 +6  R3 +0  R3 +3 │
-- expect:   4 │ R2 +1  R2 +4  R2 +7  R3 +1  R3 +4 │
-- expect:   5 │ R2 +2  R2 +5  R2 +8  R3 +2  R3 +5 │
-- expect:     └───────────────────────────────────┘

show(dealt, {rows = "K"})
-- expect: sharding (M=(2,2,3),K=4,@data+):((1,1@model,2),6) of (9,4) over mesh (data=2,model=2):(1,2)
-- expect: K\M          0         1         2         3         4         5         6         7         8
-- expect:     ┌──────────────────────────────────────────────────────────────────────────────────────────┐
-- expect:   0 │  R0,1 +0   R0,1 +1   R2,3 +0   R2,3 +1   R0,1 +2   R0,1 +3   R2,3 +2   R2,3 +3   R0,1 +4 │
-- expect:   1 │  R0,1 +6   R0,1 +7   R2,3 +6   R2,3 +7   R0,1 +8   R0,1 +9   R2,3 +8   R2,3 +9  R0,1 +10 │
-- expect:   2 │ R0,1 +12  R0,1 +13  R2,3 +12  R2,3 +13  R0,1 +14  R0,1 +15  R2,3 +14  R2,3 +15  R0,1 +16 │
-- expect:   3 │ R0,1 +18  R0,1 +19  R2,3 +18  R2,3 +19  R0,1 +20  R0,1 +21  R2,3 +20  R2,3 +21  R0,1 +22 │
-- expect:     └──────────────────────────────────────────────────────────────────────────────────────────┘
-- expect: (over axis data each rank holds a summand)

show(m)
-- expect: mesh (data=2,model=2):(1,2)
-- expect: data\model    0   1
-- expect:            ┌────────┐
-- expect:          0 │ R0  R2 │
-- expect:          1 │ R1  R3 │
-- expect:            └────────┘

show(shard(zeros(f32, {2, 2}), "(M,K)", mesh{data = 1}))
-- expect: sharding (M,K) of (2,2) over mesh (data=1):(0)
-- expect: M\K       0      1
-- expect:     ┌──────────────┐
-- expect:   0 │ R0 +0  R0 +2 │
-- expect:   1 │ R0 +1  R0 +3 │
-- expect:     └──────────────┘

explain(m)
-- expect: mesh          (data=2,model=2):(1,2): 4 ranks
-- expect: axes          data: 2 ranks, the first 0, 1
-- expect:               model: 2 ranks, the first 0, 2

explain(s)
-- expect: sharding      (M@model,K@data) of (6,5)
-- expect: mesh          (data=2,model=2):(1,2)
-- expect: axes          data (2): shards mode K in blocks of 3
-- expect:               model (2): shards mode M in blocks of 3
-- expect: layout        (M=(3,2),K=(3,2)):((1@0,1@2),(3@0,1@1))
-- expect: part          (M=3,K=3):(1,3): 9 elements of 30, 1 in 3.333
-- expect: padding       mode K from 5 to 6

explain(dealt)
-- expect: sharding      (M=(2,2,3),K=4,@data+):((1,1@model,2),6) of (9,4)
-- expect: mesh          (data=2,model=2):(1,2)
-- expect: axes          data (2): each rank holds a summand
-- expect:               model (2): shards mode M in blocks of 2, dealt in 3 rounds
-- expect: layout        (M=(2,2,3),K=4):((1@0,1@2,2@0),6@0)
-- expect: part          (M=6,K=4):(1,6): 24 elements of 36, 1 in 1.5
-- expect: padding       mode M from 9 to 12

explain(mesh"(gpu=8,node=1250)":sharding({8192, 8192}, "(M@gpu,K)"))
-- expect: sharding      (M@gpu,K) of (8192,8192)
-- expect: mesh          (gpu=8,node=1250):(1,8)
-- expect: axes          gpu (8): shards mode M in blocks of 1024
-- expect:               node (1250): replicated
-- expect: layout        (M=(1024,8),K=8192):((1@0,1@1),1024@0)
-- expect: part          (M=1024,K=8192):(1,1024): 8388608 elements of 67108864, 1 in 8
-- expect: padding       none

explain(m:plan(f32, {6, 5}, "(M@model,K)", "(M,K@model)"))
-- expect: plan          from (M@model,K) to (M,K@model)
-- expect: step 1        local: each rank copies within its own memory
-- expect: step 2        all_to_all over model: each rank sends a different chunk to each rank of its group
-- expect:               36 B for a device, 7 us
-- expect: step 3        local: each rank copies within its own memory
-- expect: all           36 B, 19 us

explain(m:plan(f32, {6, 5}, "(M,K)", "(M,K@model)"))
-- expect: plan          from (M,K) to (M,K@model)
-- expect: step 1        local over model: each rank copies within its own memory
-- expect: all           0 B, 6 us

-- The other ways to draw it take the same model.
for _, draw in ipairs { svg, latex, html } do
  local text = draw(s)
  print(text:find("R3", 1, true) ~= nil)
end
-- expect: true
-- expect: true
-- expect: true

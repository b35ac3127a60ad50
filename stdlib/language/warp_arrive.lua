-- warp_arrive.lua: the lane's warp has come to an mbarrier: each of its lanes is done. `lane`: its
-- number, if the caller has it.
return function(bar, lane)
  sync_warp()
  if (lane or threadIdx.x % 32) == 0 then bar:arrive() end
end

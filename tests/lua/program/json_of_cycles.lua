-- A table that is in itself has no JSON; one that stands in two places has.
local json = require "cuttle.json"
local twice, cycle = {1}, {}
cycle.inner = {cycle}
print(json.encode{twice, twice})                                   -- expect: [[1],[1]]
print((select(2, pcall(json.encode, cycle)):gsub("^.-: ", "", 1))) -- expect: json: a table that is in itself has no JSON

-- Lines of PTX where functions were inlined: stdlib/commands/ptx_lines.lua.
local tap = dofile "tests/support/tap.lua"
local outer = require "cuttle.ptx_lines".outer

local ptx <const> = [[
.visible .entry k()
{
	.loc	1 7 3
	bar.sync 0;
	.loc	2 20 3, function_name $L__info_string0, inlined_at 1 8 5
	.loc	2 4 1, function_name $L__info_string1, inlined_at 2 20 3
	add.f32 %f1, %f1, %f1;
	.loc	2 20 3, function_name $L__info_string0, inlined_at 1 9 5
	.loc	2 4 1, function_name $L__info_string1, inlined_at 2 20 3
	.loc	2 5 1, function_name $L__info_string1, inlined_at 2 99 3
	ret;
}
	.file	1 "k.lua"]]
local want <const> = [[
.visible .entry k()
{
	.loc	1 7 3
	bar.sync 0;
	.loc	1 8 5
	.loc	1 8 5
	add.f32 %f1, %f1, %f1;
	.loc	1 9 5
	.loc	1 9 5
	.loc	2 99 3
	ret;
}
	.file	1 "k.lua"]]
tap.is(outer(ptx), want, "the outermost call of each, as the last place of it said")
for _, text in ipairs { "", "\n", "\t.loc\n\t.loc 1\n.local .b8 x;\n", "no newline" } do
  tap.is(outer(text), text, "other text stays as it is")
end
tap.done()

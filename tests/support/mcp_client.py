"""Talks to `cuttle mcp` with the official client, and prints TAP: mcp_client.py PROGRAM ROOT DOCS."""

import asyncio
import os
import signal
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

RACE = """\
local k = kernel("reverse", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  y[threadIdx.x] = s[63 - threadIdx.x]
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
"""
TUNED = """\
local tuned = tune(function(c)
  return kernel("k", function(x) x[threadIdx.x] = 1.0 end){grid = 1, block = c.threads}
end, {threads = {32, 64}})
tuned(zeros(f32, 64))
"""
DOUBLED = """\
return {sizes = {N = {1, 100}}, inputs = {{"x", f32, "N"}}, outputs = {{"y", f32, "N"}},
  reference = function(x, y) for i = 0, size(x) - 1 do y[i] = 2 * x[i] end end}
"""
DOUBLE = """\
local double = kernel("double", function(x, y)
  local i = blockIdx.x * 32 + threadIdx.x
  if i < size(x) then y[i] = x[i] + x[i] end
end)
return function(x, y) double{grid = cdiv(size(x), 32), block = 32}(x, y) end
"""
# Each tool: arguments, and what its text must have.
CALLS = {
    "run": ({"script": "print(1 + 1)"}, "2"),
    "check": ({"path": "race.lua"}, "race.lua:4: race: read of s"),
    "profile": ({"script": RACE}, "store shared s"),
    "trace": ({"script": RACE, "element": "y[5]"}, "s(58) -> y(5), thread 5"),
    "timeline": ({"script": RACE}, "cycles of the model"),
    "emit": ({"script": RACE, "form": "cuda"}, "__global__"),
    "layout": ({"expression": "(4,2):(2,1)", "action": "draw"}, "(4,2):(2,1)"),
    "tune": ({"script": TUNED}, "predicted"),
    "judge": ({"script": DOUBLE, "reference": DOUBLED, "seed": 1}, "correct        yes  6 of 6"),
    "help": ({"name": "copy"}, "Copies a tensor's elements"),
    "search": ({"query": "bank conflicts"}, "cuttle://docs/"),
}
n_run = n_failed = 0


def ok(passed, name, *notes):
    global n_run, n_failed
    n_run += 1
    n_failed += not passed
    print("%sok %d - %s" % ("" if passed else "not ", n_run, name))
    for note in () if passed else notes:
        print("#  ", str(note).replace("\n", "\n#   "))


def text_of(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"  # nobody may have awaited its end yet
    except OSError:
        return False


async def ends(pid):
    for _ in range(200):
        if not is_running(pid):
            return True
        await asyncio.sleep(0.01)
    return False


async def child_of(pid):
    for _ in range(200):
        if children_of(pid):
            return children_of(pid)[0]
        await asyncio.sleep(0.01)
    raise AssertionError("no process")


async def call_tools(session):
    listed = {tool.name for tool in (await session.list_tools()).tools}
    ok(listed == set(CALLS), "the tools that are listed are those called here", listed)
    for name, (arguments, expected) in CALLS.items():
        result = await session.call_tool(name, arguments)
        ok(expected in text_of(result) and not result.is_error, name, text_of(result))
    result = await session.call_tool("run", {"script": "copy()"})
    ok(result.is_error and "script.lua:1: copy" in text_of(result), "an error of a script is a result")


async def read_resources(session):
    listed = [str(r.uri) for r in (await session.list_resources()).resources]
    ok("cuttle://docs/check.md" in listed and "cuttle://examples/saxpy.lua" in listed,
       "pages and examples are listed", listed[:5])
    drawn = [uri for uri in listed if uri.endswith("layout.svg")]
    for uri, expected in (("cuttle://docs/check.md", "# check"), (drawn[0], "<svg")):
        text = (await session.read_resource(uri)).contents[0].text
        ok(expected in text, uri + " is read", text[:80])


async def cancel(session, pid):
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, total, message))

    call = asyncio.ensure_future(session.call_tool(
        "run", {"script": "while true do end"}, progress_callback=on_progress))
    worker = await child_of(pid)
    while len(told) < 3:
        await asyncio.sleep(0.05)
    steps = [step for step, _, _ in told]
    ok(steps == sorted(set(steps)) and told[1][1] == 20, "progress grows", told)
    call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        pass
    ok(await ends(worker), "a call that is cancelled ends at once")
    ok("2" in text_of(await session.call_tool("run", {"script": "print(2)"})), "and the next one runs")


async def crash(session, pid):
    call = asyncio.ensure_future(session.call_tool("run", {"script": "while true do end"}))
    os.kill(await child_of(pid), signal.SIGSEGV)
    result = await call
    ok(result.is_error and "signal 11" in text_of(result), "a crash is an error", text_of(result))


async def with_server(parameters, work):
    async with stdio_client(parameters) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            await work(session)


async def main(program, root, docs):
    with open(root + "/race.lua", "w") as f:
        f.write(RACE)
    parameters = StdioServerParameters(command=program, args=["mcp", "--root=" + root, "--docs=" + docs])

    async def whole(session):
        pid = children_of(os.getpid())[0]
        await call_tools(session)
        await read_resources(session)
        await cancel(session, pid)
        await crash(session, pid)

    async def killed(session):
        pid = children_of(os.getpid())[0]
        call = asyncio.ensure_future(session.call_tool("run", {"script": "while true do end"}))
        worker = await child_of(pid)
        os.kill(pid, signal.SIGKILL)
        try:
            await asyncio.wait_for(call, 10)
            ok(False, "a killed server is an error")
        except Exception as error:  # which one is the client's choice
            ok(not isinstance(error, asyncio.TimeoutError), "a killed server is an error", error)
        ok(await ends(worker), "and takes its processes along")

    async def again(session):
        ok("3" in text_of(await session.call_tool("run", {"script": "print(3)"})), "a new server serves")

    await with_server(parameters, whole)
    await with_server(parameters, killed)
    await with_server(parameters, again)
    print("1..%d" % n_run)
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))

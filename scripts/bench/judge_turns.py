"""Judges all candidates of judge_tasks.lua by `cuttle judge` and by the tool of `cuttle mcp`: verdicts and times.

python3 scripts/bench/judge_turns.py build/cuttle
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SEED = 7


def by_program(program, folder, task):
    paths = {}
    for name in ("candidate", "reference"):
        paths[name] = os.path.join(folder, name + ".lua")
        with open(paths[name], "w") as f:
            f.write(task[name])
    done = subprocess.run([program, "judge", "--json", "--seed=%d" % SEED, "--reference=" + paths["reference"],
                           paths["candidate"]], capture_output=True, text=True, errors="replace")
    try:
        return json.loads(done.stdout)["verdict"]
    except ValueError:
        return "no report: " + done.stderr[:200]


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.n = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                    "clientInfo": {"name": "judge_turns", "version": "1"}})

    def request(self, method, params):
        self.n += 1
        message = {"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def judge(self, task):
        result = self.request("tools/call", {"name": "judge", "arguments": {
            "script": task["candidate"], "reference": task["reference"], "seed": SEED, "seconds": 60}})
        data = result.get("structuredContent", {})
        return data.get("verdict") or "no report: " + result["content"][0]["text"][:200]


def show(way, tasks, judge):
    times, n_right = [], 0
    for task in tasks:
        begin = time.perf_counter()
        verdict = judge(task)
        times.append(time.perf_counter() - begin)
        n_right += verdict == task["want"]
        if verdict != task["want"]:
            print("%s: %s: %s, not %s" % (way, task["name"], verdict, task["want"]))
    times.sort()
    print("%s: %d of %d right; median %.0f ms, 90 %% below %.0f ms, worst %.1f s; load %.1f"
          % (way, n_right, len(tasks), 1e3 * statistics.median(times), 1e3 * times[len(times) * 9 // 10], times[-1],
             os.getloadavg()[0]))


def main(program):
    program = os.path.abspath(program)
    listed = subprocess.run([program, "scripts/bench/judge_tasks.lua"], capture_output=True, text=True, check=True)
    tasks = [json.loads(line) for line in listed.stdout.splitlines()]
    server = Server(program)
    show("cuttle mcp", tasks, server.judge)
    with tempfile.TemporaryDirectory() as folder:
        show("cuttle judge", tasks, lambda task: by_program(program, folder, task))


main(*sys.argv[1:])

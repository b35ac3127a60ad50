"""How long `cuttle watch` takes from a save of a small kernel to the printed result, over many saves.

python3 scripts/bench/watch_saves.py build/cuttle 100 [COMMAND [options]]
"""

import os
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPT = """\
local k = kernel("k", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads()
  y[threadIdx.x] = s[63 - threadIdx.x]
end)
local y = zeros(f32, 64)
k{grid = 1, block = 64}(arange(f32, 64), y)
print("run %d", y[0])
"""
LIMIT_S = 10


def wait_for(process, mark):
    text, end = b"", time.monotonic() + LIMIT_S
    while mark not in text:
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        if not ready:
            sys.exit("no %r in %r" % (mark, text))
        text += os.read(process.stdout.fileno(), 1 << 16)


def main(program, count, *command):
    def save(path, i):
        with open(path, "w") as f:
            f.write(SCRIPT % i)

    def mark(i):  # check reports after the script has printed
        return b"finding" if command else b"run %d" % i

    with tempfile.TemporaryDirectory() as folder:
        path, times = os.path.join(folder, "k.lua"), []
        save(path, 0)
        process = subprocess.Popen([program, "watch", path, *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, bufsize=0)
        wait_for(process, mark(0))
        for i in range(1, int(count) + 1):
            time.sleep(0.15 + 0.05 * random.random())  # at no fixed distance from the looks at the file
            begin = time.perf_counter()
            save(path, i)
            wait_for(process, mark(i))
            times.append((time.perf_counter() - begin) * 1e3)
        process.kill()
    times.sort()
    print("%d saves: median %.0f ms, worst %.0f ms, best %.0f ms; load %.1f"
          % (len(times), statistics.median(times), times[-1], times[0], os.getloadavg()[0]))


main(*sys.argv[1:])

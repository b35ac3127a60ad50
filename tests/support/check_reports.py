"""Checks every twelfth script of tests/check and every hundredth case of tests/fails with `--json`, and validates the
reports by docs/report.schema.json: check_reports.py PROGRAM."""

import concurrent.futures
import glob
import json
import re
import subprocess
import sys
import tempfile

import fastjsonschema

PROGRAM = sys.argv[1]
EVERY = 100  # case of tests/fails


def report(path):
    run = subprocess.run([PROGRAM, "--device=cpu", "check", "--json", path], capture_output=True, timeout=120,
                         stdin=subprocess.DEVNULL)
    return path, run.stdout.decode(errors="replace"), run.stderr.decode(errors="replace")


def cases(folder):
    n = 0
    for path in sorted(glob.glob("tests/fails/*.cases")):
        for part in re.split(r"^--- ", open(path).read(), flags=re.M)[1:]:
            n += 1
            if n % EVERY == 0:
                script = "%s/%d.lua" % (folder, n)
                with open(script, "w") as out:
                    out.write(part.partition("\n")[2])
                yield script


with open("docs/report.schema.json") as f:
    validate = fastjsonschema.compile(json.load(f))
with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
    scripts = sorted(glob.glob("tests/check/*.lua"))[::12] + list(cases(folder))
    n = 0
    for path, out, errors in pool.map(report, scripts):
        try:
            if out:
                validate(json.loads(out))
                n += 1
        except Exception as error:
            sys.exit("%s: %s\n%s%s" % (path, error, out[:2000], errors))
print("valid: %d reports" % n)

"""The archive of the sources that pip builds, and the wheel's platform."""

import os
import re
import shutil
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))  # for the build backend

import cuttle._cuttle as module  # noqa: E402
import cuttle_build  # noqa: E402
from tap import done, ok, same  # noqa: E402


def test_archive():
    with tempfile.TemporaryDirectory() as folder:
        first, second = os.path.join(folder, "a"), os.path.join(folder, "b")
        contents = []
        for to in first, second:
            os.mkdir(to)
            name = cuttle_build.build_sdist(to)
            with open(os.path.join(to, name), "rb") as file:
                contents.append(file.read())
        same(name, f"cuttle-{module.__version__}.tar.gz", "the archive's name")
        ok(contents[0] == contents[1], "the same sources give the same bytes")
        with tarfile.open(os.path.join(first, name)) as tar:
            names = {n.split("/", 1)[1] for n in tar.getnames()}
            base = f"cuttle-{module.__version__}/"
            project = tar.extractfile(base + "pyproject.toml").read().decode()
            info = tar.extractfile(base + "PKG-INFO").read().decode()
    for path in ("Makefile", "LICENSE", "interp/cuttle.h", "hosts/python/cuttle_build.py",
                 "hosts/python/src/launch.c", "hosts/python/cuttle/__init__.py", "scripts/embed.lua"):
        ok(path in names, f"it has {path}")
    ok(not any(n.startswith(("tests/", "build/", ".git/")) for n in names), "but no tests")
    ok('backend-path = ["hosts/python"]' in project, "its project names the backend", project)
    readme = re.search('readme = "(.*)"', project).group(1)
    ok(readme in names, "and a file that is there", readme)
    ok(f"Version: {module.__version__}\n" in info, "PKG-INFO has the version", info)


def test_platform():
    plain = cuttle_build.platform()
    found = cuttle_build.platform(module.__file__)
    if sys.platform == "linux" and shutil.which("readelf"):
        ok(re.fullmatch(r"manylinux_2_\d+_\w+", found) or found == plain, "the wheel's platform", found)
        with open(module.__file__, "rb") as file:
            data = file.read()
        needed = [int(n) for n in re.findall(rb"\0GLIBC_2\.(\d+)(?=\0)", data)]
        if found != plain:
            same(int(found.split("_")[2]), max(17, *needed), "is that of the newest symbol that it needs")
    else:
        same(found, plain, "the wheel's platform")
    ok(cuttle_build.tag(module.__file__).startswith("cp39-abi3-"), "for CPython 3.9 and later")


test_archive()
test_platform()
done()

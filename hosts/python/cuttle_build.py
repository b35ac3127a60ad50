"""A build backend of PEP 517 that needs nothing but the standard library: the Makefile builds the extension,
and this file puts it into a wheel. `python cuttle_build.py BUILD` makes a wheel of what is built in BUILD."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NAME = "cuttle"


def version():
    with open(os.path.join(ROOT, "interp", "cuttle.h"), encoding="utf-8") as header:
        return re.search(r'CUTTLE_VERSION "(.*)"', header.read()).group(1)


def tag():
    """One binary for CPython 3.9 and later, on this system."""
    return "cp39-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def metadata():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    return ("Metadata-Version: 2.1\n"
            f"Name: {NAME}\n"
            f"Version: {version()}\n"
            "Summary: GPU kernels written in Lua, called from Python\n"
            "License: MIT\n"
            "Requires-Python: >=3.9\n"
            "Description-Content-Type: text/markdown\n\n" + text)


def wheel_info():
    return f"Wheel-Version: 1.0\nGenerator: cuttle_build\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def stripped(path):
    """The extension without debug information; as it is where there is no strip."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "module")
        shutil.copy(path, copy)
        try:
            subprocess.run(["strip", "--strip-debug" if sys.platform == "linux" else "-S", copy], check=True)
        except (OSError, subprocess.CalledProcessError):
            pass
        with open(copy, "rb") as file:
            return file.read()


def read(path):
    if path.endswith(".so"):
        return stripped(path)
    with open(path, "rb") as file:
        return file.read()


class Wheel:
    """Files are written in order, at a fixed time, so that the same sources give the same wheel."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data):
        data = data.encode() if isinstance(data, str) else data
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, name):
        self.add(name, "\n".join(self.record + [f"{name},,"]) + "\n")
        self.zip.close()


def make_wheel(build, folder):
    name = f"{NAME}-{version()}-{tag()}.whl"
    info = f"{NAME}-{version()}.dist-info"
    package = os.path.join(build, "python", NAME)
    wheel = Wheel(os.path.join(folder, name))
    for file in sorted(os.listdir(package)):
        if os.path.isfile(os.path.join(package, file)):
            wheel.add(f"{NAME}/{file}", read(os.path.join(package, file)))
    wheel.add(f"{info}/METADATA", metadata())
    wheel.add(f"{info}/WHEEL", wheel_info())
    wheel.add(f"{info}/LICENSE", read(os.path.join(ROOT, "LICENSE")))
    wheel.close(f"{info}/RECORD")
    return name


# {====== PEP 517 ======


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name = f"{NAME}-{version()}.dist-info"
    os.makedirs(os.path.join(metadata_directory, name), exist_ok=True)
    for file, text in ("METADATA", metadata()), ("WHEEL", wheel_info()):
        with open(os.path.join(metadata_directory, name, file), "w", encoding="utf-8") as out:
            out.write(text)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    built = os.environ.get("CUTTLE_BUILT")  # a folder where `make python` has been
    if built:
        return make_wheel(built, wheel_directory)
    if not os.path.exists(os.path.join(ROOT, "Makefile")):
        sys.exit(f"cuttle_build: no Makefile in {ROOT}; build from the source tree: pip install ./hosts/python")
    make = shutil.which("gmake") or shutil.which("make") or "make"
    build = os.path.join(ROOT, "build")
    subprocess.run([make, "-C", ROOT, "python", f"BUILD={build}"], check=True, stdout=sys.stderr)
    return make_wheel(build, wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("cuttle_build: the package is built from the source tree of Cuttle; `make dist` packs that")


if __name__ == "__main__":
    print(os.path.join(sys.argv[1], make_wheel(sys.argv[1], sys.argv[1])))

"""A build backend of PEP 517 that needs nothing but the standard library: the Makefile builds the extension,
and this file puts it into a wheel. `python cuttle_build.py BUILD` makes a wheel of what is built in BUILD."""

import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NAME = "cuttle"
MTIME = 1577836800  # of all files: 2020, so that the same sources give the same archive


def version():
    with open(os.path.join(ROOT, "interp", "cuttle.h"), encoding="utf-8") as header:
        return re.search(r'CUTTLE_VERSION "(.*)"', header.read()).group(1)


# What every system of manylinux has (PEP 600).
COMMON = re.compile(r"lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux.*")


def platform(module=None):
    """This system, or all Linux systems with a C library that is new enough for the module."""
    name = re.sub(r"[-.]", "_", sysconfig.get_platform())
    if module is None or not name.startswith("linux_"):
        return name
    try:
        text = subprocess.run(["readelf", "--dynamic", "--version-info", "--wide", module], check=True,
                              env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return name
    versions = [int(n) for n in re.findall(r"Name: GLIBC_2\.(\d+)", text)]
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    if not versions or not all(COMMON.fullmatch(library) for library in libraries):
        return name
    return f"manylinux_2_{max(17, *versions)}_" + name[len("linux_"):]


def tag(module=None):
    """One binary for CPython 3.9 and later, on the module's platform."""
    return "cp39-abi3-" + platform(module)


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


def wheel_info(module=None):
    return f"Wheel-Version: 1.0\nGenerator: cuttle_build\nRoot-Is-Purelib: false\nTag: {tag(module)}\n"


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
    package = os.path.join(build, "python", NAME)
    module = os.path.join(package, "_cuttle.abi3.so")
    name = f"{NAME}-{version()}-{tag(module)}.whl"
    info = f"{NAME}-{version()}.dist-info"
    wheel = Wheel(os.path.join(folder, name))
    for file in sorted(os.listdir(package)):
        if os.path.isfile(os.path.join(package, file)):
            wheel.add(f"{NAME}/{file}", read(os.path.join(package, file)))
    wheel.add(f"{info}/METADATA", metadata())
    wheel.add(f"{info}/WHEEL", wheel_info(module))
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


def get_requires_for_build_sdist(config_settings=None):
    return []


# Folders that the package is not built of.
LEFT_OUT = ("tests", "build", "hosts/web/tests", "hosts/python/tests", "scripts/bench", ".ci", ".github", ".git")


def is_source(path):
    return not any(path == folder or path.startswith(folder + "/") for folder in LEFT_OUT)


def sources():
    """The files of the source tree: those that git knows, or all that lie there if it is no repository."""
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout.decode()
        files = [path for path in out.split("\0") if path]
    except (OSError, subprocess.CalledProcessError):
        files = []
    if not files:
        for folder, _, names in os.walk(ROOT):
            files += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(path for path in files if is_source(path) and os.path.isfile(os.path.join(ROOT, path)))


def project():
    """pyproject.toml for the root of the source tree."""
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    return (text.replace('readme = "README.md"', 'readme = "hosts/python/README.md"')
            .replace('backend-path = ["."]', 'backend-path = ["hosts/python"]'))


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{version()}"
    name = base + ".tar.gz"

    def add(tar, path, data, mode=0o644):
        info = tarfile.TarInfo(f"{base}/{path}")
        info.size, info.mode, info.mtime = len(data), mode, MTIME
        tar.addfile(info, io.BytesIO(data))

    made = {"pyproject.toml": project(), "PKG-INFO": metadata()}
    with open(os.path.join(sdist_directory, name), "wb") as out, \
            gzip.GzipFile("", "wb", fileobj=out, mtime=MTIME) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sources():
            full = os.path.join(ROOT, path)
            if path not in made:
                with open(full, "rb") as file:
                    add(tar, path, file.read(), 0o755 if os.access(full, os.X_OK) else 0o644)
        for path, text in made.items():
            add(tar, path, text.encode())
    return name


if __name__ == "__main__":
    print(os.path.join(sys.argv[1], make_wheel(sys.argv[1], sys.argv[1])))

"""Prints the folder of Python.h; fails where it is not installed."""
import os
import sys
import sysconfig

folder = sysconfig.get_paths()["include"]
if sys.version_info < (3, 9) or not os.path.exists(os.path.join(folder, "Python.h")):
    sys.exit(f"no Python.h in {folder}; install python3-dev")
print(folder)

"""Build the compiled part where there is a C compiler; asyncguard works without it, a bit slower.

With ASYNCGUARD_PURE_PYTHON=1 it is left out: one wheel for every interpreter and platform.
"""

import os
import platform

from setuptools import Extension, setup

PURE = bool(os.environ.get("ASYNCGUARD_PURE_PYTHON"))
QUICK = Extension("asyncguard.runtime._quick", ["asyncguard/runtime/_quick.c"], optional=True)

setup(ext_modules=[] if PURE or platform.python_implementation() != "CPython" else [QUICK])

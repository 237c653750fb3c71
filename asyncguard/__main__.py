"""`python -m asyncguard`."""

import os
import sys

# As for the command: modules of the current folder are no libraries of ours. A checkout is.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path[0] in ("", os.getcwd()) and os.getcwd() != _HOME:
    sys.path[0] = os.path.dirname(sys.executable)

from asyncguard.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

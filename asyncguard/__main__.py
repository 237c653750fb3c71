"""`python -m asyncguard`."""

import sys

from asyncguard.cli import main

sys.exit(main())

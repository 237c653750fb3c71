"""Patterns, compiled at the first question and once: a short run asks few."""

from __future__ import annotations

import re
from functools import cache

MAX_NAMES = 1 << 14  # whose answers to one question are kept


compiled = cache(re.compile)

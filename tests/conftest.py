"""What holds for every test."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes, or the drawing of one, says how busy the machine is.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")

"""What holds for every test."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.released import built as built
from tests.released import needed as needed

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes, or the drawing of one, says how busy the machine is.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")


def pytest_collection_finish() -> None:
    """Search what the tests leave for cycles, and not each time what they have imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep out of the user's cache directory, child processes included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield

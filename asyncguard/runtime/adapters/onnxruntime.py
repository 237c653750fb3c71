"""onnxruntime: a session's first execution provider says where it runs, an OrtValue where it is.

A session on the CPU stands in for one on a device: what `run` takes there, it takes to compute.
"""

from __future__ import annotations

from typing import Any

import onnxruntime

from asyncguard.model import STAND_IN
from asyncguard.runtime.adapter import Adapter as Base

_PROVIDER = "ExecutionProvider"


class Adapter(Base):
    """onnxruntime, with any execution provider."""

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        self._last = STAND_IN

    def device_of(self, value: Any) -> str | None:
        """The device of an OrtValue."""
        if not isinstance(value, onnxruntime.OrtValue):
            return None
        name = str(value.device_name())
        return STAND_IN if name == "cpu" else name

    def device_of_call(self, api: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The device of the session; of a binding, that of the session which ran last."""
        if api == _UPLOAD:
            name = str(
                kwargs.get("device_type", next((a for a in args if isinstance(a, str)), "cpu"))
            )
            return None if name == "cpu" else name
        if isinstance(args[0], onnxruntime.InferenceSession):
            if _says_not_to_wait(args, kwargs):
                return None
            self._last = _device(args[0].get_providers())
        return self._last

    def accelerator_in_use(self) -> bool:
        """Whether a session has run on a device."""
        return self._last != STAND_IN


def _device(providers: list[str]) -> str:
    name = providers[0].removesuffix(_PROVIDER).lower()
    return STAND_IN if name == "cpu" else name


def _says_not_to_wait(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether run options are given that tell a run not to wait for the device at its end."""
    options = (a for a in (*args, *kwargs.values()) if isinstance(a, onnxruntime.RunOptions))
    return any(map(_is_disabled, options))


def _is_disabled(options: Any) -> bool:
    try:
        return bool(options.get_run_config_entry(_DISABLE) == "1")
    except RuntimeError:  # nothing is said of it
        return False


_UPLOAD = "onnxruntime.OrtValue.ortvalue_from_numpy"
_DISABLE = "disable_synchronize_execution_providers"

"""The programs in `cases/` are read by `test_cases.py`: none is a test module of its own."""

import pytest

from tests.lint.programs import Programs

collect_ignore = ["cases"]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Return what is found in small programs, each analysed once for all tests."""
    return Programs(tmp_path_factory.mktemp("programs"))

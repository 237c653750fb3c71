"""The programs in `cases/` are read by `test_cases.py`: none is a test module of its own."""

collect_ignore = ["cases"]

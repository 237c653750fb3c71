"""What to do about the sync points of a trace: pure functions over its record."""

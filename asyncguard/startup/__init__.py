"""First in PYTHONPATH while a run follows its children: how another Python process joins it."""

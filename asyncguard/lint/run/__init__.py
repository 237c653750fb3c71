"""Running a check: settings, files, processes, the cache."""

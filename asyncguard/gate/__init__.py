"""Baselines for findings and for traces, and the comparison that fails a build.

`baseline` keeps the file, `compare` finds what is new or has grown. Sites are recognised by what
they are (file, function, API, source text), not by their line numbers, so code may move.
"""

"""Advice: what to do about a finding, chosen by the code around the wait.

A rule knows what waits; what helps is decided by where the value comes from and where it goes. The
patterns and their texts are data (`rules/advice.toml`): the first one that fits a finding replaces
the advice of its rule, in the message and in the help. `patterns` reads the file, `choice` applies
it. What a pattern can ask for stands in `where_to`, `where_from` and `company`, which follow values
through a function with `values`.
"""

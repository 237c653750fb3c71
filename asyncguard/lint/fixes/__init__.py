"""Repairs: from a finding to the edit that takes its wait out of the step.

A repair is worked out from the text of the file and the place of the finding alone, over Python's
own syntax tree: places in it are exact, so that an edit replaces the named statements and leaves
every other character of the file, comments included, as it is. (libcst, which the linter builds its
trees with, takes some fifteen times as long to parse, for spaces and commas that stay where they
are anyway.) `code` holds the file, `spots` what stands around a finding, `flow` and `kinds` what
can be said of names and values, `dialects` how each framework writes it; `families` has one file
for each kind of rewrite, and `repair` asks them in turn.

A rewrite that does not understand all it sees is not offered. What it offers is

- safe: the program computes the same values;
- unsafe: it may compute something else in cases that the message names;
- shown: the reader has to decide or to complete it, so no option applies it.
"""

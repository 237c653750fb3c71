"""The static analyzer: an abstract interpreter of Python that knows which values live on a device.

Glossary:

- abstract value: what is known of an object at one place: its kind, its framework, its role
  (`domain.values`). `join` merges what two control-flow paths know, in any order (`domain.join`).
- reason: why a value is taken to be on the device: its provenance, which has a strength, and a
  clause for the reader. A doubt speaks against it; both decide the confidence (`domain.reasons`).
- transfer function: how one type of node changes what is known (`interpret`).
- machine: the table of all transfer functions (`interpret.machine`).
- host: the file that a frame runs in, as the interpreter sees it (`contexts.frame.Host`).
- frame: the abstract execution of one function: variables, loops, guards (`contexts.frame`).
- silent: a run that notes no effects: a first pass over a loop, or a look ahead.
- effect: a site, a call, or another event that a frame notes (`domain.effects`).
- site: a place at which Python waits, or would if the value were on the device.
- guard: a condition that makes what it governs rare (`contexts.conditions`, `contexts.branches`).
- summary: what callers need to know of a function: its result, its reads, its work.
- hint: what usage says of a path whose value is out of sight (`domain.hints`).
- prior: what a name suggests where nothing else is known (`names`).
- facts: the plain records that one file yields (`program.facts`).
- call graph: who calls whom over all files, and so how often a function is entered
  (`program.network`).
- candidate: a finding whose context still waits for the callers of its function.
- linking: giving each candidate its final context (`program.linking`).

Packages, lowest floor first: `source`, `syntax`, `names` and `knowledge`, `domain`, `contexts`,
`interpret`, `modules`, `program`, `report`, `checks`, `run`; `check` on top.
"""

"""The static analyzer: an abstract interpreter of Python that knows which values live on a device.

Glossary:

- abstract value: what is known of an object: its kind, its place, its role (`domain.values`).
  `join` merges what two control-flow paths know, in any order (`domain.join`).
- reason: why a value is taken to be on the device: its provenance, which has a strength, and a
  clause for the reader. A doubt speaks against it; both decide the confidence (`domain.reasons`).
- dependence: the parameters that a value comes from (`domain.dependence`).
- transfer function: how one type of node changes what is known (`interpret`).
- machine: the table of all transfer functions (`interpret.machine`).
- host: the file that a frame runs in, as the interpreter sees it (`contexts.frame.Host`).
- frame: the abstract execution of one function: its variables and effects (`contexts.frame`).
- nesting: the loops and guards that are open in it (`contexts.nesting`). A guard is a condition
  that makes what it governs rare (`contexts.conditions`, `contexts.counters`, `contexts.branches`).
- work: what a function or a loop's body does; with the loop's shape it decides how often the body
  runs: one table, `classify` (`domain.work`).
- context: how often a place is run within its function; with the hotness of that function it is how
  often a program runs the place (`domain.hotness`).
- speculative: a run that notes no effects: a first pass over a loop, or a look ahead.
- effect: a call, an event, or a site, at which Python waits, or may wait (`contexts.effects` notes
  them, `domain.definitions` has the records).
- summary: what callers need to know of a function: its result, its reads, its work.
- prior: what usage or a name suggests where nothing else is known (`contexts.priors`, `names`).
- facts: what one file yields. A candidate is a finding whose callers are not known yet
  (`program.facts`).
- linking: giving each candidate its final context, by the call graph (`program.call_graph`).

Packages, lowest floor first: `names`, `knowledge`, `source`, `syntax`, `domain`, `evidence`,
`contexts`, `interpret`, `modules`, `program`, `report`, `checks`, `fixes`, `advice`, `run`; `check`
on top.
"""

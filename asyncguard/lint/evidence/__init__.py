"""Evidence decides, once: how probable it is that a finding's place waits.

What the analyzer knows of a place is a list of items: how its value came to be taken for a device
value, what speaks against that, by which API and in which code it is read. `items` names them;
`weights` adds up what each is worth, as fitted on programs that ran (`benchmarks/evidence.py`).
"""

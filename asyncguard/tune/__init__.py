"""`asyncguard tune`: the whole loop, from a traced run to the repaired program and what it gained.

`copies` makes two copies of the folder, `runs` traces the program in each, `plan` ranks the repairs
of what waited, `outputs` compares what both runs printed, and `loop` puts these together.
"""

"""The whole program: facts of files, the call graph, linking."""

"""The static analyzer: source, tree, values, loops, sites, checks, findings, fixes."""

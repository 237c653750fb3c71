"""`asyncguard mcp`: the tools of asyncguard for coding agents, by the Model Context Protocol.

`server` describes the tools and speaks the protocol over stdio, `root` keeps their paths in one
folder, `children` runs each call in a process of its own, bounded and killed with its children,
`worker` is that process and `jobs` its work, `shown` turns records into `results`. Needs the
official SDK (extra `mcp`).
"""

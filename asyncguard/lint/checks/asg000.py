"""The source cannot be read or parsed.

The file could not be decoded or parsed, or is nested too deeply to analyse. Its other findings, if
any, are unknown; those of other files are not affected. Syntax up to that of Python 3.14 is read
under each Python that asyncguard supports.

    print("hello"          # before: '(' was never closed
    print("hello")         # after

Reference: https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations
"""

CODE = "ASG000"
NAME = "unreadable-source"
VALID = ["x = 1\n", ""]
INVALID = ["def f(:\n    pass\n", "x = '\n"]

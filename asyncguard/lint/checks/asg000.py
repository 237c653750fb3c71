"""The source cannot be read or parsed.

The file is no text in its declared encoding, is no valid Python, or nests too deeply to be
analysed. Its other findings, if any, are unknown; those of other files are not affected.

    print("hello"          # before: '(' was never closed
    print("hello")         # after

Reference: https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations
"""

CODE = "ASG000"
NAME = "unreadable-source"
VALID = ["x = 1\n", ""]
INVALID = ["def f(:\n    pass\n", "x = '\n"]

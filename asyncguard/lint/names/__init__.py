"""What the names of other people's variables, functions, classes and files suggest."""

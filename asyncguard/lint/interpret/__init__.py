"""The transfer functions of the abstract interpreter, one module a group of syntax."""

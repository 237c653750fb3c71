"""Files as modules: their scopes, imports, classes and functions, run on request."""

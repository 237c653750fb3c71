"""One file an output format; found by walking this package."""

"""One file a framework; found by walking this package and by the entry point `asyncguard.adapters`."""

"""One file a framework; found by walking this package and by entry point (see `adapter`)."""

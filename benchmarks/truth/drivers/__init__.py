"""How packages are driven: each module's `cases(**options)` gives names to what runs on a device."""

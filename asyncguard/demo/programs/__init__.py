"""Programs that the demo traces and lints; each runs by itself as well."""

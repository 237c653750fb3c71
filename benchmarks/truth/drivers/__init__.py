"""How packages are driven: each module's `cases(**options)` names what is run on a device."""

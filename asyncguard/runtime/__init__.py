"""The runtime shim: hooks -> recorder -> record. It only appends while the program runs."""

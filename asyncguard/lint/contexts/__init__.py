"""How often code runs: frames, loops, conditions and the shapes of branches."""

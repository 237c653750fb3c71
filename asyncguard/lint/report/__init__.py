"""From sites to candidates: rules, places, messages, repairs."""

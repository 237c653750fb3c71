"""The abstract domain: values, their join, effects and summaries. No trees are run here."""

"""Baselines for findings and for traces, and the comparison that fails a build."""

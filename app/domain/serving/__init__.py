"""Checks of a serving setup: what path a batch takes, what a claim implies, what a benchmark file shows."""

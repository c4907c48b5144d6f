"""Measures how fast the program is beside other ways to do the same work; `make bench` runs it."""

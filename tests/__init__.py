"""Tests, in folders that mirror the code; a package, so that helpers have one import path."""

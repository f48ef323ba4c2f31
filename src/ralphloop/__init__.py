"""Runs a coding agent in a loop, a fresh session each time, until the work is verifiably done."""

__version__ = "0.1.0"

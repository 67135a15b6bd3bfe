"""Runs scripts on a real ensemble."""

"""Counters and values."""

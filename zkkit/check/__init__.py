"""Verdicts over a recorded history."""

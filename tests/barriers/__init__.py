"""The barriers."""

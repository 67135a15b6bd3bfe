"""Watchers: persistent watches, and kazoo's decorators."""

"""The recipes: scripts only. They import nothing but the vocabulary."""

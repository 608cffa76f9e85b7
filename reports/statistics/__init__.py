"""Intervals, and comparisons of models on the same images.

- `intervals`: Wilson's; `paired`: differences, bootstrap, McNemar and Holm.
- `comparable`: when two numbers may be compared; `comparison`: all models against one.
"""

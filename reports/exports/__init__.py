"""Results in the files of other projects.

- `robustbench`: what runs say to RobustBench, and what they do not; `model_info`: its JSON.
- `paper`: what a paper says of its models.
"""

"""Results in files for other programs.

- `images`: every image under every condition, as CSV.
- `robustbench`: what runs say to RobustBench, and what they do not; `model_info`: its JSON.
- `paper`: what a paper says of its models.
"""

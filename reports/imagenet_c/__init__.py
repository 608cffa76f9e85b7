"""The numbers of ImageNet-C: CE, mCE and its relatives.

- `corruption_error`: their definitions, and AlexNet's errors; `corruption_rows`: what they are of.
- `corruption_scores`: all of them for some results; `reference_errors`: others than AlexNet's.
"""

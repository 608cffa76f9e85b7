"""Test sets that papers know by name: ImageNet-A, -R, -V2, -Sketch, ObjectNet.

- `table`: their names, folders and labels.
- `checks`: whether a folder holds what its name says; `validation`: whether labels do.
- `opening`: as a data set; `objectnet`, which has classes and a border of its own.
- `robustbench`: the 5,000 images of the validation set that RobustBench takes.
"""

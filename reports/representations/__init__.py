"""What `analyze` measured of the tokens of images: from numbers of each image to tables.

- `subject`: one model and its numbers.
- `similarity`: means over images with their intervals, and differences between models.
- `attention`: how attention spreads its weights; `spectrum`: eigenvalues of its matrices.
"""

"""What corruptions are made of: image processing that knows nothing of severities.

- `pixels`: which images are accepted, and how floats become bytes.
- `canny`, `chamfer`: edges and distances from them; `trail`: motion; `zoom`, `warp`: resampling.
- `plasma`: a fractal map of heights.
"""

"""Labelled images: what they are, where they come from, and how they become pixels.

- `dataset`: `Dataset`; `opening`: `open_dataset`, the one door to folders, arrays and samples.
- `stored`: an image's bytes, in a file or an archive, which all that follows sees alike.
- `archives/`, `folders/`, `known_sets/`, `arrays`, `fashion_mnist/`, `samples`: what it opens.
- `decoding`, `preprocessing`: from a file to uint8 pixels, resized and cropped.
- `image_maker`: images, clean or as a corruption shows them (`remembered`).
- `loader`: batches ahead of their use; `worker_pool`: processes that make them.
- `crop_cache`: decoded crops on disk.
- `imagenet`, `imagenet_c`: classes and subsets; corruptions and severities, by name.
- `summary`, `suspicions`: what a data set holds, and what looks wrong with it.
"""

__all__ = [
    "archives",
    "arrays",
    "crop_cache",
    "dataset",
    "decoding",
    "fashion_mnist",
    "folders",
    "image_maker",
    "imagenet",
    "imagenet_c",
    "known_sets",
    "loader",
    "opening",
    "preprocessing",
    "remembered",
    "samples",
    "stored",
    "summary",
    "suspicions",
    "worker_pool",
]
"""The modules that other rooms may use."""

"""``samples:imagenet``: the 20 photographs that foolbox ships, as a data set for any machine."""

import re
from importlib.util import find_spec
from pathlib import Path

from ..errors import UserError
from .dataset import Dataset
from .folders.image_files import FileImages
from .imagenet import NUM_CLASSES
from .stored import ImageFile

SAMPLES = "samples:imagenet"
HOW_MANY = 20
_NAME = re.compile(r"imagenet_\d\d_(\d+)\.jpg")


def open_samples() -> Dataset:
    """Foolbox's ImageNet samples; file names end in the class index (imagenet_00_243.jpg).

    They are 512 pixels and more, and take the same way as any photograph. (``foolbox.samples``
    instead squeezes them to 224 x 224 with another filter, so its pixels are not these.)

    Raises:
        UserError: foolbox is not installed, or does not carry the 20 photographs.
    """
    spec = find_spec("foolbox")
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"{SAMPLES} needs the package foolbox; pip install foolbox")
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    matches = [(path, _NAME.fullmatch(path.name)) for path in sorted(folder.glob("imagenet_*"))]
    labels = {path: int(match[1]) for path, match in matches if match}
    if len(labels) != HOW_MANY:
        raise UserError(
            f"{SAMPLES}: {folder} holds {len(labels)} of foolbox's {HOW_MANY} photographs; "
            "install foolbox 3.3.4 again"
        )
    files = tuple(ImageFile(path.name, path.parent, path.stat().st_size) for path in labels)
    return Dataset(
        name=SAMPLES,
        ids=tuple(file.id for file in files),
        labels=tuple(labels.values()),
        images=FileImages(files),
        num_classes=NUM_CLASSES,
        labelling="ImageNet-1k index in the file name",
        notes=("the 20 ImageNet photographs that foolbox ships; 20 images say little",),
    )

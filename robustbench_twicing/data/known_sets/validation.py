"""Labels that are numbers, and mean other classes than ImageNet's: signs of it.

Labels of the first validation images are known, by which another numbering of classes shows:
ILSVRC's development kit numbers classes in an order of its own: its labels of the validation images
are whole numbers in the right range, and wrong for every network of torchvision and timm.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from ..dataset import Dataset, Remark
from ..folders.class_folders import BY_NUMBER
from ..imagenet import NUM_CLASSES

FEWEST_COUNTED, MOST_OWN, PER_CLASS = 3, 200, 4
"""Classes that tell how they are counted, those of small data sets, and images of each."""
FEWEST = 5
"""Images that are known, and contradict, before it is said."""
_NAME = re.compile(r"ILSVRC2012_val_(\d{8})\.\w+")
_LABELS = """
65 970 230 809 516 57 334 415 674 332 109 286 370 757 595 147 108 23 478 517
334 173 948 727 23 846 270 167 55 858 324 573 150 981 586 887 32 398 777 74
516 756 129 198 256 725 565 167 717 394 92 29 844 591 358 468 259 994 872 588
474 183 107 46 842 390 101 887 870 841 467 149 21 476 80 424 159 275 175 461
970 160 788 58 479 498 369 28 487 50 270 383 366 780 373 705 330 142 949 349
473 159 872 878 201 906 70 486 632 608 122 720 227 686 173 959 638 646 664 645
718 483 852 392 311 457 352 22 934 283 802 553 276 236 751 343 528 328 969 558
163 328 771 726 977 875 265 686 590 975 620 637 39 115 937 272 277 763 789 646
213 493 647 504 937 687 781 666 583 158 825 212 659 257 436 196 140 248 339 230
361 544 935 638 627 289 867 272 103 584 180 703 449 771 118 396 934 16 548 993
704 457 233 401 827 376 146 606 922 516 284 889 475 978 475 984 16 77 610 254
636 662 473 213 25 463 215 173 35 741 125 787 289 425 973 1 167 121 445 702
532 366 678 764 125 349 13 179 522 493 989 720 438 660 983 533 487 27 644 750
865 1 176 694 695 798 925 413 250 970 821 421 361 920 761 27 676 92 194 897
612 610 283 881 906 899 426 554 403 826 869 730 0 866 580 888 43 64 69 176
329 469 292 991 591 346 1 607 934 784 572 389 979 654 420 390 702 24 102 949
508 361 280 65 777 359 165 21 7 525 760 938 254 733 707 463 60 887 531 380
982 305 355 503 818 495 472 293 816 195 904 475 481 431 260 130 627 460 622 696
300 37 133 637 675 465 592 741 895 91 109 582 694 546 208 488 786 959 192 834
"""
LABELS = tuple(map(int, _LABELS.split()))
"""Class indices of ``ILSVRC2012_val_00000001.JPEG``, ``...2.JPEG``, and so on."""


def other_numbering(dataset: Dataset) -> Iterator[Remark]:
    """A remark where numbers given to validation images are not those of their classes."""
    if dataset.num_classes != NUM_CLASSES or "wnid" in dataset.labelling:
        return
    matches = ((_NAME.fullmatch(PurePosixPath(name).name), name) for name in dataset.ids)
    numbers = {name: int(match[1]) for match, name in matches if match}
    pairs = [
        (dataset.right(place), LABELS[numbers[name] - 1])
        for place, name in enumerate(dataset.ids)
        if 1 <= numbers.get(name, 0) <= len(LABELS)
    ]
    right = sum(true in labels for labels, true in pairs)
    if len(pairs) < FEWEST or right > len(pairs) / 2:
        return
    by_one = sum(true + 1 in labels for labels, true in pairs) > len(pairs) / 2
    order = "they are counted from 1" if by_one else "perhaps the devkit's own order of classes"
    yield Remark(
        "labels-of-other-classes",
        f"{len(pairs) - right} of {len(pairs)} validation images whose classes are known are given "
        f"others ({order}): class indices are the positions of sorted wnids, so label by wnid",
    )


def counted_from_one(dataset: Dataset) -> Iterator[Remark]:
    """A remark where labels are 1, 2, 3, ... and never 0."""
    images = Counter(dataset.labels)
    counted = set(images) == set(range(1, len(images) + 1)) and len(images) >= FEWEST_COUNTED
    by_chance = dataset.limit_seed is not None and max(images.values(), default=0) == 1
    if counted and not by_chance and "wnid" not in dataset.labelling:
        yield Remark(
            "labels-from-1",
            f"labels are 1 to {len(images)} without a gap and never 0: were they counted from 1? "
            "Class indices start at 0",
        )


def first_classes(dataset: Dataset, num_classes: int | None) -> Iterator[Remark]:
    """A remark where numbers that classes of one's own would have, too, count as ImageNet's.

    Args:
        dataset: the images and labels.
        num_classes: of the data set or the network; None where neither is known.
    """
    if BY_NUMBER not in dataset.notes or num_classes != NUM_CLASSES:
        return
    seen = {label for image in range(len(dataset)) for label in dataset.right(image)}
    gapless = seen == set(range(len(seen))) and 2 <= len(seen) <= MOST_OWN
    if gapless and len(dataset) >= PER_CLASS * len(seen):
        yield Remark(
            f"labels-0-to-{len(seen) - 1}",
            f"labels are the numbers 0 to {len(seen) - 1} without a gap, as classes of one's own "
            f"have them, and count as the first {len(seen)} of ImageNet-1k's (tench, goldfish, "
            "...); if they are none of these, label by wnid, or give --classes FILE and a model of "
            "these classes",
        )

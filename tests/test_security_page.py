"""SECURITY.md names limits as they are in the code."""

import re
from pathlib import Path

from robustbench_twicing.checkpoints import contents, declared, safetensors_files
from robustbench_twicing.checkpoints import reading as checkpoint_files
from robustbench_twicing.checkpoints.pickle import pickle_scan, torch_pickle
from robustbench_twicing.conditions.suites import reading as suites
from robustbench_twicing.data import decoding, stored
from robustbench_twicing.data.archives import tar_headers, webdataset
from robustbench_twicing.data.fashion_mnist import idx
from robustbench_twicing.data.folders import class_list, scanning
from robustbench_twicing.files import arrays, printable, regular
from robustbench_twicing.files import text as texts
from robustbench_twicing.records import manifest, parts

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
MIB, GIB = 2**20, 2**30
LIMITS = {
    f"together {torch_pickle.LARGEST_SHARE} times their storages": "LARGEST_SHARE",
    f"{checkpoint_files.LARGEST_HEADER // 10**6} MB, and no longer": "LARGEST_HEADER",
    f"an index of shards | {safetensors_files.LARGEST_INDEX // MIB} MiB": "LARGEST_INDEX",
    f"{pickle_scan.LARGEST_TUPLE:,} items with those inside": "LARGEST_TUPLE",
    f"with those inside, {pickle_scan.DEEPEST_TUPLE} deep": "DEEPEST_TUPLE",
    f"{declared.MOST_ITEMS:,} items on a level": "MOST_ITEMS",
    f"items on a level, {declared.DEEPEST_VALUE} deep": "DEEPEST_VALUE",
    f"wrappers inside wrappers | {contents.DEEPEST} |": "DEEPEST",
    f"{scanning.DEEPEST} folders deep": "DEEPEST",
    f"reached by {scanning.MOST_LINKS} links": "MOST_LINKS",
    f"{decoding.LARGEST_IMAGE:,} pixels": "LARGEST_IMAGE",
    f"sides up to {decoding.LONGEST_STRIP} : 1": "LONGEST_STRIP",
    f"a file of {stored.LARGEST_FILE // GIB} GiB": "LARGEST_FILE",
    f"{tar_headers.MOST_MEMBERS // 10**6} million members": "MOST_MEMBERS",
    f"beside an image {webdataset.LARGEST_LABEL // MIB} MiB": "LARGEST_LABEL",
    f"unpacks to {arrays.LARGEST_GROWTH} times": "LARGEST_GROWTH",
    f"or to {arrays.HARMLESS_SIZE // MIB} MiB": "HARMLESS_SIZE",
    f"Fashion-MNIST's files | {idx.LARGEST // MIB} MiB": "LARGEST",
    f"a suite | {suites.LARGEST_FILE // 1000} kB": "LARGEST_FILE",
    f"other text and JSON | {texts.LARGEST_TEXT // MIB} MiB": "LARGEST_TEXT",
    "below a million" if class_list.MOST_CLASSES == 10**6 else "?": "MOST_CLASSES",
    "a million parts" if manifest.MOST_PARTS == 10**6 else "?": "MOST_PARTS",
    f"{parts.MOST_ROWS // 10**6} million records": "MOST_ROWS",
    f"and {parts.LARGEST_PART // GIB} GiB, unpacked": "LARGEST_PART",
    f"{printable.LONGEST:,} characters": "LONGEST",
}


def test_every_limit_is_the_constant_s() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    for words, constant in LIMITS.items():
        assert any(words in row and f"`{constant}`" in row for row in rows), words


def test_every_file_that_is_named_is_there() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert all((ROOT / link).is_file() for link in links)
    assert Path(regular.__file__).relative_to(ROOT).as_posix() in links
    assert (ROOT / "tests/robustbench_twicing/test_no_code_runs.py").is_file()


def test_it_is_linked_and_names_no_person() -> None:
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "@" not in TEXT

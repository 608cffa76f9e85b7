"""A whole evaluation over a plain script of torchattacks: CPU seconds of the processes.

    python benchmarks/script_time.py [--images 64] [--batch 8] [--rounds 1] [--threads N]

Clean, FGSM at six budgets and PGD-20 at two, top-1 and top-5, on DeiT-tiny: `eval` with its checks,
records and diagnostics, and a script that does the same with timm, Pillow and torchattacks and
keeps nothing but the counts. Each is one process from its start to its end. With DEIT=FILE and
PHOTOS=DIR in the environment these weights and photographs; else random weights and the bundled
photographs, of which there are 20.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.table import Table, show
from benchmarks.timing import arguments, threads
from robustbench_twicing.classifiers.kernels import check_kernels
from robustbench_twicing.classifiers.timing import median_ratio
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
SCRIPT_NAME = "a script of torchattacks"
MODEL = "deit_tiny_patch16_224"
SUITE = """conditions:
- attack: clean
- {attack: fgsm, eps: [0.25/255, 0.5/255, 1/255, 2/255, 4/255, 8/255]}
- {attack: pgd, eps: [1/255, 4/255]}
"""
SCRIPT = """
import sys
import timm, torch, torchattacks
from PIL import Image
from safetensors.torch import load_file
from torchvision import transforms

weights, listed, batch, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
net = timm.create_model("deit_tiny_patch16_224")
if not weights.startswith("random:"):
    net.load_state_dict(load_file(weights))
mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
model = torch.nn.Sequential(transforms.Normalize(mean, std), net).eval()
crop = transforms.Compose([
    transforms.Resize(256, transforms.InterpolationMode.BICUBIC),
    transforms.CenterCrop(224),
    transforms.ToTensor(),
])
rows = [line.rsplit(" ", 1) for line in open(listed).read().splitlines()]
attacks = {"clean": None}
for eps in (0.25, 0.5, 1, 2, 4, 8):
    attacks[f"fgsm@{eps}"] = torchattacks.FGSM(model, eps=eps / 255)
for eps in (1, 4):
    attacks[f"pgd@{eps}"] = torchattacks.PGD(model, eps / 255, 0.15 * eps / 255, steps=20)
right = {name: [0, 0] for name in attacks}
for start in range(0, len(rows), int(batch)):
    part = rows[start : start + int(batch)]
    x = torch.stack([crop(Image.open(path).convert("RGB")) for path, _ in part])
    y = torch.tensor([int(label) for _, label in part])
    for name, attack in attacks.items():
        x_adv = x if attack is None else attack(x, y)
        with torch.no_grad():
            hits = model(x_adv).topk(5).indices == y[:, None]
        right[name][0] += int(hits[:, 0].sum())
        right[name][1] += int(hits.any(1).sum())
print(right)
"""


def cpu_seconds(command: list[str], folder: Path) -> float:
    """User and system time of a process from its start to its end.

    Raises:
        RuntimeError: it failed.
    """
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError((folder / "log").read_text())
    return usage.ru_utime + usage.ru_stime


def photographs(folder: Path) -> Path:
    """PHOTOS of the environment, or the bundled photographs as files in folders of their labels."""
    if "PHOTOS" in os.environ:
        return Path(os.environ["PHOTOS"])
    samples = open_dataset("samples:imagenet")
    for index, label in enumerate(samples.labels):
        file = folder / "photos" / str(label) / f"{index}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        samples.images.picture(index).save(file, quality=95)
    return folder / "photos"


def commands(folder: Path, images: int, batch: int) -> dict[str, list[str]]:
    """The script, and `eval` with the kernels that this torch has; --out is to be added."""
    weights, data = os.environ.get("DEIT", "random:0"), photographs(folder)
    chosen = open_dataset(data, limit=images)
    rows = [f"{data / name} {label}" for name, label in zip(chosen.ids, chosen.labels, strict=True)]
    for name, text in (("suite.yaml", SUITE), ("script.py", SCRIPT), ("rows", "\n".join(rows))):
        (folder / name).write_text(text)
    sizes = [str(batch), str(torch.get_num_threads())]
    ours = [
        *(sys.executable, "run_eval.py", "eval", "--model", f"{MODEL}={weights}"),
        *("--data", str(data), "--limit", str(images), "--suite", str(folder / "suite.yaml")),
        *("--batch-size", sizes[0], "--threads", sizes[1], "--device", "cpu"),
    ]
    script = [sys.executable, str(folder / "script.py"), weights, str(folder / "rows"), *sizes]
    made = {SCRIPT_NAME: script, "eval": ours}
    with suppress(UserError):
        check_kernels("onednn", torch.device("cpu"))
        made["eval --kernels onednn"] = [*ours, "--kernels", "onednn"]
    return made


def measure(*, images: int = 64, batch: int = 8, rounds: int = 1) -> Iterator[Table]:
    """One table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        ways = commands(folder, images, batch)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds):
            for place, (way, command) in enumerate(ways.items()):
                out = [] if way == SCRIPT_NAME else ["--out", str(folder / f"{place}-{number}")]
                seconds[way].append(cpu_seconds([*command, *out], folder))
    rows = [
        [way, f"{median(taken):.1f}", f"{median_ratio(taken, seconds[SCRIPT_NAME]):.3f}"]
        for way, taken in seconds.items()
    ]
    about = (
        f"Clean, FGSM at 6 budgets and PGD-20 at 2, {images} photographs at most, batch {batch}, "
        f"{threads()}, median of {rounds}."
    )
    yield Table("A whole evaluation", ["process", "CPU s", "over the script"], rows, about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))

"""Every command and every Python example in README.md and docs/ works as it is written.

A document's blocks are given to bash, in which `python`, `robustbench-twicing`, `make`, ... only
note how they were called: quoting, continued lines, variables and loops are those of the document.
What was noted is then done in a folder with small stand-ins for what the documents leave open
(``FILE``, ``DIR``, ``RUN...``, see `STANDS_FOR`), each document in one of its own, in order:

- run: all commands but those below; bundled models on two images (`--limit 2`), and SPSA of suite
  `pixel` for one step. The exit status must be 0.
- planned: an `eval` of other models, or under AutoAttack, is `plan` with the same options, which
  reads models, images and conditions, and computes one batch.
- begun: `train` reads its options, data and recipe, up to the first step, and so does `analyze` of
  other models, up to the first image.
- parsed: `verify` and `efficiency`, minutes of work each, are asked for their help, and so is what
  would write into the home folder (`--install-completion`); `make` says what it would do
  (`make -n`); torchrun's own parser reads its arguments, and what it is given to start is checked
  like a command by itself; what `pip install` names must be there.
"""

import json
import re
import shutil
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import typer
from torch.distributed.run import get_args_parser
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

import robustbench_twicing
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.imagenet import subset_indices
from tests.palette import CODE, subset_folders, wnid_folders, write
from tests.robustbench_twicing.data.archives.conftest import member, picture, write_tar
from tests.robustbench_twicing.data.folders.test_devkit import write_devkit

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
PROGRAMS = ("python", "robustbench-twicing", "torchrun", "srun", "scontrol", "make", "pip")
NOTE = '#!/bin/bash\nprintf "%s\\0" "$(basename "$0")" "$@" $\'\\036\' >> "$NOTES"\n'
"""In one write, since some commands are begun in the background: bash writes line by line."""
BLOCK = re.compile(r"(?:^(?: {4}|\t).*\n|^ *\n)+", re.MULTILINE)
INLINE = re.compile(r"`((?:python run_eval\.py|robustbench-twicing) [^`]+)`")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BUNDLED = ["--model", "fmnist_fan=bundled", "--data", "fashion-mnist:test1000"]
STANDS_FOR: dict[str, list[str]] = {
    "...": BUNDLED,
    "RUN...": ["made"],
    "RUN_DIR...": ["made"],
    "RUN": ["made"],
    "RUNS/*": ["made"],
    "runs": ["made"],
    "FILE.yaml": ["paper.yaml"],
    "DIR": ["photos"],
}
"""Words of the documents, and what is typed in their place."""
INSIDE = {
    "deit_base": "deit_tiny",
    "NAME=FILE": "deit_tiny_patch16_224=deit.pth",
    "NAME=CHECKPOINT": "deit_tiny_patch16_224=deit.pth",
    "=FILE2": "=twicing.pth",
    "=FILE": "=deit.pth",
    "=deit_tiny.pth": "=deit.pth",
    "fashion-mnist-train:DIR": "fashion-mnist:test1000",
    "imagenet=DIR": "imagenet=sets/imagenet/val",
    "imagenet-a=DIR": "imagenet-a=sets/imagenet-a",
    "sketch=DIR": "sketch=sets/sketch",
    "/data/imagenet/val": "photos",
}
"""The same inside words."""
SPECIAL = {
    "corrupt": {"...": ["--data", "photos", "--out", "corrupted", "--corruptions", "contrast"]},
    "train": {"...": ["--model", "fmnist_fan", *BUNDLED[2:], "--recipe", "fmnist", "--out", "own"]},
    "transfer": {"RUN": ["saved"], "NAME=FILE": ["fmnist_fan=bundled"]},
    "inspect": {"FILE": ["deit.pth"]},
    "robustbench": {"RUN...": ["board"]},
}
"""The same for one command, or where this word is on the line."""
OPTIONAL = {"NAME": "table1", "FORMAT": "csv", "DIR": "optional", "LABEL": "fmnist_deit"}
"""What stands in brackets, which is typed, too."""


def blocks(document: str) -> Iterator[str]:
    """Scripts: indented blocks in which a program is called, and calls in a line of text."""
    text = (ROOT / document).read_text(encoding="utf-8")
    fenced = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for block in BLOCK.findall(fenced):
        script = textwrap.dedent(block)
        if re.search(rf"^ *({'|'.join(PROGRAMS)}) ", script, re.MULTILINE):
            yield script
    yield from INLINE.findall(fenced)


def calls(script: str, folder: Path) -> list[list[str]]:
    """The programs that a script calls, with their arguments, as bash understands it."""
    programs, notes = folder / "programs", folder / "notes"
    programs.mkdir(exist_ok=True)
    for name in PROGRAMS:
        (programs / name).write_text(NOTE)
        (programs / name).chmod(0o755)
    notes.write_bytes(b"")
    slurm = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "node"}
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "NOTES": str(notes), **slurm}
    ended = subprocess.run(
        ["bash", "-euc", f"{script}\nwait"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, f"{script}\n{ended.stderr}"
    lines = notes.read_text().split("\0\036\0")[:-1]
    return [line.split("\0") for line in lines]


def typed(words: list[str]) -> list[str]:
    """A command's words, with stand-ins for what the document leaves open."""
    command, given = words[0], list[str]()
    special = {key: of for name in SPECIAL if name in words for key, of in SPECIAL[name].items()}
    for before, word in pairwise(words):
        bracket = word.startswith("[") or word.endswith("]")
        plain = word.strip("[]") if bracket and "=" not in word else word
        if bracket and plain in OPTIONAL:
            given.append(OPTIONAL[plain])
        elif before == "--model" and plain == "...":
            given.append("deit_tiny_patch16_224=deit.pth")
        elif before == "--data-root":
            given.append("sets")
        elif plain in special:
            given += special[plain]
        elif plain in STANDS_FOR and before not in ("--out", "-o"):
            given += STANDS_FOR[plain]
        else:
            given.append(
                next((plain.replace(*pair) for pair in INSIDE.items() if pair[0] in plain), plain)
            )
    return [command, *given]


def option(words: list[str], name: str, value: str) -> list[str]:
    """The words with this value of an option, whether it was there or not."""
    if name in words:
        at = words.index(name)
        return [*words[: at + 1], value, *words[at + 2 :]]
    return [*words, name, value]


def check(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what a call of the suite says, in the way that the module's docstring names."""
    words = typed(words)
    command = words[0]
    if command == "--install-completion":
        words = ["--help"]
    elif command in ("verify", "efficiency"):
        words = [command, "--help"]
    elif command == "train":
        words = option(words, "--device", "cpu")
        monkeypatch.setattr("robustbench_twicing.training.session.train", begun)
    elif command == "eval":
        words = option(words, "--device", "cpu")
        if is_small(words) and "autoattack" not in " ".join(words):
            words = option(words, "--limit", "2")
            words += ["--spsa-steps", "1"] if "pixel" in words else []
        else:
            words = ["plan", *words[1:]]
    elif command == "analyze" and is_small(words):
        words = option(words, "--limit", "2")
    elif command == "analyze":
        monkeypatch.setattr("robustbench_twicing.cli.commands.analyze._measure", opened)
    assert main(words) == 0, words


def is_small(words: list[str]) -> bool:
    """Whether all models are bundled ones."""
    models = [word for before, word in pairwise(words) if before == "--model"]
    return all(model.startswith("fmnist_") for model in models)


def opened(*arguments: Any, **options: Any) -> None:
    """In place of measuring, for which models and images were opened; ends the command."""
    del arguments, options
    raise typer.Exit


def begun(*arguments: Any, **options: Any) -> SimpleNamespace:
    """In place of the training, whose options were read."""
    del arguments, options
    return SimpleNamespace(right=None, images=0, weights="model.safetensors")


def program(call: list[str]) -> list[str]:
    """The suite's own words of a call; none of what is checked here and now."""
    name, *words = call
    if name == "make":
        made = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, check=False)
        assert made.returncode == 0, call
    if name == "pip":
        with (ROOT / "pyproject.toml").open("rb") as file:
            extras = tomllib.load(file)["project"]["optional-dependencies"]
        assert words[0] == "install"
        assert re.fullmatch(rf"\.(\[({'|'.join(extras)})\])?", words[-1]), call
    if name == "srun":
        return program(words)
    if name == "torchrun":
        asked = get_args_parser().parse_args(words)
        name, words = "python", [asked.training_script, *asked.training_script_args]
    if name == "python" and words[0] == "run_eval.py":
        return words[1:]
    if name == "python" and words[0] == "-m":
        assert find_spec(words[1]) is not None, call
    return words if name == "robustbench-twicing" else []


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that documents leave open, small."""
    root = tmp_path_factory.mktemp("stand-ins")
    for name, model in {"deit": "deit_tiny", "twicing": "deit_tiny_twicing"}.items():
        network = load_model(f"{model}_patch16_224", checkpoint="random:0").network
        torch.save(network.state_dict(), root / f"{name}.pth")
    shutil.copy(root / "twicing.pth", root / "ckpt.pth")
    bundled = "robustbench_twicing/checkpoints/bundled/fmnist_{}.safetensors"
    shutil.copy(ROOT / bundled.format("deit"), root / "fmnist_deit.safetensors")
    for name in ("deit", "twicing", "neutreno"):
        (root / f"runs/tuned/fmnist_{name}").mkdir(parents=True)
        target = root / f"runs/tuned/fmnist_{name}/model.safetensors"
        shutil.copy(ROOT / bundled.format(name), target)
    with torch.random.fork_rng():
        config = ViTConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768)
        config.num_labels = 1000
        vit = ViTForImageClassification(config)
    vit.save_pretrained(root / "my-vit")
    ViTImageProcessor().save_pretrained(root / "my-vit")
    write(root / "photos", wnid_folders([0, 7]))
    (root / "real.json").write_text(json.dumps({name: [0, 7] for name in wnid_folders([0, 7])}))
    write(root / "imagenet" / "val", wnid_folders([0, 7]))
    write(root / "imagenet" / "train", wnid_folders([0, 7]))
    write_devkit(root)
    names = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 3)]
    members = [member(name, picture(name, seed)) for seed, name in enumerate(names)]
    write_tar(root / "ILSVRC2012_img_val.tar", members)
    few = sorted({*subset_indices("imagenet-a")[:2], *subset_indices("imagenet-r")[:2]})
    write(root / "sets" / "imagenet" / "val", wnid_folders(few))
    for name in ("imagenet-a", "imagenet-r"):
        write(root / "sets" / name, subset_folders(name))
    write(root / "sets" / "sketch", wnid_folders([7, 8]))
    numbers = {f"{number}/x.png": number for number in (2, 10)}
    write(root / "sets" / "imagenetv2-matched-frequency-format-val", numbers)
    facts = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/reports.md").read_text(), re.DOTALL)
    assert facts is not None
    (root / "paper.yaml").write_text(facts[1])
    (root / "model.py").write_text(CODE)
    small = ["--data", "fashion-mnist:test1000", "--limit", "4", "--attacks", "clean,fgsm"]
    deit, fan = (["--model", f"fmnist_{name}=bundled"] for name in ("deit", "fan"))
    saved = [*deit, "--save-adversarial", "4"]
    board = [
        *("--model", "model.py:build", "--label", "vit_s"),
        *("--model", "model.py:build", "--label", "vit_b"),
        *("--data", "photos", "--attacks", "clean,fgsm", "--crop", "8", "--resize", "8"),
    ]
    runs = {"made": [*deit, *fan, *small], "saved": [*saved, *small], "board": board}
    runs |= {"runs/my-vit": [*deit, *small], "runs/a": [*deit, *small], "runs/b": [*fan, *small]}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(root)
        for out, words in runs.items():
            eps = ["--eps", "4/255", "--quiet", "--device", "cpu"]
            assert main(["eval", *words, *eps, "--out", out]) == 0
    return root


@pytest.fixture
def folder(stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a document."""
    for path in stand_ins.iterdir():
        if path.name in ("made", "saved", "runs", "board"):
            shutil.copytree(path, tmp_path / path.name)
        else:
            (tmp_path / path.name).symlink_to(path)
    for name in ("robustbench_twicing", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if any(blocks(name))])
def test_every_command_works_as_it_is_written(
    document: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = [program(call) for script in blocks(document) for call in calls(script, folder)]
    assert checked
    for words in filter(None, checked):
        with monkeypatch.context() as patched:
            check(words, patched)


@pytest.mark.parametrize(
    "document", [name for name in DOCUMENTS if PYTHON.search((ROOT / name).read_text())]
)
def test_every_python_example_works_as_it_is_written(
    document: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(robustbench_twicing.evaluate, limit=2)
    monkeypatch.setattr(robustbench_twicing, "evaluate", few)
    for source in PYTHON.findall((ROOT / document).read_text(encoding="utf-8")):
        names = {"__name__": "example", "paths": [folder / "made"]}
        exec(compile(source, document, "exec"), names)


def test_a_command_that_does_not_work_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (call,) = calls("python run_eval.py eval --model fmnist_fan=bundled \\\n    --sweep 3", folder)
    assert call == [
        "python",
        "run_eval.py",
        "eval",
        "--model",
        "fmnist_fan=bundled",
        "--sweep",
        "3",
    ]
    with pytest.raises(AssertionError, match="--sweep"):
        check(program(call), monkeypatch)
    with pytest.raises(AssertionError, match="syntax error"):
        calls("for x in 1; python run_eval.py models", folder)
    with pytest.raises(AssertionError, match="demno"):
        program(["make", "demno"])

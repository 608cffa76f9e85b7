"""Mistakes of a first day: each is one line that says what is wrong and what to type."""

import shutil
from pathlib import Path

import pytest

from robustbench_twicing.cli.app import main
from tests.palette import wnid_folders, write
from tests.robustbench_twicing.cli.conftest import one_line

pytestmark = pytest.mark.slow

MODEL = "--model fmnist_deit=bundled"
DATA = "--data fashion-mnist:test1000"
BUNDLED = f"{MODEL} {DATA} --limit 2 --device cpu"
WEIGHTS = Path(__file__).parents[3] / "robustbench_twicing" / "checkpoints" / "bundled"
MISTAKES = {
    f"eval {BUNDLED} --eps 8": "'8' is above 1, the whole pixel range; write 8/255",
    f"eval {BUNDLED} --eps 8/256": "'8/256' is 7.969/255; write 8/255",
    f"eval {BUNDLED} --eps -1/255": "'-1/255' is not a number, 0 or more; write it like 4/255",
    f"eval --model fmnist_diet=bundled {DATA}": "'fmnist_diet', here or in timm. Did you mean fmni",
    f"eval --model fmnist_deit {DATA}": "no checkpoint was given for fmnist_deit, and none is",
    f"eval --model fmnist_deit=no.pth {DATA}": "no.pth: there is no such file; give the path of",
    f"eval --model fmnist_fan=deit.safetensors {DATA}": "but fmnist_fan was asked for; ask for fmn",
    f"eval --model fmnist_twicing[3-9]=bundled {DATA}": "[3-9] does not fit: layers count upwards "
    "from 1 to 4; write it like [3-4]",
    f"eval {MODEL} {MODEL} {DATA}": "fmnist_deit is given twice with the same weights; name",
    f"eval {MODEL} --data photos": "fmnist_deit has 10 classes, photos needs 1000",
    f"eval --model deit_tiny_patch16_224=random:0 {DATA}": "has 1000 classes, fashion-mnist:tes"
    "t1000 needs 10; they must be the same classes: give",
    f"eval {MODEL}": "no --data is given; name an image folder, an archive",
    f"eval {DATA}": "no --model is given; name one, like --model",
    f"eval {MODEL} --data nowhere": "nowhere; right are a folder of images",
    f"eval {MODEL} --data empty": "holds no images (.avif, .bmp",
    f"eval {BUNDLED} --attacks pdg": "no attack is called 'pdg'. Did you mean 'pgd'? Known: apgd",
    f"eval {BUNDLED} --protocol papr": "no protocol is called 'papr'. Did you mean 'paper'?",
    f"eval {BUNDLED} --suite quik": "no suite is called 'quik'. Did you mean 'quick'? Known",
    f"eval {BUNDLED} --corruptions fogg": "no corruption is called 'fogg'. Did you mean 'fog'?",
    f"eval {BUNDLED} --corruptions fog --severities 6": "severities '6' are not of 1 to 5, like 3",
    f"eval {MODEL} {DATA} --limit 0": "--limit 0 leaves no image to evaluate; it must be 1 or more",
    f"eval {BUNDLED} --set pgd.step=3": "attack pgd has no constant 'step'; it has: steps",
    f"eval {BUNDLED} --set steps": "--set 'steps' is not ATTACK.CONSTANT=VALUE, like pgd.steps=40",
    f"eval {BUNDLED} --out file.txt": "file.txt exists and is not a run folder; use another --out",
    f"eval {BUNDLED} --attacks clean --out other": "@1/255 is there and not here; give the",
    f"eval {BUNDLED} --batch-size 0": "--batch-size '0' is not a positive number of images",
    f"eval {BUNDLED} --device gpu": "--device 'gpu' is unknown. Known: auto, cpu, cuda",
    "report photos": "photos is not a run folder: it has no run.json; give the --out of an eval",
    "report nowhere": "nowhere: there is no such folder; give the --out of an eval",
    "report other --format pdf": "--format 'pdf' is unknown. Known: console, csv",
    "report other --preset table3": "--preset 'table3' is unknown. Did you mean 'table2'?",
    "report other --rows model --columns condition --values accuracy": "no column 'accuracy'. Did "
    "you mean 'top1'? It has label",
    "report other --rename fmnist_deit": "'fmnist_deit' has no name; write LABEL=NAME",
    "report other --rename fan=FAN": "label 'fan' is unknown. Known: fmnist_deit",
    "report other --plots": "--plots makes files; say with --out in which folder",
    "compare other": "fmnist_deit, has nothing to compare with; give another run, too",
    "compare other --baseline fan": "--baseline 'fan' is unknown. Known: fmnist_deit",
    "inspect no.pth": "no.pth: there is no such file; give the path of a checkpoint",
    "data nowhere": "nowhere; right are a folder of images",
}
"""What is typed, and what the line says: what was asked, what is wrong, what to type."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    write(root / "photos", wnid_folders([0, 7]))
    (root / "empty").mkdir()
    (root / "file.txt").write_text("x")
    shutil.copy(WEIGHTS / "fmnist_deit.safetensors", root / "deit.safetensors")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(root)
        words = "--limit 2 --attacks clean,fgsm --eps 1/255 --device cpu --quiet --out other"
        assert main(["eval", *MODEL.split(), *DATA.split(), *words.split()]) == 0
    return root


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_type(
    command: str, site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    capsys.readouterr()
    assert main(command.split()) == 1
    assert MISTAKES[command] in one_line(capsys)

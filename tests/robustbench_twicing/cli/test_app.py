"""Every mistake ends in one line on standard error, the right status, and no traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import robustbench_twicing
from robustbench_twicing.cli.app import build_app, complain, main
from robustbench_twicing.cli.options.evaluation import OF_IMAGES, OF_LABELS, OF_MODELS
from tests.robustbench_twicing.cli.conftest import Site

UNKNOWN = {
    "--modl x": "No such option: --modl",
    "evil": "No such command 'evil'",
    "eval extra": "unexpected extra argument",
    "eval --batchsize 3": "No such option: --batchsize",
    "eval --eps": "'--eps' requires an argument",
    "-x": "No such option: -x",
    "report --presets table1 x": "No such option: --presets",
}


UNKNOWN |= {
    "corrupt --adapter x": "No such option: --adapter; corrupt does without it, and it is",
    "data x --on-bad-image skip": "data does without it, and it is of eval, plan, analyze",
    "train --limit 3": "--limit; train does without it, and it is of eval, plan, ",
}


@pytest.mark.parametrize("arguments", UNKNOWN)
def test_what_is_unknown_is_status_2(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 2
    check_one_line(capsys.readouterr().err, UNKNOWN[arguments])


def check_one_line(err: str, words: str) -> None:
    assert len(err.splitlines()) == 1, err
    assert err.startswith("robustbench-twicing: ")
    assert words in err
    assert "Traceback" not in err


def test_commands_take_the_same_options_about_images_and_models() -> None:
    commands = typer.main.get_command(build_app()).commands  # type: ignore[attr-defined]
    takes = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in commands.items()
    }
    of_images, of_labels, of_models = (
        {f"--{name.replace('_', '-')}" for name in names}
        for names in (OF_IMAGES, OF_LABELS, OF_MODELS)
    )
    for command in ("eval", "plan", "analyze", "verify", "data", "corrupt", "inspect"):
        assert of_images <= takes[command], command
    assert of_labels <= takes["train"]
    for command in ("eval", "plan", "analyze", "verify", "transfer"):
        assert of_models <= takes[command], command
    assert of_models - takes["efficiency"] == {"--adapter"}


WITHOUT_SITE = {
    "eval": "no --model is given; name one, like --model",
    "eval --model x": "no --data is given; name an image folder",
    "report": "Missing argument RUN_DIRS of report: Run folders, as written by eval",
    "report nowhere": "nowhere: there is no such folder; give the --out of an eval",
    "report nowhere --preset table3": "'table3' is unknown. Did you mean 'table2'? Known: fe",
    "report nowhere --preset table1 --rows label": "--preset is a whole table; leave out --rows",
    "report nowhere --mark most": "--mark 'most' is unknown. Known: best, significant, none",
    "report nowhere --eps 1/255": "--eps chooses the budgets of --preset layers or table1",
    "report x --preset table1 --eps apgd=1/255": "the table has pgd, fgsm, spsa, not 'apgd'",
    "report x --preset table1 --eps 4": "is above 1, the whole pixel range; write 4/255",
    "report x --preset efficiency --normaliser y": "shows none; leave --normaliser out",
    "report nowhere --preset efficiency": "no efficiency.csv at nowhere; make one with",
    "compare": "Missing argument RUN_DIRS of compare: Run folders, as written by eval. See compare",
    "corrupt": "Missing option --data of corrupt: Image folder, .tar, ",
    "compare nowhere": "nowhere: there is no such folder",
    "report nowhere --format pdf": "--format 'pdf' is unknown. Known: console, csv, md, ",
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", WITHOUT_SITE)
def test_a_mistake_is_status_1(
    arguments: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 1
    check_one_line(capsys.readouterr().err, WITHOUT_SITE[arguments])


MISTAKES = {
    "--batch-size 0": "--batch-size '0' is not a positive number of images, nor auto",
    "--batch-size many": "--batch-size 'many' is not a positive number",
    "--device tpu": "--device 'tpu' is unknown. Known: auto, cpu, cuda",
    "--device cpu:3": "--device 'cpu:3' is unknown",
    "--threads 0": "--threads 0 is not a positive number",
    "--shard 1": "--shard '1' is not I/N, like 1/4",
    "--shard 0/2": "--shard 0/2 is not I/N with 1 <= I <= N",
    "--shard 3/2": "--shard 3/2 is not I/N with 1 <= I <= N",
    "--shard ²/2": "--shard '²/2' is not I/N",
    "--shard -1/2": "--shard '-1/2' is not I/N",
    "--on-bad-image ignore": "--on-bad-image 'ignore' is unknown. Known: stop, skip",
    "--attacks fgms": "no attack is called 'fgms'. Did you mean 'fgsm'?",
    "--attacks clean,,pgd": "no attack is called ''",
    "--attacks pgd,pgd": "condition pgd@0.5/255 is asked for twice",
    "--attacks clean,clean": "condition clean is asked for twice",
    "--eps 4": "is above 1, the whole pixel range; write 4/255",
    "--eps 4/255,": "empty entry",
    "--eps -1/255": "is not a number, 0 or more",
    "--eps 8/255:0:1/255": "has no budgets",
    "--suite fast": "no suite is called 'fast'. Known:",
    "--suite nowhere.yaml": "there is no suite file nowhere.yaml. Known:",
    "--protocol l1": "no protocol is called 'l1'",
    "--suite paper --protocol pixel": "--suite paper is protocol paper, --protocol says pixel",
    "--set pgd.steps": "--set 'pgd.steps' is not ATTACK.CONSTANT=VALUE",
    "--set pgd.stepz=3": "attack pgd has no constant 'stepz'; it has: steps",
    "--set pgd.steps=many": "pgd.steps=many is not a whole number, like 20",
    "--set pgd.steps=0": "pgd.steps=0 is not a finite number of at least 1",
    "--set pgd.rel_step=nan": "pgd.rel_step=nan is not a finite number of at least 0",
    "--set pgd.random_start=2": "pgd.random_start=2 is not true or false",
    "--set spsa.steps=3": "a constant of spsa is set, but spsa is not among the attacks",
    "--set spsa.estimate_at=here --attacks spsa": "=here is not iterate or twice-the-image",
    "--mean 1,2": "mean",
    "--resize 4": "resize 4 and crop 8 do not fit",
    "--interpolation cubic": "interpolation 'cubic' is unknown. Did you mean 'bicubic'?",
    "--normalize 1,1,1": "--normalize '1,1,1' is not MEAN/STD; write imagenet or r,g,b/r,g,b",
    "--normalize 0,0,0/0,0,0": "std (0.0, 0.0, 0.0) must be positive",
    "--normalize a/b": "--normalize 'a' is not three numbers",
    "--limit 0": "limit",
    "--label a --label b": "2 --label for 1 --model; give one for each",
    "--labels nowhere.csv": "nowhere.csv",
    "--classes nowhere.txt": "nowhere.txt",
    "--num-classes 0": "--num-classes 0 is not a positive number",
    "--weights best": "--weights 'best' is unknown. Known: auto, plain, ema",
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", MISTAKES)
def test_a_bad_value_of_eval_and_of_plan_is_status_1(
    arguments: str, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval(*arguments.split()) == 1
    first = capsys.readouterr().err
    check_one_line(first, MISTAKES[arguments])
    assert not (site.root / "run").exists()
    plan = ["plan", "--model", site.model, "--data", str(site.data), "--crop", "8"]
    assert main([*plan, *arguments.split()]) == 1
    assert capsys.readouterr().err == first


MODELS = {
    "deit_tny_patch16_224": "Did you mean deit_tiny_patch16_224",
    "deit_tiny_patch16_224=nowhere.pth": "nowhere.pth",
    "timm:no_such_net": "no_such_net",
    "{root}/nowhere.py:build": "there is no file",
    "{root}/network.py:bild": "there is no bild in",
    "{root}/network.py:broken": "RuntimeError: no weights",
    "{root}/network.py:nan": "logits are not finite (NaN or infinity) in ",
    "{root}/network.py:NETWORK": "there is no NETWORK",
    "deit_tiny_patch16_224[10-99]": "10-99",
    "": "model",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_cannot_be_had_is_status_1(
    name: str, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = site._replace(model=name.format(root=site.root))
    assert wrong.eval("--crop", "224") == 1
    err = [line for line in capsys.readouterr().err.splitlines() if "run folder:" not in line]
    check_one_line("\n".join(err), MODELS[name])


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("deit_tiny_patch16_224", ["FILE", "pretrained", "random:0"]),
        ("deit_tiny_twicing_patch16_224", ["FILE", "random:0"]),
        ("fmnist_deit", ["bundled", "FILE", "random:0"]),
    ],
)
def test_a_missing_checkpoint_says_what_to_type(
    name: str, ways: list[str], site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site._replace(model=name).eval("--crop", "224") == 1
    err = capsys.readouterr().err
    check_one_line(err, f"no checkpoint was given for {name}, and none is implied; write {name}=")
    assert re.findall(rf"{name}=([\w:]+)", err) == ways, "what fits best comes first"


@pytest.mark.slow
def test_a_model_given_twice_is_called_that(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--model", site.model) == 1
    words = f"--model {site.model} is given twice with the same weights; name it once, or give each"
    check_one_line(capsys.readouterr().err, words)


DATA = {
    "nowhere": "; right are a folder of images, a .tar or .parquet of them, NAME=FOLDER of a known",
    "imagenet_a": "no data at {root}/imagenet_a; did you mean imagenet-a=FOLDER? right are",
    "fashion-mnist": "; did you mean fashion-mnist:test1000? right are",
    "samples": "; did you mean samples:imagenet? right are",
    "emtpy": "; did you mean empty? right are",
    "network.py": "network.py is a single file",
    "samples:cifar": "no samples are called 'samples:cifar'; there is samples:imagenet",
    "empty": "holds no images",
}


@pytest.mark.parametrize("name", DATA)
def test_data_that_cannot_be_had_are_status_1(
    name: str, site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site.root)
    (site.root / "empty").mkdir()
    command = ["eval", "--model", site.model, "--data", name, "--out", "run"]
    assert main(command) == 1
    check_one_line(capsys.readouterr().err, DATA[name].format(root=site.root))


@pytest.mark.slow
@pytest.mark.parametrize("out", ["photos", "network.py", "network.py/run"])
def test_a_run_folder_that_cannot_be_is_status_1(
    out: str, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval(out=out) == 1
    assert "use another --out" in capsys.readouterr().err.splitlines()[-1]


def test_two_checkpoints_for_one_model_contradict(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    named = site._replace(model="deit_tiny_patch16_224=a.pth")
    assert named.eval("--checkpoint", "b.pth", "--crop", "224") == 1
    check_one_line(capsys.readouterr().err, "names a checkpoint, and --checkpoint another one")


@pytest.mark.slow
def test_two_models_of_one_label_are_refused(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--model", site.model, "--label", "a", "--label", "a") == 1
    check_one_line(capsys.readouterr().err, "two models would be called 'a'")


def test_a_bug_keeps_its_traceback(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from robustbench_twicing.evaluation.standing import look

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(look, "make_manifest", lambda *_, **__: fail())
    with pytest.raises(ZeroDivisionError):
        site.eval()


@pytest.mark.slow
def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert "Usage" in out
    assert err == ""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["eval", "--help"]])
def test_help_is_status_0(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    assert capsys.readouterr().out.strip() == robustbench_twicing.__version__


def test_a_message_of_several_lines_becomes_one(capsys: pytest.CaptureFixture[str]) -> None:
    complain("one\n  two\tthree")
    assert capsys.readouterr().err == "robustbench-twicing: one two three\n"


def test_the_script_says_which_python_has_what_it_needs() -> None:
    script = Path(__file__).parents[3] / "run_eval.py"
    done = subprocess.run(
        [sys.executable, "-S", str(script), "--help"],  # -S: none of the installed packages
        env={"PYTHONPATH": str(script.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{sys.executable} has no module typer; after `make demo`" in done.stderr


@pytest.mark.slow
def test_the_script_gives_the_status_to_the_shell(tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "run_eval.py"
    done = subprocess.run(
        [sys.executable, str(script), "evil"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    check_one_line(done.stderr, "No such command 'evil'")

"""A user's own attack goes by its function's name, unless two would have one name."""

import pandas as pd
import pytest

from reports.text.condition_names import by_function, with_short_names


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("clean", "clean"),
        ("pgd@4/255", "pgd@4/255"),
        ("pgd@l2:0.5", "pgd@l2:0.5"),
        ("mine.py:tilt@4/255", "tilt@4/255"),
        ("a/b c/mine.py:tilt@l2:0.5", "tilt@l2:0.5"),
        ("package.module:tilt@1/255", "tilt@1/255"),
        ("torchattacks:PGD@4/255", "torchattacks:PGD@4/255"),
        ("foolbox:L2PGD@l2:1", "foolbox:L2PGD@l2:1"),
        ("imagenet-c/fog/3", "imagenet-c/fog/3"),
        ("transfer/deit/fgsm:4/255", "transfer/deit/fgsm:4/255"),
    ],
)
def test_what_a_condition_is_called(condition: str, shown: str) -> None:
    assert by_function([condition]) == {condition: shown}


def test_two_functions_of_one_name_keep_their_files() -> None:
    names = ["a.py:tilt@1/255", "b.py:tilt@1/255", "a.py:other@1/255"]
    assert list(by_function(names).values()) == [*names[:2], "other@1/255"]
    assert by_function(["tilt@1/255", "a.py:tilt@1/255"])["a.py:tilt@1/255"] == "a.py:tilt@1/255"


def test_rows_of_several_models_have_one_name() -> None:
    table = pd.DataFrame({"label": ["x", "y"], "condition": ["a.py:tilt@1/255"] * 2})
    assert with_short_names(table)["condition"].tolist() == ["tilt@1/255"] * 2
    assert table["condition"].tolist() == ["a.py:tilt@1/255"] * 2

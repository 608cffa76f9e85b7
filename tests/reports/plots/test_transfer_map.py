"""The map of transfers shows every pair once, and hatches what is not known."""

import numpy as np
import pandas as pd

from reports.plots.transfer_map import transfer_pictures

RATES = pd.DataFrame(
    {
        "dataset": "val",
        "protocol": "pixel",
        "attack": "pgd@4/255",
        "source": ["a", "a", "b"],
        "target": ["a", "b", "b"],
        "top1": [5.0, 61.0, 12.5],
        "rate": [95.0, 30.0, np.nan],
        "control_top1": [np.nan, 80.0, 80.0],
    }
)


def test_sources_are_down_and_targets_across() -> None:
    (picture,) = transfer_pictures(RATES)
    assert picture.name == "transfer-pgd-4-255"
    top1, rate = picture.figure.axes
    assert [text.get_text() for text in top1.get_yticklabels()] == ["a", "b", "random noise"]
    assert [text.get_text() for text in top1.get_xticklabels()] == ["a", "b"]
    cells = [
        {text.get_position(): text.get_text() for text in ax.texts if text.get_text()}
        for ax in (top1, rate)
    ]
    assert cells[0] == {(0, 0): "5.0", (1, 0): "61.0", (1, 1): "12.5", (1, 2): "80.0"}
    assert cells[1] == {(0, 0): "95.0", (1, 0): "30.0"}
    assert [len(ax.patches) for ax in (top1, rate)] == [2, 2]
    assert "a on b: top-1 61.0, transfer rate 30.0" in picture.alt
    assert "b on b: top-1 12.5." in picture.alt


def test_attacks_have_pictures_of_their_own() -> None:
    both = pd.concat([RATES, RATES.assign(attack="fgsm@4/255", dataset="other")])
    names = [picture.name for picture in transfer_pictures(both)]
    assert names == ["transfer-pgd-4-255-val", "transfer-fgsm-4-255-other"]

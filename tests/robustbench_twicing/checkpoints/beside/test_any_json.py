"""Whatever JSON lies beside weights is understood, or refused by a UserError."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robustbench_twicing.checkpoints.beside.adapter import merge_adapter
from robustbench_twicing.checkpoints.beside.config_file import read_expected
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError

NUMBERS: Any = st.integers() | st.floats() | st.sampled_from([0.9, 224])
SCALARS = NUMBERS | st.none() | st.booleans() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
SIDES = st.dictionaries(st.sampled_from(["height", "width", "shortest_edge"]), NUMBERS)
CONFIG = ("mean", "std", "crop_pct", "crop_mode", "input_size", "image_size", "interpolation")
NETWORK = ("architecture", "model_type", "id2label", "num_classes", "pretrained_cfg")
PROCESSOR = (
    *("image_mean", "image_std", "size", "crop_size", "crop_pct", "resample", "do_resize"),
    *("do_normalize", "do_rescale", "rescale_factor", "do_center_crop", "image_processor_type"),
)
ADAPTER = ("lora_alpha", "alpha_pattern", "use_rslora", "init_lora_weights", "use_dora")


def objects(*names: str) -> Any:
    return st.dictionaries(st.sampled_from(names), VALUES | SIDES, max_size=6)


@settings(deadline=None, max_examples=100)
@given(objects(*CONFIG, *NETWORK), objects(*PROCESSOR))
@example({"mean": [float("nan")] * 3, "std": [0.0]}, {"size": {"shortest_edge": 10**400}})
@example({"crop_pct": 1e-320, "input_size": [3, 224, 224]}, {"rescale_factor": 1e-320})
def test_configurations(config: Any, processor: Any) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
        with suppress(UserError):
            expected = read_expected(folder)
            Preprocessing(224, 224).by_request(expected.for_crop(224))


MATRICES = {"a.lora_A.weight": torch.ones(1, 2), "a.lora_B.weight": torch.ones(3, 1)}


@settings(deadline=None, max_examples=50)
@given(objects(*ADAPTER))
def test_configurations_of_adapters(config: Any) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        torch.save(MATRICES, folder / "adapter_model.bin")
        (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", **config}))
        with suppress(UserError):
            merge_adapter({"a.weight": torch.zeros(3, 2)}, folder, "FILE")

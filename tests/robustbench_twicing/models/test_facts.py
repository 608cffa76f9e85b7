"""Parameters, state-dict keys and multiply-adds of every name, as the papers' models have them."""

import pytest

from robustbench_twicing.models.facts import model_facts
from robustbench_twicing.models.table import MODELS

pytestmark = pytest.mark.slow

FACTS = {
    "deit_tiny_patch16_224": (5_717_416, 152, "1.254"),
    "deit_small_patch16_224": (22_050_664, 152, "4.599"),
    "deit_base_patch16_224": (86_567_656, 152, "17.56"),
    "deit_base_patch16_384": (86_859_496, 152, "55.48"),
    "deit_tiny_distilled_patch16_224": (5_910_800, 155, "1.261"),
    "deit_small_distilled_patch16_224": (22_436_432, 155, "4.624"),
    "deit_base_distilled_patch16_224": (87_338_192, 155, "17.66"),
    "deit_base_distilled_patch16_384": (87_630_032, 155, "55.59"),
    "deit_tiny_neutreno_patch16_224": (5_717_416, 152, "1.254"),
    "deit_small_neutreno_patch16_224": (22_050_664, 152, "4.599"),
    "deit_base_neutreno_patch16_224": (86_567_656, 152, "17.56"),
    "deit_tiny_featscale_patch16_224": (5_722_024, 176, "1.254"),
    "deit_small_featscale_patch16_224": (22_059_880, 176, "4.599"),
    "deit_base_featscale_patch16_224": (86_586_088, 176, "17.56"),
    "deit_tiny_attnscale_patch16_224": (5_717_452, 164, "1.254"),
    "deit_small_attnscale_patch16_224": (22_050_736, 164, "4.599"),
    "deit_base_attnscale_patch16_224": (86_567_800, 164, "17.56"),
    "deit_tiny_twicing_patch16_224": (5_717_416, 152, "1.343"),
    "deit_small_twicing_patch16_224": (22_050_664, 152, "4.778"),
    "deit_base_twicing_patch16_224": (86_567_656, 152, "17.92"),
    "our_small_24": (43_344_232, 296, "9.140"),
    "our_base_24": (171_622_120, 296, "35.01"),
    "featscale_small_24": (43_362_664, 344, "9.140"),
    "featscale_base_24": (171_658_984, 344, "35.01"),
    "attnscale_small_24": (43_344_376, 320, "9.140"),
    "attnscale_base_24": (171_622_408, 320, "35.01"),
    "fan_tiny_12_p16_224": (7_319_920, 439, "1.475"),
    "fan_small_12_p16_224": (28_345_336, 439, "5.460"),
    "fan_base_18_p16_224": (54_350_320, 625, "10.66"),
    "fan_large_24_p16_224": (80_574_100, 811, "15.96"),
    "fan_small_12_p16_224_se_attn": (27_452_440, 427, "5.113"),
    "fan_tiny_8_p4_hybrid": (7_467_240, 355, "3.639"),
    "fan_small_12_p4_hybrid": (26_117_944, 417, "6.986"),
    # The published code computes A v once more than it needs; these three are without it.
    "fan_base_16_p4_hybrid": (50_475_048, 603, "11.77"),
    "fan_large_16_p4_hybrid": (76_855_140, 807, "17.69"),
    "fan_Xlarge_16_p4_hybrid": (120_407_316, 860, "21.10"),
    "fan_tiny_12_p16_224_twicing": (7_319_920, 439, "1.564"),
    "fan_small_12_p16_224_twicing": (28_345_336, 439, "5.637"),
    "fan_base_18_p16_224_twicing": (54_350_320, 625, "10.97"),
    "fan_large_24_p16_224_twicing": (80_574_100, 811, "16.40"),
    "fan_small_12_p16_224_se_attn_twicing": (27_452_440, 427, "5.290"),
    "fan_tiny_8_p4_hybrid_twicing": (7_467_240, 355, "3.698"),
    "fan_small_12_p4_hybrid_twicing": (26_117_944, 417, "7.133"),
    # A twicing average costs what the published code wastes, so these are the published figures.
    "fan_base_16_p4_hybrid_twicing": (50_475_048, 603, "12.05"),
    "fan_large_16_p4_hybrid_twicing": (76_855_140, 807, "18.09"),
    "fan_Xlarge_16_p4_hybrid_twicing": (120_407_316, 860, "21.51"),
    "fmnist_deit": (207_114, 56, "0.01126"),
    "fmnist_neutreno": (207_114, 56, "0.01126"),
    "fmnist_featscale": (207_626, 64, "0.01126"),
    "fmnist_attnscale": (207_122, 60, "0.01126"),
    "fmnist_twicing": (207_114, 56, "0.01190"),
    "fmnist_fan": (207_054, 179, "0.00846"),
    "fmnist_fan_twicing": (207_054, 179, "0.00893"),
}
"""Name -> parameters, state-dict keys, GMACs at native size to the printed digits."""


def test_every_name_is_counted() -> None:
    wanted = "give each new model a row in FACTS: parameters, keys, GMACs"
    assert FACTS.keys() == MODELS.keys(), wanted


@pytest.mark.parametrize("name", FACTS)
def test_sizes_are_those_of_the_papers_models(name: str) -> None:
    parameters, keys, gmacs = FACTS[name]
    facts = model_facts(name)
    assert facts.parameters == parameters
    assert facts.state_keys == keys
    digits = len(gmacs.partition(".")[2])
    assert f"{facts.gmacs:.{digits}f}" == gmacs


def test_each_twicing_layer_costs_one_more_product() -> None:
    plain, three = (
        model_facts(f"deit_tiny_{name}").gmacs
        for name in ("patch16_224", "twicing_patch16_224[10-12]")
    )
    assert three - plain == pytest.approx(3 * 197 * 197 * 192 / 1e9)


def test_timm_models_are_counted_too() -> None:
    assert model_facts("timm:deit_tiny_patch16_224") == model_facts("deit_tiny_patch16_224")

"""Flags in one sentence each."""

import re

_EXPLANATIONS = {
    r"random-weights": "the network was never trained; its numbers say nothing about a model.",
    r"arch-override": "the checkpoint's own architecture name is another one; loaded all the same.",
    r"limit-(\d+)-of-(\d+)": "a seeded subset of {0} of the {1} images, not the whole data set.",
    r"batch-halved": "memory ran out and batches were split; numbers agree but for rounding.",
    r"(\w+)=(.+)": "the attack's constant {0} is {1} here, which is not the protocol's.",
    r"files-left-out": "some files of the data folder were left out; the manifest lists them.",
}


def explain_flag(flag: str) -> str:
    """One sentence on what a flag means for the number beside it."""
    for pattern, sentence in _EXPLANATIONS.items():
        found = re.fullmatch(pattern, flag)
        if found:
            return sentence.format(*found.groups())
    return "see the manifest (run.json)."

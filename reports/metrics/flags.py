"""Flags in one sentence each, the gravest first."""

import re
from typing import Literal

from robustbench_twicing.files.printable import one_line

Amount = Literal["full", "short", "none"]
"""Of notes: all of them; without those on models and attacks; none."""
Topic = Literal["images", "corruptions", "models", "reading", "runs"]
"""What a flag or a note is about: images and attacks, corruptions, ..., how numbers are meant."""

_MEANINGS = {
    r"random-weights": "the network was never trained; its numbers say nothing about a model.",
    r"arch-override": "the checkpoint's own architecture name is another one; loaded all the same.",
    r"classes-unnamed": "config.json beside the weights names no classes of ImageNet: that they "
    "stand in ImageNet's order is assumed, and in another one answers score as chance.",
    r"corrupted-as-clean": "the folder is named like ImageNet-C's or CIFAR-C's: images that are "
    "corrupted already, counted as clean ones.",
    r"five-severities": "the array holds the same images five times over, as CIFAR-C's do: they "
    "are corrupted, and not clean images.",
    r"training-images": "the images seem to be training images, on which accuracy says nothing.",
    r"labels-from-1": "the labels are 1, 2, 3, ... and never 0, as if counted from 1: then every "
    "answer is compared with the next class.",
    r"labels-0-to-(\d+)": "the labels are the numbers 0 to {0} alone, as classes of one's own have "
    "them, and count as the first classes of ImageNet.",
    r"labels-of-other-classes": "ImageNet's validation images are given other classes than theirs, "
    "as by the devkit's own numbers: the accuracy says nothing.",
    r"several-labels": "an answer is right where it is any of several labels of the image: not to "
    "be compared with accuracy under one label.",
    r"unlabelled-(\d+)-of-(\d+)": "images without a label, which were left out: {0} of {1}.",
    r"wnids-unsorted": "the class list numbers wnids in another order than their own: right only "
    "for a network that was trained in this order.",
    r"tiny-images-(\d+)px": "no image is larger than {0} pixels, and they were enlarged to the "
    "network's input: not to be compared with accuracies on photographs.",
    r"cropped-before-(\d+)px": "every image is {0} pixels square, as if resized and cropped "
    "before; the second crop took another border off.",
    r"copies-(\d+)": "files that are copies of another one, byte for byte, and count twice: {0}.",
    r"names-twice-(\d+)": "names with more than one ending, each of which counts as an image: {0}.",
    r"exif-orientation-(\d+)-of-(\d+)": "images with an EXIF orientation: {0} of {1} that were "
    "looked at; as in torchvision and timm, TIFF is turned upright, and others are not.",
    r"dangling-links-(\d+)": "links in the data folder that lead to nothing, so that images or "
    "whole classes are missing: {0}.",
    r"hidden-(\d+)": "entries of the data folder whose names begin with a dot, left out: {0}.",
    r"limit-(\d+)-of-(\d+)": "a seeded subset of {0} of the {1} images, not the whole data set.",
    r"saved-(\d+)-of-(\d+)": "adversarial images were saved of {0} of the {1} images, and the "
    "number is over these alone.",
    r"few-images-(\d+)": "corruption errors, mCE and their relatives are of few images ({0}), too "
    "few to be compared with published numbers, which are of 50,000.",
    r"not-deterministic": "two equal forward passes gave different logits: the network draws "
    "random numbers, so top-1 is of one draw, under attacks on changing gradients; --draws N "
    "scores N of them, and --expectation N takes the mean gradient of N; AutoAttack's version for "
    "such networks is --set autoattack.version=rand.",
    r"draws-equal": "the network gave equal logits in all draws of --draws: it draws no random "
    "numbers, and the draws say nothing that one of them does not.",
    r"gradient-not-deterministic": "two equal backward passes gave different gradients: attacks "
    "follow noise, so the accuracy is not evidence of robustness.",
    r"batch-dependent": "an image's logits depend on the images beside it: the number is one of "
    "this batch size and order, and an attack moves other images' answers, too.",
    r"gradient-mode-dependent": "the network answers otherwise where gradients are wanted: attacks "
    "climb the loss of one function, and the score is another's.",
    r"changes-itself": "the network changes its own parameters or buffers while it computes: the "
    "number is one of this order of images, and of all that was computed before.",
    r"gradient-batch-dependent": "the gradient of an image alone is not the one that it has beside "
    "others, though its logits are: attacks of another batch size are other attacks.",
    r"first-order-(.+)": "a short step along the gradient's sign changes the margin by {0} of what "
    "the gradient predicts (an honest network is near 1): attacks follow it nowhere, and the "
    "accuracy under them is not evidence of robustness.",
    r"gradient-misses-(.+)": "{0} of what random short steps change is nothing that the gradient "
    "knows of: it is that of a part of the network or of the picture, and attacks are too weak.",
    r"at-chance": "on clean images the answers are no better than guesses: look at labels, pixel "
    "scale, order of channels, mean and std before anything else.",
    r"looks-like-labels-plus-1": "with the label minus one many images would be right: the labels "
    "count from 1.",
    r"looks-like-labels-minus-1": "with the label plus one many images would be right: the network "
    "has a class before all others, like background, or the labels lost one.",
    r"looks-like-classes-in-another-order": "each class is mostly taken for one other: the network "
    "has learned the same classes in another order.",
    r"looks-like-pixels-0-to-255": "many more images are right if the network is given "
    "pixels from 0 to 255.",
    r"looks-like-divided-by-255-twice": "many more images are right if its input is "
    "multiplied by 255: the network divides by 255 itself.",
    r"looks-like-normalised-twice": "many more images are right without mean and std: the "
    "network subtracts and divides itself; give its own, or load it as one that takes pixels.",
    r"looks-like-no-mean-and-std(.*)": "many more images are right with mean and std{0} "
    "(ImageNet's, unless it says 0.5), which the network was not given.",
    r"looks-like-mean-and-std-of-0.5": "many more images are right with a mean and std of "
    "0.5, which are not those that were used.",
    r"looks-like-channels-in-bgr-order": "many more images are right with blue before red.",
    r"logits-in-(.+)": "the logits are numbers of {0}, with two or three digits: near ties are "
    "decided by rounding, and gradients are coarse.",
    r"coarse-logits": "the logits of an image differ by few steps of their number format, because "
    "of a large number that all have in common: near ties are decided by rounding.",
    r"ties-at-the-top": "at some images the two largest logits are equal, and the lower class "
    "counts as the answer.",
    r"probabilities": "the network returns probabilities in place of logits: the loss that attacks "
    "raise applies softmax a second time, which flattens its gradients.",
    r"zero-gradient-(.+)": "the loss gradient is exactly zero at {0} of the images, so gradient "
    "attacks go nowhere there; the accuracy is not evidence of robustness.",
    r"loss-not-higher": "the attack did not raise the mean loss of the images that were right "
    "before: it did not work, or, where it returns the clean image unless it succeeds, it found "
    "next to nothing at this budget.",
    r"unbroken-at-large-budget": "a gradient attack with at least 64/255 leaves many images right, "
    "which points to masked gradients.",
    r"accuracy-not-lower": "a gradient attack with at least 8/255 leaves as many images right as "
    "there were before it, which points to masked or misleading gradients.",
    r"budget-not-used-(.+)": "no pixel of the images that stayed right was moved by more than {0} "
    "of the budget: the steps are too few or too short, and the attack could be stronger.",
    r"8bit-(.+)-of-(.+)-right": "rounding the adversarial images to 8 bits changes how many of a "
    "sample of {1} are right by {0}: as files they would score differently.",
    r"8bit-(.+)-right": "rounding the adversarial images to 8 bits changes how many are right by "
    "{0}: as files they would score differently.",
    r"no-targeted-dlr": "the network has fewer than four classes, for which APGD-T has no loss "
    "(targeted DLR): AutoAttack ran without that part.",
    r"no-dlr": "the network has fewer than three classes, for which the DLR loss does not exist: "
    "AutoAttack ran without that part.",
    r"fewer-goals-than-(\d+)": "the network has fewer than {0} classes beside the label, and the "
    "targeted attack tried them all.",
    r"saturated-(.+)": "at {0} of the images float32 takes the true class's probability for 1, "
    "where gradients vanish.",
    r"not-monotone": "accuracy is higher than at a smaller budget of the same attack, whose images "
    "were allowed here, too: the attack could be stronger.",
    r"radius-above-sweep-(.+)": "the search is too weak at some images ({0}): the nearest "
    "example that it found is farther than a budget at which another attack fooled the model.",
    r"fgsm-beats-pgd": "one step of FGSM fooled more images than PGD at the same budget: PGD "
    "is too weak here.",
    r"black-box-beats-white-box": "an attack that uses only logits (SPSA) fooled more images than "
    "the gradient attack: the gradients mislead.",
    r"noise-as-strong": "random noise of the same budget fools as many images as the attack.",
    r"top1-only": "an image that one attack broke was not scored under another, so that its top-5 "
    "in the worst case is not known; top-1 is exact.",
    r"mixed-seeds": "the attacks are of runs with unlike seeds (the constants of the condition say "
    "which).",
    r"attack-in-(.+)": "the attack computed its passes in {0}, which makes it a little weaker; the "
    "score is in fp32.",
    r"mixed-versions": "processes with different versions of Python, of packages or of this suite "
    "worked on the run (a note says which): its images were not all computed alike.",
    r"mixed-machines": "unlike processors worked on the run (a note says which), and they round "
    "differently.",
    r"batch-halved": "memory ran out and batches were split: this suite's attacks agree but for "
    "rounding, attacks of other libraries drew other random numbers.",
    r"([^=]+)=(.+)": "the attack's constant {0} is {1} here, which is not the protocol's.",
    r"files-missing-(.+)-of-(.+)": "images without a file in the corrupted folder: {0} of {1}; the "
    " condition is incomplete and not scored.",
    r"same-images-as-(.+)": "every image is the one of {0}, pixel for pixel: the files of one of "
    "the two are not what their folder says.",
    r"not-imagenet-c-enlarged-(.+)px": "the images are {0} pixels (shorter side) and were enlarged "
    "before they were corrupted: not ImageNet-C, and not to be compared with its numbers.",
    r"not-imagenet-c-(.+)-classes": "the corrupted images are of {0} classes, not ImageNet's "
    "1000: not ImageNet-C, and not to be compared with its numbers.",
    r"not-imagenet-c-(.+)px": "corrupted at {0} pixels, not at 224: not ImageNet-C, and not to be "
    "compared with its numbers.",
    r"(1000)-way": "the same images scored over all {0} logits, which is not the number that "
    "papers report for this data set.",
    r"(\d+)-way": "scored over the {0} classes of the test set that is named alone; the other "
    "logits are left out.",
    r"mapped-(.+)": "scored over all 1000 logits; answers are mapped to {0} classes by the data "
    "set's own mapping.",
    r"classes-of-(.+)": "the folder's classes are exactly {0}'s, but it was not named so: this "
    "is the score over 1000 logits, and its images may not be clean ones.",
    r"variant-(.+)": "ImageNet-V2's variant {0}; papers mean matched-frequency.",
    r"worst-of-1": "at this budget, or a smaller one, only one attack was run.",
    r"worst-of-(\d+)": "{0} attacks were run at this budget or a smaller one.",
    r"non-finite-tokens-(\d+)": "images with a token of this layer that is no finite number: "
    "{0}; the mean is over the others.",
    r"files-left-out-(\d+)": "files of the data folder that were left out: {0}; the manifest lists "
    "them.",
    r"files-left-out": "some files of the data folder were left out; the manifest lists them.",
}


def explain_flag(flag: str) -> str:
    """One sentence on what a flag means for the number beside it."""
    for pattern, sentence in _MEANINGS.items():
        match = re.fullmatch(pattern, flag)
        if match:
            return sentence.format(*match.groups())
    return "see the manifest (run.json)."


def by_weight(flag: str) -> tuple[int, str]:
    """A key to sort flags by: what makes a number worthless first, what is a mere remark last."""
    for place, pattern in enumerate(_MEANINGS):
        if re.fullmatch(pattern, flag):
            return place, flag
    return len(_MEANINGS), flag


_SHORT = {
    r"limit-(\d+)-of-(\d+)": "{0} of {1} images",
    r"saved-(\d+)-of-(\d+)": "saved images: {0} of {1}",
    r"copies-(\d+)": "images twice: {0}",
    r"names-twice-(\d+)": "names twice: {0}",
    r"first-order-(.+)": "gradient predicts {0} of a step",
    r"zero-gradient-(.+)": "gradient zero at {0}",
    r"8bit-.+": "other numbers in 8 bits",
    r"same-images-as-(.+)": "same images as {0}",
    r"not-imagenet-c-.+": "not ImageNet-C",
    r"worst-of-1": "worst case of one attack",
    r"worst-of-(\d+)": "worst of {0} attacks",
    r"([^=]+)=(.+)": "constants changed: {0}",
}
_REMARK = re.compile(
    r"top1-only|worst-of-(?!1$)\d+|(?!1000-)\d+-way|mapped-.+|variant-.+|draws-equal|"
    r"several-labels"
)
_TOPICS: dict[Topic, re.Pattern[str]] = {
    "corruptions": re.compile(
        r"not-imagenet-c-.+|few-images-.+|files-missing-.+|same-images-as-.+"
    ),
    "models": re.compile(
        r"random-weights|arch-override|classes-unnamed|not-deterministic|gradient-.+|"
        r"batch-dependent|first-order-.+|"
        r"changes-itself|at-chance|looks-like-.+|logits-in-.+|coarse-logits|ties-at-the-top|"
        r"probabilities|zero-gradient-.+|saturated-.+|non-finite-tokens-.+"
    ),
    "runs": re.compile(r"mixed-.+|batch-halved|attack-in-.+"),
    "reading": _REMARK,
}
_LONGEST = 36
"""Characters of a flag of somebody's own that are shown in short."""


def short_flag(flag: str) -> str:
    """A flag in a few words: its name with spaces, where nothing better is known."""
    for pattern, words in _SHORT.items():
        match = re.fullmatch(pattern, flag)
        if match:
            return words.format(*match.groups())
    return one_line(flag.replace("-", " "), _LONGEST)


def is_remark(flag: str) -> bool:
    """Whether a flag says what a number is, and casts no doubt on it."""
    return _REMARK.fullmatch(flag) is not None


def topic_of(flag: str) -> Topic:
    """What a flag is about; images and attacks where nothing else is known."""
    topics = (topic for topic, pattern in _TOPICS.items() if pattern.fullmatch(flag))
    return next(topics, "images")

"""Networks on which a run has made adversarial images and saved them, for use on other networks.

What was made on one network (the source) is scored on another (the target), whose conditions these
are: ``transfer/1234abcd/fgsm:4/255``, with the first digits of the source's weights.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ..conditions.condition import CLEAN, TRANSFER, Condition
from ..data.imagenet import SUBSETS, LabelSpace, LabelSpaceRecord, subset_space
from ..errors import UserError
from ..files.printable import name_some
from .adversarial import FOLDER, AdversarialStore
from .identity import images_identity, model_identity
from .manifest import Evaluation, Manifest
from .run_folder import RunFolder
from .saved_images import SavedAttack, SavedDataset, SavedImage, SavedImages

DIGITS = 8
"""Hexadecimal digits of the source's weights that tell conditions apart."""


class Source(NamedTuple):
    """A network on which adversarial images were made, and these.

    Attributes:
        path: of the run folder.
        manifest: of the run.
        evaluation: the network, and the data set.
        images: by position in the data set.
        files: adversarial images by key of the condition and id of the image.
    """

    path: Path
    manifest: Manifest
    evaluation: Evaluation
    images: Mapping[int, SavedImage]
    files: Mapping[str, Mapping[str, Path]]

    @property
    def attacks(self) -> list[Condition]:
        """The attacks that are transferred, in order."""
        conditions = self.manifest.conditions_of(self.evaluation)
        return [condition for condition in conditions if condition.key in self.files]

    @property
    def digits(self) -> str:
        """That name the network."""
        record = self.evaluation.record
        known = json.dumps(model_identity(record), sort_keys=True).encode()
        return (record.weights_sha256 or sha256(known).hexdigest())[:DIGITS]


def read_sources(folder: RunFolder) -> list[Source]:
    """The networks of a run with the adversarial images that were saved of their attacks.

    Controls are left out, which are no attack on a network; so are budgets of 0, and attacks that
    find distances, whose images lie just across the border of one network's class.

    Raises:
        UserError: a run without such images, one that is not finished, or one of survivors mode.
    """
    if folder.manifest.mode == "survivors":
        raise UserError(
            f"{folder.path} is a run with --survivors, whose attacks left out what others had "
            "fooled; evaluate without it, with --save-adversarial N and another --out"
        )
    if not folder.complete:
        raise UserError(
            f"{folder.path} is not finished; give its eval again, and transfer what it has then"
        )
    store = AdversarialStore(folder.path / FOLDER)
    sources = list[Source]()
    for evaluation in folder.manifest.evaluations:
        attacks = list(filter(is_source, folder.manifest.conditions_of(evaluation)))
        place = evaluation.label, evaluation.dataset.name
        files = {
            attack.key: store.files((*place, attack.protocol, attack.id)) for attack in attacks
        }
        if attacks and not any(files.values()):
            raise UserError(
                f"{folder.path} has no saved images of {' on '.join(place)}; evaluate again with "
                "--save-adversarial N, which keeps those of the first N, and another --out"
            )
        if attacks:
            images = _images(folder, evaluation, files)
            by_id = {
                key: {images[at].id: path for at, path in of.items()} for key, of in files.items()
            }
            sources.append(Source(folder.path, folder.manifest, evaluation, images, by_id))
    if not sources:
        raise UserError(
            f"{folder.path} has no attack with a budget, and so no images to transfer; evaluate "
            "one, like --attacks clean,pgd, with --save-adversarial N"
        )
    return sources


def is_source(condition: Condition) -> bool:
    """Whether its images are transferred: of an attack with a budget that is no control."""
    return condition.is_sweep and condition.eps > 0 and not condition.about.control


def _images(
    folder: RunFolder, evaluation: Evaluation, files: Mapping[str, Mapping[int, Path]]
) -> dict[int, SavedImage]:
    """What the records say of the images that were saved under any condition."""
    paths = dict[int, Path]()
    for of_attack in files.values():
        paths = dict(of_attack) | paths
    images = dict[int, SavedImage]()
    parts = {at // folder.manifest.part_size for at in paths}
    for _, records in folder.some_parts(evaluation, parts):
        rows = records.table.to_pandas()
        keys = rows["protocol"].astype(str) + ":" + rows["condition"].astype(str)
        rows = rows[keys.isin(files) & rows["pixels_sha256"].notna()].drop_duplicates("index")
        names = ["index", "image", "target", "pixels_sha256"]
        for at, image, label, digest in rows[names].itertuples(index=False):
            if at in paths:
                images[int(at)] = SavedImage(str(image), int(label), str(digest), paths[at])
    strange = [str(path) for at, path in paths.items() if at not in images]
    if strange:
        raise UserError(f"{name_some(strange)}: the run has no such image; delete what it is not")
    return dict(sorted(images.items()))


def transferred(sources: Sequence[Source]) -> list[Condition]:
    """The attacks on each source as conditions of other networks.

    Where two models have the same weights (twicing layers have none of their own), the names say
    the model, too.

    Args:
        sources: of one data set.

    Raises:
        UserError: one network was attacked twice under one condition.
    """
    models: dict[str, set[str]] = {}
    for source in sources:
        models.setdefault(source.digits, set()).add(source.evaluation.record.model)
    conditions: dict[str, Condition] = {}
    for source in sources:
        several = len(models[source.digits]) > 1
        name = f"{source.digits}/{source.evaluation.record.model}" if several else source.digits
        for attack in source.attacks:
            condition = _transferred(source, attack, f"{TRANSFER}/{name}")
            if condition.key in conditions:
                first = conditions[condition.key].settings["source_label"]
                raise UserError(
                    f"{attack.id} on {first} and on {source.evaluation.label} is one attack on one "
                    "network; transfer one of them, or into folders of their own"
                )
            conditions[condition.key] = condition
    return list(conditions.values())


def _transferred(source: Source, attack: Condition, name: str) -> Condition:
    record, precision = source.evaluation.record, source.manifest.attack_precision
    acronym, _, budget = attack.id.rpartition("@")
    computed = {} if precision == "fp32" else {"source_precision": precision}
    label = source.evaluation.label
    return Condition(
        f"{name}/{acronym}:{budget}",
        TRANSFER,
        attack.eps,
        attack.protocol,
        attack.threat,
        settings={
            "source_label": label,
            "source_model": record.model,
            "source_weights": record.weights_sha256,
            "source_condition": attack.id,
            "source_seed": source.manifest.seed,
            **computed,
            **attack.settings,
        },
        changed=attack.changed,
        sweep=SavedAttack(source.files[attack.key], f"{attack.id} on {label}"),
        notes=(
            f"{name}: images of attacks on {label} ({record.model}), as they "
            "are: the attacks knew no other network.",
            *attack.notes,
        ),
        flags=(*attack.flags, f"attack-in-{precision}") if computed else attack.flags,
        code_sha256=attack.code_sha256,
    )


def saved_dataset(sources: Sequence[Source]) -> SavedDataset:
    """The images that were saved of all sources; a part of a data set has a name of its own.

    Args:
        sources: of one data set.

    Raises:
        UserError: they are of other images, or have none in common.
    """
    first, *others = sources
    record = first.evaluation.dataset
    for other in others:
        if images_identity(other.evaluation.dataset) != images_identity(record):
            raise UserError(
                f"{first.path} and {other.path} are of unlike images called {record.name}; "
                "transfer them into folders of their own"
            )
    common = sorted(set.intersection(*(set(source.images) for source in sources)))
    if not common:
        names = name_some([str(source.path) for source in sources])
        raise UserError(f"{names} have saved no image in common; transfer them one by one")
    images = tuple(first.images[at] for at in common)
    count, whole = len(common), len(common) == record.n_images
    conditions = first.manifest.conditions_of(first.evaluation)
    clean = [condition.id for condition in conditions if condition.attack == CLEAN]
    chosen = json.dumps([record.fingerprint, common]).encode()
    return SavedDataset(
        name=record.name if whole else f"{record.name}/saved-{count}",
        ids=tuple(image.id for image in images),
        labels=tuple(image.label for image in images),
        images=SavedImages(images),
        num_classes=record.num_classes,
        labelling=record.labelling,
        notes=record.notes,
        flags=record.flags if whole else (*record.flags, f"saved-{count}-of-{record.n_images}"),
        skipped=record.skipped,
        source=record.source,
        space=None if record.space is None else _space(record.space),
        clean_id=clean[0] if clean else CLEAN,
        limit_seed=record.limit_seed,
        recorded=record.fingerprint if whole else sha256(chosen).hexdigest(),
    )


def _space(record: LabelSpaceRecord) -> LabelSpace:
    """The labels of a data set of their own; only ImageNet-A's and -R's are known by name."""
    space = subset_space(record.name) if record.name in SUBSETS else None
    if space is None or space.record != record:
        raise UserError(
            f"{record.name} has a label space of its own, which its saved images do not tell; "
            "transfer takes data sets whose labels are classes of the network, ImageNet-A and -R"
        )
    return space

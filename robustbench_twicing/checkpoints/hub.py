"""What the Hugging Face hub publishes, from its local cache first: timm's weights, repositories."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from torch import Tensor

from ..errors import UserError
from ..models.spec import ModelSpec

HF_PREFIX = "hf:"
"""Of a model's name that is a folder's or a repository's."""
PATIENCE = 5
"""Seconds to wait for the hub's first answer; the hub's own client retries for most of a minute."""
_FILE = "model.safetensors"
WANTED = (
    "config.json",
    "preprocessor_config.json",
    _FILE,
    f"{_FILE}.index.json",
    "model-*.safetensors",
)
"""Files of a repository that are data for a classifier; its code is not downloaded."""
_REPOSITORY = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


def fetch_pretrained(spec: ModelSpec) -> Path:
    """The file with timm's weights for a model, downloaded unless it is in the hub's cache.

    Raises:
        UserError: timm has no such weights, or they are not cached and the hub cannot be reached.
    """
    from huggingface_hub import hf_hub_download

    repository, file = _published(spec)
    if (cached := cached_pretrained(spec)) is not None:
        return cached
    _check_reachable(repository, file, spec.name)
    try:
        return Path(hf_hub_download(repository, file, etag_timeout=PATIENCE))
    except (OSError, ValueError) as error:
        raise _unreachable(repository, spec.name, error) from error


def cached_pretrained(spec: ModelSpec) -> Path | None:
    """The same file in the hub's cache; None where it is not there.

    Raises:
        UserError: timm has no such weights.
    """
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(*_published(spec))
    return Path(cached) if isinstance(cached, str) else None


def _published(spec: ModelSpec) -> tuple[str, str]:
    """Repository and file of timm's weights for a model."""
    from timm.models import get_pretrained_cfg

    config = get_pretrained_cfg(spec.timm_name) if spec.timm_name else None
    if config is None or not config.hf_hub_id:
        raise UserError(
            f"there are no pretrained weights for {spec.name}: timm publishes none; "
            "give the path of a checkpoint, or random:SEED"
        )
    return config.hf_hub_id, config.hf_hub_filename or _FILE


def find_folder(place: str) -> Path:
    """The folder of a network that Hugging Face's libraries saved.

    Args:
        place: a folder, or the name of a repository of the hub, like
            ``google/vit-base-patch16-224``, which is downloaded unless it is in the hub's cache.

    Raises:
        UserError: neither, or a repository that is not cached while the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    folder = Path(place).expanduser()
    if place and folder.is_dir():
        return folder
    if folder.exists() or not _REPOSITORY.fullmatch(place):
        raise UserError(
            f"hf:{place}: {place or 'nothing'} is no folder; write hf:FOLDER with the folder of a "
            "config.json and its weights, or hf:OWNER/NAME for a repository of the Hugging Face hub"
        )
    try:
        cached = Path(snapshot_download(place, local_files_only=True, allow_patterns=[*WANTED]))
        if any((cached / name).is_file() for name in (_FILE, f"{_FILE}.index.json")):
            return cached
    except (OSError, ValueError):
        pass  # it is not in the cache, or not all of it
    _check_reachable(place, "config.json", f"hf:{place}")
    try:
        return Path(snapshot_download(place, allow_patterns=[*WANTED], etag_timeout=PATIENCE))
    except (OSError, ValueError) as error:
        raise _unreachable(place, f"hf:{place}", error) from error


def timm_state_dict(spec: ModelSpec, state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Published weights in the layout of today's timm, for a model of timm's own.

    Args:
        spec: a model of the family ``timm``.
        state_dict: what the published file holds.
    """
    import timm

    network = timm.create_model(
        spec.sizes["timm_name"],
        pretrained=True,
        pretrained_cfg_overlay={"state_dict": dict(state_dict)},
    )
    converted: dict[str, Tensor] = network.state_dict()
    return converted


def _check_reachable(repository: str, file: str, name: str) -> None:
    from huggingface_hub import constants, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        raise _unreachable(repository, name, "HF_HUB_OFFLINE is set")
    request = Request(hf_hub_url(repository, file), method="HEAD")
    try:
        urlopen(request, timeout=PATIENCE).close()
    except (URLError, OSError, ValueError) as error:
        raise _unreachable(repository, name, error) from error


def _unreachable(repository: str, name: str, error: object) -> UserError:
    last = [line.strip() for line in str(error).splitlines() if line.strip()][-1:]
    weights = f"the weights of {name} ({repository})"
    if name == f"hf:{repository}":
        weights = f"{name} is no folder here, its weights"
    return UserError(
        f"{weights} are not in the local cache and the "
        f"Hugging Face hub does not give them ({last[0] if last else type(error).__name__}); "
        "go online once, or give the path of a checkpoint or a folder"
    )

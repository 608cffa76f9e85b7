"""The page as one HTML file that needs no other."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pandas as pd
from jinja2 import PackageLoader
from markupsafe import Markup

from robustbench_twicing.files.atomic import write_atomically

from ..imagenet_c.corruption_error import Baseline
from ..merging.runs import Runs
from ..tables.formats.as_html import templates
from .content import Page, make_page

NAME = "index.html"


def write_page(
    runs: Runs,
    table: pd.DataFrame,
    folder: Path,
    *,
    baseline: str | None = None,
    normaliser: Baseline | None = None,
) -> Path:
    """Write index.html into a folder and return its path.

    Args:
        runs: merged runs.
        table: `results` of them.
        folder: made where it is missing.
        baseline: label that the others are compared with; the first unless given.
        normaliser: unit of corruption errors, AlexNet unless given.

    Raises:
        UserError: an unknown baseline, a folder that is gone or cannot be written to, or a damaged
            adversarial image.
    """
    page = make_page(runs, table, baseline=baseline, normaliser=normaliser)
    path = folder / NAME
    # Names may hold halves of surrogate pairs, which UTF-8 has no bytes for.
    content = render(page).encode("utf-8", "backslashreplace")
    write_atomically(path, lambda file: file.write_bytes(content))
    return path


def render(page: Page) -> str:
    """HTML of a page; every text in it is escaped.

    Only the package's own style and script run in it, and nothing is loaded, whatever a label
    holds: the page's policy allows them by their hashes.
    """
    loader = PackageLoader("reports", "page/templates")
    environment = templates(loader)
    # The package's own files, as they are.
    style, script = (
        Markup(loader.get_source(environment, name)[0]) for name in ("style.css", "sort.js")
    )
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
        f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    template = environment.get_template("page.html.j2")
    parts = {"page": page, "style": style, "script": script, "policy": policy}
    size = len(template.render(**parts, size="").encode("utf-8", "backslashreplace"))
    return template.render(**parts, size=spoken_size(size))


def spoken_size(size: int) -> str:
    """Bytes as people say them, like ``1.3 MB``."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

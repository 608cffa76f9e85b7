"""The page as one HTML file that needs no other."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from robustbench_twicing import __version__
from robustbench_twicing.files.atomic import write_atomically
from robustbench_twicing.files.printable import spoken_size

from ..merging.runs import Runs
from ..metrics.notes import notes_by_topic
from ..metrics.radii import radius_curves
from ..metrics.transfer import transfer_rates
from ..tables.formats.as_html import templates
from ..tables.presets import Choices
from .drawing.curve import Key, Models
from .places import places
from .sections.attacks import Attacked, attacked_places
from .sections.caveats import Caveat, Group, chips, distrust_first, grouped
from .sections.comparing import Section, comparison_section
from .sections.corruptions import Matrix, corruption_matrices
from .sections.differences import Compared, differences
from .sections.examples import MAGNIFIED, Examples, find_examples
from .sections.overview import Overview, facts_of, overview
from .sections.provenance import Grid, commands, provenance, sessions_of, software
from .sections.representations import Representations, representations_of
from .sections.summary import headlines, what_was_run
from .sections.tables import Tables, all_results, page_tables

NAME = "index.html"


@dataclass(frozen=True)
class Page:
    """What the template shows; each section is left out where it is empty."""

    title: str
    overview: Overview
    run: tuple[str, ...]
    headlines: tuple[str, ...]
    caveats: tuple[Caveat, ...]
    tables: Tables
    attacked: tuple[Attacked, ...]
    models: tuple[Key, ...]
    representations: Representations
    corruptions: tuple[Matrix, ...]
    comparison: Section
    differences: tuple[Compared, ...]
    examples: Examples
    topics: tuple[Group, ...]
    results: Markup
    n_results: int
    commands: tuple[str, ...]
    software: str
    provenance: tuple[Grid, ...]
    magnified: int = MAGNIFIED
    version: str = __version__

    @property
    def chips(self) -> tuple[list[Caveat], int]:
        """The gravest caveats, and how many others there are."""
        return chips(self.caveats)

    @property
    def has_top5(self) -> bool:
        """Whether there is anything to choose."""
        panels = [panel for place in self.attacked for panel in place.panels]
        return any(view.accuracy == "top5" for panel in panels for view in panel.views)

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Id and name of the sections that are there; each has a template called like its id."""
        content = {
            ("overview", "Overview"): True,
            ("attacks", "Attacks"): self.attacked,
            ("corruptions", "Corruptions"): self.corruptions,
            ("comparison", "Comparison"): self.differences,
            ("examples", "Examples"): self.examples.shown,
            ("representations", "Representations"): self.representations.shown,
            ("tables", "Tables"): self.tables.shown,
            ("caveats", "Caveats"): True,
            ("all", "All results"): self.n_results,
            ("reproduce", "Reproduce"): True,
        }
        return [section for section, shown in content.items() if shown]


def write_page(
    runs: Runs,
    table: pd.DataFrame,
    folder: Path,
    *,
    baseline: str | None = None,
    scores: pd.DataFrame | None = None,
) -> Path:
    """Write index.html into a folder and return its path.

    Args:
        runs: merged runs.
        table: `results` of them.
        folder: made where it is missing.
        baseline: label that the others are compared with; the first unless given.
        scores: `corruption_scores` of the table, in units of AlexNet unless given.

    Raises:
        UserError: an unknown baseline, a folder that is gone or cannot be written to, or a damaged
            adversarial image.
    """
    page = _make_page(runs, table, baseline, scores)
    path = folder / NAME
    # Names may hold halves of surrogate pairs, which UTF-8 has no bytes for.
    content = _render(page).encode("utf-8", "backslashreplace")
    write_atomically(path, lambda file: file.write_bytes(content))
    return path


def _make_page(
    runs: Runs, table: pd.DataFrame, baseline: str | None, scores: pd.DataFrame | None
) -> Page:
    sessions = sessions_of(runs)
    compared = comparison_section(runs, table, baseline)
    every, models = list(places(table)), Models.of(table, compared.baseline)
    represented = representations_of(runs, models)
    caveats = tuple(distrust_first(table, sessions, runs.attacks))
    notes = notes_by_topic(runs, table)
    tables = page_tables(runs, table, Choices(scores=scores))
    notes["reading"] += [*tables.left_out, *compared.notes, *represented.notes]
    attacked = attacked_places(
        every, models, runs.attacks, radius_curves(runs, table), transfer_rates(runs, table)
    )
    return Page(
        title=_title(table),
        overview=overview(every, models, list(facts_of(table, sessions)), runs.attacks, compared),
        run=tuple(what_was_run(table, runs.attacks)) or ("Nothing.",),
        headlines=tuple(headlines(table)) or ("No number.",),
        caveats=caveats,
        tables=tables,
        attacked=tuple(attacked),
        models=tuple(models.keys),
        representations=represented,
        corruptions=tuple(corruption_matrices(every, models, runs.attacks, scores)),
        comparison=compared,
        differences=tuple(differences(compared, every, models, runs.attacks)),
        examples=find_examples(runs, every, models),
        topics=tuple(grouped(caveats, notes)),
        results=all_results(runs, table),
        n_results=len(table),
        commands=tuple(commands(sessions)),
        software=software(sessions),
        provenance=tuple(provenance(runs, sessions)),
    )


def _title(table: pd.DataFrame) -> str:
    names = list(dict.fromkeys(table["dataset"]))
    return f"Robustness on {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"


def _render(page: Page) -> str:
    """HTML of a page; every text in it is escaped.

    Only the package's own style and script run in it, and nothing is loaded, whatever a label
    holds: the page's policy allows them by their hashes.
    """
    loader = PackageLoader("reports", "page/templates")
    environment = templates(loader)
    # The classes of bars and cells, since the policy takes no style="".
    levels = "".join(f".v{level}{{--v:{level}%}}" for level in range(101))
    for kind, colour in (("p", "pos"), ("n", "neg")):
        levels += "".join(f".{kind}{n}{{--d:{5 * n}%;--e:var(--{colour})}}" for n in range(1, 21))
    style = Markup(_joined(loader, environment, "style") + levels)
    script = Markup(_joined(loader, environment, "script"))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
        f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    template = environment.get_template("page.html.j2")
    parts = {"page": page, "style": style, "script": script, "policy": policy}
    size = len(template.render(**parts, size="").encode("utf-8", "backslashreplace"))
    return template.render(**parts, size=spoken_size(size))


def _joined(loader: PackageLoader, environment: Environment, folder: str) -> str:
    """The package's own files of a folder, as they are: the core first, then one a feature."""
    names = [name for name in loader.list_templates() if name.startswith(f"{folder}/")]
    names.sort(key=lambda name: (not name.startswith(f"{folder}/core."), name))
    return "".join(loader.get_source(environment, name)[0] for name in names)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

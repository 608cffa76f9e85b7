"""Every kind of table in every format is what it was when somebody last looked at it."""

from pathlib import Path

import pytest

from tests.reports.tables.fixed import GOLDEN, fixed_runs, rendered, sheets


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the tables look like now, by file."""
    made = list(sheets(fixed_runs(tmp_path_factory.mktemp("runs"))))
    assert len({sheet.name for sheet in made}) == len(made)
    return {name: text for sheet in made for name, text in rendered(sheet).items()}


def golden() -> list[Path]:
    """The files, in order of name."""
    return sorted(GOLDEN.iterdir())


@pytest.mark.slow
def test_there_is_a_file_for_every_table_and_format(texts: dict[str, str]) -> None:
    assert {path.name for path in golden()} == set(texts)
    assert len(texts) >= 8 * 6


@pytest.mark.slow
@pytest.mark.parametrize("path", golden(), ids=lambda path: path.name)
def test_it_is_as_it_was(path: Path, texts: dict[str, str]) -> None:
    assert texts[path.name] == path.read_text(encoding="utf-8")

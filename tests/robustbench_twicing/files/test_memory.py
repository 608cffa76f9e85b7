"""Answers that are kept: given to the same question alone, and never a damaged one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.files import memory
from robustbench_twicing.files.memory import forget, keep, recall

TEXT = st.text(st.characters(codec="utf-8"))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda values: st.lists(values) | st.dictionaries(TEXT, values),
    max_leaves=8,
)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("memory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROBUSTBENCH_TWICING_CACHE", str(folder))
        yield folder


@given(subject=TEXT, state=PLAIN, other=PLAIN, answer=PLAIN)
def test_only_the_same_question_has_the_answer(
    subject: str, state: Any, other: Any, answer: Any
) -> None:
    keep(subject, state, answer)
    assert recall(subject, state) == answer
    if [other] != state:
        assert recall(subject, [other]) is None
    assert recall(f"{subject}.", state) is None
    forget(subject)
    assert recall(subject, state) is None


def test_one_answer_of_a_subject_is_kept(cache: Path) -> None:
    before = len(list(cache.iterdir()))
    for state in range(3):
        keep("one", state, "answer")
    assert len(list(cache.iterdir())) == before + 1
    assert [recall("one", state) for state in range(3)] == [None, None, "answer"]


@pytest.mark.parametrize("change", [(b"12345", b"12346"), (b'"is"', b'"si"'), (b"{", b"[")])
def test_damaged_answers_are_no_answers(cache: Path, change: tuple[bytes, bytes]) -> None:
    keep("damaged", 1, 12345)
    (file,) = (file for file in cache.iterdir() if b"12345" in file.read_bytes())
    content = file.read_bytes()
    file.write_bytes(content.replace(*change))
    assert recall("damaged", 1) is None
    file.write_bytes(content)
    assert recall("damaged", 1) == 12345
    file.unlink()


@pytest.mark.parametrize("place", ["file/below", "n" * 300, "~nobody-of-this-name/cache"])
def test_a_folder_that_cannot_be_used_is_said_once(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of too long a name not even the status can be asked, like in another user's folder."""
    (tmp_path / "file").touch()
    folder = place if place.startswith("~") else str(tmp_path / place)
    monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", folder)
    memory._warn.cache_clear()
    for subject in "abc":
        assert recall(subject, 1) is None
        keep(subject, 1, 1)
        assert recall(subject, 1) is None
    (warning,) = [message for message in caplog.messages if "takes as long as the first" in message]
    assert warning.startswith(folder)

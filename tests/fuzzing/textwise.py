"""Damage to text: lines, words, and words that mean something to some reader."""

import json
from random import Random
from typing import Any

from .bytewise import BYTEWISE
from .rounds import CANARY, Mutation

TOUCH = f"open({CANARY!r}, 'w').close()"
WORDS = (
    *("", "null", "true", "nan", "-1", "1e999", "1e-999", "0x7f", "0o17", "1_000", "1:30", "~"),
    *("9" * 25, "9" * 5000, "-" + "9" * 400, "4/0", "4/255", "1e999999999", "\u0663\u0662"),
    *("\0", "\x1b[2J\x1b[31mred", "\x9b31m", "\u202egnp.exe", "\ud800", "\ufeff", "\u2028", "\r"),
    *("<script>alert(1)</script>", "[red]x[/red]", "[/]", "=1+cmd|'/c calc'!A1", "a" * 70_000),
    *(
        "../../../../etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "C:\\x",
        "~root",
        "%s%n",
        "{0.__class__}",
    ),
    *(f"{CANARY}.py:run", "os:system", "hf-hub:a/b", "torchattacks:os", "!!python/name:os.system"),
    *(f'!!python/object/apply:builtins.eval ["{TOUCH}"]', "*a", "&a [*a]", "<<: *a", "? : -", "|"),
    *("!!timestamp x", "!!int ''", "!!binary =", "!!set {a, a}", "2001-99-99", "---", "...", "\t"),
    *("'", '"', "\\", "]", "}", "{", "[" * 3000, "{a: " * 3000, "- " * 3000, '{"a":' * 3000, "#"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**31, 2**63, 10**30, 1.5, float("nan"), float("inf"), -0.0),
    *("", "x", "clean", "4/255", "4/0", "9" * 5000, "\ud800", "\0", "a" * 3000, "\x1b[31m", "\n"),
    *([], {}, [[]], [None], {"": None}, {"__class__": "x"}, {"schema": 1}, [1] * 2000),
)


def swap_word(random: Random, content: bytes) -> bytes:
    """A hostile word between two separators."""
    word = random.choice(WORDS).encode("utf-8", "surrogatepass")
    ends = [at for at, byte in enumerate(content) if byte in b' ,:\n\t;[]{}"/'] or [0]
    start = random.choice(ends)
    end = next((at for at in ends if at > start), len(content))
    return content[: start + 1] + word + content[end if random.random() < 0.7 else start + 1 :]


def shuffle_lines(random: Random, content: bytes) -> bytes:
    """Lines left out, repeated, in another order, or indented."""
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    other = random.randrange(len(lines))
    change = random.choice(("drop", "swap", "double", "many", "indent", "join"))
    if change == "drop":
        del lines[at]
    elif change == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    elif change == "double":
        lines.insert(other, lines[at])
    elif change == "many":
        lines[at:at] = [lines[at]] * 2000
    elif change == "indent":
        lines[at] = b"  " + lines[at]
    else:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    return b"\n".join(lines)


def recode(random: Random, content: bytes) -> bytes:
    """Another encoding than UTF-8."""
    text = content.decode("utf-8", "replace")
    return text.encode(random.choice(("utf-16", "utf-32", "utf-7", "utf-8-sig")), "replace")


def change_value(random: Random, content: bytes) -> bytes:
    """JSON in which something has another type, is missing, or has another name."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return content
    places = list(places_of(tree))
    if not places:
        return json.dumps(random.choice(VALUES)).encode()
    holder, key = random.choice(places)
    change = random.choice(("value", "value", "value", "drop", "name", "wrap"))
    if change == "drop":
        del holder[key]
    elif change == "name" and isinstance(holder, dict):
        holder[random.choice(("x", "", "__init__", "a" * 999, "\ud800"))] = holder.pop(key)
    elif change == "wrap":
        holder[key] = [holder[key]]
    else:
        holder[key] = random.choice(VALUES)
    return json.dumps(tree).encode()


def places_of(tree: Any) -> Any:
    """Every place in a tree: what holds it, and its key there."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if _is_list(tree) else ()
    for key, value in list(pairs):
        yield tree, key
        yield from places_of(value)


def _is_list(tree: Any) -> bool:
    return isinstance(tree, list)


TEXTWISE: tuple[Mutation, ...] = (swap_word, swap_word, swap_word, shuffle_lines, recode, *BYTEWISE)
JSONWISE: tuple[Mutation, ...] = (*(change_value,) * 20, *TEXTWISE)

"""Pickles that no pickler writes: names that run code, random operations, deep and long ones."""

import io
import pickle
import struct
import zipfile
from random import Random

from .rounds import CANARY
from .textwise import TOUCH

HOSTILE = (
    *("posix.system", "os.system", "builtins.eval", "builtins.exec", "builtins.getattr"),
    *("builtins.__import__", "subprocess.Popen", "operator.attrgetter", "functools.partial"),
    *("torch.load", "torch.hub.load", "torch.jit.load", "torch._utils._rebuild_sparse_tensor"),
    *("torch.serialization.load", "numpy.load", "pathlib.Path.touch", "io.open", "nt.system"),
    *(
        "torch.nn.modules.linear.Linear",
        "collections.namedtuple",
        "builtins.type",
        "types.CodeType",
    ),
)
HARMLESS = (
    *(
        "collections.OrderedDict",
        "argparse.Namespace",
        "builtins.set",
        "torch.Size",
        "torch.device",
    ),
    *("torch.FloatStorage", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter"),
    *(
        "numpy.dtype",
        "numpy.ndarray",
        "numpy.core.multiarray.scalar",
        "_codecs.encode",
        "torch.int8",
    ),
    *("numpy.core.multiarray._reconstruct", "pathlib.PosixPath", "collections.defaultdict"),
    *("types.SimpleNamespace", "collections.Counter", "builtins.complex", "builtins.dict"),
)
SIZES = (0, 1, 2, 3, 12, 255, 2**16, 2**31 - 1)


def hostile_program(random: Random) -> bytes:
    """A call of something that would touch the canary or load another file."""
    module, _, attribute = random.choice(HOSTILE).rpartition(".")
    word = random.choice((f"touch {CANARY}", TOUCH, CANARY))
    name = f"{module}\n{attribute}\n".encode()
    argument = b"X" + struct.pack("<I", len(word)) + word.encode()
    calls = (
        b"c" + name + argument + b"\x85R",
        b"(" + argument + b"i" + name,
        b"(c" + name + argument + b"o",
        b"c" + name + argument + b"\x85\x81",
        b"c" + name + b"}" + argument + b"K\x01sb",
        text(module) + text(attribute) + b"\x93" + argument + b"\x85R",
    )
    call = random.choice(calls)
    inside = random.choice((b"", b"}X\x05\0\0\0model", b"]", b"(", b"}(X\x01\0\0\0a"))
    outside = {b"}X\x05\0\0\0model": b"s", b"]": b"a", b"}(X\x01\0\0\0a": b"u"}.get(inside, b"")
    return b"\x80\x02" + inside + call + outside + b"."


def random_program(random: Random) -> bytes:
    """Operations in any order."""
    steps = [_step(random) for _ in range(random.choice((5, 20, 100)))]
    return b"\x80\x02" + b"".join(steps) + b"."


def deep_program(random: Random) -> bytes:
    """Something in something in something, or very many of it."""
    count = random.choice((900, 5000, 100_000))
    return random.choice(
        (
            b"\x80\x02" + b"]" * count + b"a" * (count - 1) + b".",
            b"\x80\x02" + b"(" * count + b"t" * count + b".",
            b"\x80\x02" + b")" + b"\x85" * count + b".",
            b"\x80\x02]q\x00" + b"h\x00h\x00\x86q\x00" * min(count, 5000) + b".",
            b"\x80\x02" + b"}" + b"h\x00" * count + b".",
            b"\x80\x02})" + b"q\x00h\x00\x86" * 60 + b"K\x01s.",
            b"\x80\x02})" + b"\x85" * 10 * count + b"K\x01s.",
            b"\x80\x02}X\x04\0\0\0args}X\x01\0\0\0a]]q\0a" + b"](h\0h\0eq\0a" * 60 + b"ss.",
            b"\x80\x02}q\x00" + b"(" + b"K\x01K\x02" * count + b"u.",
            b"\x80\x02]q\x00h\x00a.",
            b"\x80\x02\x8b" + struct.pack("<I", 2**31 - 1) + b"\x01.",
            b"\x80\x02I" + b"9" * min(count, 99_999) + b"\n.",
            b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b"l.",
        )
    )


def text(word: str) -> bytes:
    """A string on the stack."""
    return b"X" + struct.pack("<I", len(word.encode())) + word.encode()


def _step(random: Random) -> bytes:
    name = random.choice(HARMLESS if random.random() < 0.97 else HOSTILE)
    module, _, attribute = name.rpartition(".")
    size = random.choice(SIZES)
    return random.choice(
        (
            *(
                b"(",
                b"t",
                b"\x85",
                b"\x86",
                b"\x87",
                b"R",
                b"b",
                b"s",
                b"u",
                b"a",
                b"e",
                b"0",
                b"1",
            ),
            *(
                b"}",
                b"]",
                b")",
                b"N",
                b"\x88",
                b"\x89",
                b"\x81",
                b"Q",
                b"2",
                b"\x8f",
                b"\x90",
                b"d",
            ),
            f"c{module}\n{attribute}\n".encode(),
            f"c{module}\n{attribute}\n".encode(),
            b"K" + bytes([size % 256]),
            b"J" + struct.pack("<i", random.choice((-1, size))),
            b"q" + bytes([random.randrange(4)]),
            b"h" + bytes([random.randrange(4)]),
            text(
                random.choice(("storage", "0", "cpu", "f4", "O", "model", "V", "latin1", "", "<"))
            ),
            b"G" + struct.pack(">d", random.choice((float("nan"), 1e300))),
            *_tensor(random, size),
        )
    )


def _tensor(random: Random, size: int) -> tuple[bytes, ...]:
    """A whole tensor or storage, with numbers that may not fit."""
    number = b"J" + struct.pack("<i", random.choice((-1, size)))
    storage = (
        b"("
        + text("storage")
        + b"ctorch\nFloatStorage\n"
        + text(random.choice(("0", "1", "../x", "")))
        + text(random.choice(("cpu", "cuda", "meta", "")))
        + number
        + b"tQ"
    )
    shape = random.choice((b"(" + number + b"t", b")", b"(" + number * 70 + b"t", number, b"N"))
    head = b"ctorch._utils\n_rebuild_tensor_v2\n("
    return storage, head + storage + b"K\x00" + shape + shape + b"\x89}tR"


def in_archive(program: bytes, *, data: bytes = bytes(48)) -> bytes:
    """The pickle of a file that torch.save might have written."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("net/data.pkl", program)
        archive.writestr("net/byteorder", b"little")
        archive.writestr("net/data/0", data)
        archive.writestr("net/version", b"3\n")
    return file.getvalue()


def in_stream(program: bytes) -> bytes:
    """The pickle of a file that torch.save wrote before it wrote archives."""
    numbers = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}]
    head = b"".join(pickle.dumps(number, 2) for number in numbers)
    return head + program + pickle.dumps(["0"], 2) + struct.pack("<q", 12) + bytes(48)

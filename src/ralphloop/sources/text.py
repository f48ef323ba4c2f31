"""Bytes that a user or an agent wrote, as text and back, or a complaint that says what they are instead."""

from collections.abc import Mapping

from ralphloop.core.errors import DamagedProblem

BOM = b"\xef\xbb\xbf"
OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
SAVE_AS_UTF8 = "save it as UTF-8 text, or get the last good version back with git"


def decode(file: str, content: bytes, limit: int) -> str:
    """The text without its byte order mark, line ends as they are; `encode` is the way back."""
    if len(content) > limit:
        raise DamagedProblem(
            f"{file} is too large: {megabytes(len(content))}, at most {megabytes(limit)} can be read",
            "did something else get written into it? Get the last good version back with git",
        )
    try:
        text = content.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        encoding = OTHER_ENCODINGS.get(content[:2])
        why = f"it looks like {encoding}" if encoding else f"byte 0x{error.object[error.start]:02x} in line {line}"
        raise DamagedProblem(f"{file} is not UTF-8: {why}", SAVE_AS_UTF8) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DamagedProblem(f"{file} is not text: a NUL byte in line {line}", SAVE_AS_UTF8)
    return text


def encode(text: str, like: bytes) -> bytes:
    """Bytes of the text, with a byte order mark if `like` has one."""
    return (BOM if like.startswith(BOM) else b"") + text.encode()


def edited(text: str, changes: list[tuple[int, int, str]]) -> str:
    """The text with each span (start, end) replaced; everything between them is untouched."""
    parts, at = [], 0
    for start, end, instead in sorted(changes):
        parts += [text[at:start], instead]
        at = end
    return "".join((*parts, text[at:]))


def basename(path: str) -> str:
    return path.rpartition("/")[2]


def given(files: Mapping[str, bytes], path: str) -> bytes | None:
    """The content of a file, listed by its name or by its whole path."""
    return files.get(basename(path), files.get(path))


def megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"

"""A YAML file as nodes that know their line: bounded, without tags that mean code, nothing run or expanded."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from ralphloop.core.errors import Problem, UsageProblem

LARGEST = 256 * 1024
DEEPEST = 20
ALIASES = 50
NODES = 5_000
SHOWN = 300
PREFIX = "tag:yaml.org,2002:"
TAGS = {PREFIX + name for name in ("null", "bool", "int", "float", "str", "seq", "map", "timestamp", "merge", "value")}
TOO_MUCH = "a configuration is small: write it out plainly"


class Document(Struct, frozen=True):
    """A file that was read; `root` is None when nothing stands in it."""

    file: str
    root: yaml.Node | None

    def place(self, node: yaml.Node) -> str:
        return f"{self.file}:{node.start_mark.line + 1}"

    def complaint(self, node: yaml.Node, key: str, what: str, hint: str = "") -> UsageProblem:
        said = f"{_shown(key)} {_shown(what)}" if key else _shown(what)
        return UsageProblem(f"{self.place(node)}: {said}", _shown(hint))

    def pairs(self, node: yaml.Node, key: str) -> list[tuple[str, yaml.Node, yaml.Node]]:
        """Name, the node of the name, the node of the value; a section without content is empty."""
        if nothing(node):
            return []
        if not isinstance(node, yaml.MappingNode):
            what = f"{key or 'the file'} must be a section of names and values"
            raise self.complaint(node, "", what, f"write the names below {key}, each indented" if key else "")
        found: dict[str, tuple[str, yaml.Node, yaml.Node]] = {}
        for name_node, value in node.value:
            name = self._name(name_node, key)
            if name in found:
                first = found[name][1].start_mark.line + 1
                whole = f"{key}.{name}" if key else name
                raise self.complaint(name_node, whole, f"stands twice, first in line {first}", "remove one of them")
            found[name] = (name, name_node, value)
        return list(found.values())

    def _name(self, node: yaml.Node, key: str) -> str:
        where = f"in {key} " if key else ""
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self.complaint(node, "", f"{where}a name is missing before the colon".strip(), "write name: value")
        if node.tag == PREFIX + "merge":
            raise self.complaint(node, "", '"<<" (merging) is not read', "write the names and values out")
        return str(node.value)

    def plain(self, node: yaml.Node, key: str) -> Any:
        """The node and all below it as plain values; dates and the like stay texts."""
        left = [NODES]
        return self._plain(node, key, left, 0)

    def _plain(self, node: yaml.Node, key: str, left: list[int], depth: int) -> Any:
        left[0] -= 1
        if left[0] < 0 or depth > DEEPEST:
            raise self.complaint(node, key, "grows too large through its aliases", TOO_MUCH)
        if isinstance(node, yaml.MappingNode):
            pairs = self.pairs(node, key)
            return {name: self._plain(value, f"{key}.{name}", left, depth + 1) for name, _, value in pairs}
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(value, key, left, depth + 1) for value in node.value]
        return _scalar(node)


def _shown(text: str) -> str:
    """Somebody else wrote it: short, and nothing in it that a terminal would obey."""
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def nothing(node: yaml.Node) -> bool:
    return bool(node.tag == PREFIX + "null")


def _scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    try:
        match node.tag.removeprefix(PREFIX):
            case "null":
                return None
            case "bool":
                return text.lower() in ("true", "yes", "on")
            case "int":
                return int(text)
            case "float":
                return float(text)
    except ValueError:  # what YAML 1.1 calls a number and people do not: 1:30, 0x1F, .inf
        return text
    return text


class _Loader(yaml.SafeLoader):
    """Composes only, and stops before anything grows."""

    depth = 0
    aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            self.aliases += 1
        if self.aliases > ALIASES or self.depth > DEEPEST:
            what = f"more than {ALIASES} aliases" if self.aliases > ALIASES else f"nested deeper than {DEEPEST}"
            raise yaml.MarkedYAMLError(problem=what, problem_mark=mark, note=TOO_MUCH)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if node is not None and node.tag not in TAGS:
            name = node.tag.replace(PREFIX, "!!")
            raise yaml.MarkedYAMLError(
                problem=f"the tag {name} is not allowed", problem_mark=mark, note="remove the tag"
            )
        if isinstance(node, yaml.ScalarNode) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in node.value):
            raise yaml.MarkedYAMLError(problem="an escape that is no character", problem_mark=mark, note="remove it")
        return node


def document(file: Path, inside: Path | None = None) -> Document | None:
    """The file's content, or None when there is no such file. `inside` is the folder it must not lead out of."""
    content = _content(file, inside)
    return None if content is None else Document(str(file), _root(str(file), content))


def _content(file: Path, inside: Path | None) -> bytes | None:
    real = os.path.realpath(file)
    if inside is not None and not Path(real).is_relative_to(os.path.realpath(inside)):
        raise Problem(f"{file} leads out of the repository", "put the file itself there, not a link to it")
    try:
        content = _read(real)
    except FileNotFoundError:
        if file.is_symlink():
            raise Problem(f"{file} is a link to nothing", "repair the link or remove it") from None
        return None
    except OSError as error:
        if error.errno != errno.ENXIO:  # a socket
            raise Problem(f"{file} cannot be read: {error.strerror}", "look at its place and its permissions") from None
        content = None
    if content is None:
        raise Problem(f"{file} is not a file", "a configuration is a text file in YAML")
    if len(content) > LARGEST:
        raise Problem(f"{file} is larger than {LARGEST // 1024} KB", "a configuration is small: is it the right file?")
    return content


def _read(path: str) -> bytes | None:
    """Enough of it to know whether it is too large; None when it is no regular file."""
    # without waiting: the name may belong to a pipe that nobody writes into
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as stream:
            return stream.read(LARGEST + 1)
    finally:
        os.close(handle)


def _root(file: str, content: bytes) -> yaml.Node | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageProblem(f"{file}:{line}: this is not UTF-8 text", "save the file as UTF-8") from None
    try:
        loader = _Loader(text)
        return loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"a control character ({error.character!r:.12}) stands here"
        raise UsageProblem(f"{file}:{line}: {what}", "is it a text file?") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{file}:{mark.line + 1}" if mark else file
        raise UsageProblem(
            f"{place}: {_shown(error.problem or error.context or '')}", error.note or _hint(error)
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UsageProblem(
            f"{file}: this is not YAML: {_shown(str(error))}", "write name: value on each line"
        ) from None


HINTS = {
    "\\t": "indent with spaces; YAML does not take tabs",
    "mapping values": 'put quotes around a text that holds ": "',
    "undefined alias": "put quotes around a text that begins with *",
    "document": "keep one document in the file: remove the second ---",
    "found character": "put quotes around a text that begins with a special character",
}


def _hint(error: yaml.MarkedYAMLError) -> str:
    said = f"{error.problem} {error.context}"
    return next((hint for word, hint in HINTS.items() if word in said), "look at this line and the one before it")

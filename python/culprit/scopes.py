"""Strings, contexts, flat scopes and procedures: what the trees of a database are made of."""

from __future__ import annotations

import struct
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .parts import Part
from .text import base_name, spelled

NONE = 0xFFFFFFFF
KINDS = ("root", "thread-root", "partial", "module", "file", "procedure", "inlined", "loop", "call", "statement", "region")
ROOT, THREAD_ROOT, PARTIAL, MODULE, FILE, PROCEDURE, INLINED, LOOP, CALL, STATEMENT, REGION = range(len(KINDS))
FRONTIER, IN_WAIT, MOVES, RUN_TIME, START_UP = 1, 2, 4, 8, 128  # flags
EMPTY_NAMES = {ROOT: "<run>", THREAD_ROOT: "<thread root>", PARTIAL: "<partial>"}


class Frame(NamedTuple):
    """A place in the program, as viewer-cli's JSON has it. Empty, or 0 for the line, where it is not known."""

    name: str
    file: str
    line: int
    module: str
    kind: str

    @property
    def place(self) -> str:
        """`file:line` without directories; empty where the file is not known."""
        if not self.file:
            return ""
        return base_name(self.file) + (f":{self.line}" if self.line else "")

    @property
    def label(self) -> str:
        """What the frame is called in a path and on the screen."""
        if self.kind in ("loop", "call"):
            place = self.place or self.name
            return f"{self.kind} at {place}" if place else self.kind
        if self.kind == "statement":
            return self.place or (f"<{base_name(self.module)}>" if self.module else "<unknown line>")
        if self.kind == "module":
            return base_name(self.module or self.name)
        if self.kind == "region":
            return self.name if self.name.startswith(("file /", "file <", "file ...")) else "region " + self.name
        if self.kind == "file":
            return base_name(self.file or self.name) or "<unknown file>"
        return self.name or EMPTY_NAMES.get(KINDS.index(self.kind), "<unknown procedure>")


class Strings:
    """The strings of a database by number; those that were asked for are kept."""

    def __init__(self, ends: Part, data: Part) -> None:
        self.ends, self.data, self.size = ends, data, ends.size // 8
        self.known: Dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        found = self.known.get(number)
        if found is None:
            first = max(number - 1, 0)
            bounds = struct.unpack(f"<{number - first + 1}Q", self.ends.at(8 * first, 8 * (number - first + 1)))
            begin, end = (0, *bounds)[-2:]
            if begin > end:
                self.ends.fail("has strings that overlap", 8 * number)
            found = self.known[number] = spelled(bytes(self.data.at(begin, end - begin)))
        return found


class Scope(NamedTuple):
    """A context or flat scope as it is stored. `flat` is NONE for flat scopes."""

    parent: int
    end: int
    name: int
    file: int
    line: int
    module: int
    flat: int
    kind: int
    flags: int
    wait: int


class Scopes:
    """Contexts or flat scopes, in pre-order. Each that is handed out lies behind its parent, and ends within the tree."""

    def __init__(self, part: Part, element: int, strings: Strings, flat: int) -> None:
        self.part, self.element, self.strings, self.flat = part, element, strings, flat
        self.form = struct.Struct("<7I4B" if element == 32 else "<6I4B")
        self.size = part.size // element

    def __len__(self) -> int:
        return self.size

    def checked(self, number: int, fields: Tuple[int, ...]) -> Scope:
        scope = Scope(*fields[:10]) if self.element == 32 else Scope(*fields[:6], NONE, fields[6], fields[7], 0)
        strings, parent = self.strings.size, scope.parent
        placed = parent < number if number else parent == NONE
        if not (
            placed
            and number < scope.end <= self.size
            and scope.name < strings
            and scope.file < strings
            and scope.module < strings
            and (scope.flat == NONE or scope.flat < self.flat)
            and scope.kind < len(KINDS)
        ):
            self.part.fail("is no tree in pre-order, or refers to something that does not exist", number * self.element)
        return scope

    def __getitem__(self, number: int) -> Scope:
        return self.checked(number, self.form.unpack(self.part.at(number * self.element, self.element)))

    def __iter__(self) -> Iterator[Scope]:
        for number, fields in enumerate(self.form.iter_unpack(self.part.all())):
            yield self.checked(number, fields)

    def children(self, number: int) -> List[int]:
        """In their order. Each begins where the one before ends, so they are found without a look at what is below."""
        found, child, end = [], number + 1, self[number].end
        while child < end:
            found.append(child)
            child = self[child].end
        if child != end and found:
            self.part.fail("is no tree in pre-order", number * self.element)
        return found

    def ancestors(self, number: int) -> List[int]:
        """From the root to `number`, both included."""
        path = [number]
        while self[path[-1]].parent != NONE:
            path.append(self[path[-1]].parent)
        return path[::-1]

    def frame(self, number: int) -> Frame:
        return self.frame_of(self[number])

    def frame_of(self, scope: Scope) -> Frame:
        text = self.strings
        return Frame(text[scope.name], text[scope.file], scope.line, text[scope.module], KINDS[scope.kind])

    def inside(self, number: int, kinds: Tuple[int, ...]) -> Optional[int]:
        """The innermost scope of one of these kinds at or above `number`."""
        while number != NONE:
            scope = self[number]
            if scope.kind in kinds:
                return number
            number = scope.parent
        return None


class ContextLists:
    """Lists of contexts, one after the other; where each ends stands at `place` in the elements of another section."""

    def __init__(self, ends: Part, element: int, place: int, contexts: Part, bound: int) -> None:
        self.ends, self.element, self.place, self.contexts, self.bound = ends, element, place, contexts, bound

    def __len__(self) -> int:
        return self.ends.size // self.element

    def end(self, lists: int) -> int:
        """Where the first `lists` lists end."""
        if lists == 0:
            return 0
        return struct.unpack("<I", self.ends.at((lists - 1) * self.element + self.place, 4))[0]

    def between(self, first: int, last: int) -> List[int]:
        begin, end = self.end(first), self.end(last)
        if begin > end:
            self.ends.fail("has lists that overlap", max(last - 1, 0) * self.element)
        found = self.contexts.at(4 * begin, 4 * (end - begin)).cast("I").tolist()
        if found and max(found) >= self.bound:
            self.contexts.fail("names a context that does not exist", 4 * begin)
        return found

    def __getitem__(self, number: int) -> List[int]:
        return self.between(number, number + 1)


class Procedures:
    """Procedures as the view of callers has them: contexts that are alike are one."""

    def __init__(self, procedures: Part, of_context: Part, instances: ContextLists, contexts: int, flat: int) -> None:
        self.part, self.numbers, self.instances = procedures, of_context, instances
        self.contexts, self.flat, self.size = contexts, flat, procedures.size // 16

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, number: int) -> Tuple[int, int, int]:
        """Its first context, the flat scope with the same instances (NONE: none), its flags."""
        first, flat, flags = struct.unpack("<II4xB3x", self.part.at(16 * number, 16))
        if first >= self.contexts or (flat != NONE and flat >= self.flat):
            self.part.fail("refers to something that does not exist", 16 * number)
        return first, flat, flags

    def of(self, context: int) -> int:
        """The number of the context's procedure, NONE for contexts of other kinds."""
        number = struct.unpack("<I", self.numbers.at(4 * context, 4))[0]
        if number != NONE and number >= self.size:
            self.numbers.fail("names a procedure that does not exist", 4 * context)
        return number


def outermost(contexts: List[int], scopes: Scopes) -> List[int]:
    """Those of some contexts, ascending, that lie in no other of them."""
    found, end = [], 0
    for context in sorted(contexts):
        if context >= end:
            found.append(context)
            end = scopes[context].end
    return found

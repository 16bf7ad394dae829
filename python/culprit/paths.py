"""Call paths as cells of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, List

from .scopes import Frame
from .tree import Node

if TYPE_CHECKING:
    from .database import Database


class CallPath(Sequence):
    """The frames from the root to a context, formed when they are looked at. Its text is their labels with ` / ` between
    them, without call sites and lines; paths to the same context are equal."""

    __slots__ = ("database", "context")

    def __init__(self, database: "Database", context: int) -> None:
        self.database, self.context = database, context

    @property
    def id(self) -> str:
        """The context's id, `c12`."""
        return f"c{self.context}"

    @property
    def node(self) -> Node:
        """The context in the view of calling contexts."""
        return Node(self.database.calling_context, self.context)

    def frames(self) -> List[Frame]:
        contexts = self.database.contexts
        return [contexts.frame(number) for number in contexts.ancestors(self.context)]

    def __len__(self) -> int:
        return len(self.database.contexts.ancestors(self.context))

    def __getitem__(self, place):
        return self.frames()[place]

    def __str__(self) -> str:
        shown = [frame.label for frame in self.frames() if frame.kind not in ("root", "call", "statement")]
        return " / ".join(shown) or self.frames()[-1].label

    def __repr__(self) -> str:
        return f"<{self.id} {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallPath) and (self.database, self.context) == (other.database, other.context)

    def __lt__(self, other: "CallPath") -> bool:
        return self.context < other.context

    def __hash__(self) -> int:
        return hash((id(self.database), self.context))

"""Stories, the plan that orders them, and what changed between two plans."""

from msgspec import Struct


class Story(Struct, frozen=True):
    """One piece of work; `passes` is the mark that says it is claimed to be finished."""

    id: str
    title: str
    passes: bool = False
    priority: float = 0
    description: str = ""
    criteria: tuple[str, ...] = ()
    notes: str = ""
    manual: bool = False  # for a person to do: it never blocks the end
    agent: str = ""  # who is wanted for it, and with which model
    model: str = ""


class Plan(Struct, frozen=True):
    """The stories of a source in the order of the file."""

    stories: tuple[Story, ...]
    description: str = ""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(story.id for story in self.stories)

    @property
    def marked(self) -> frozenset[str]:
        return frozenset(story.id for story in self.stories if story.passes)

    @property
    def open(self) -> tuple[Story, ...]:
        """What is still to be done, the most urgent first."""
        waiting = (story for story in self.stories if not story.passes and not story.manual)
        return tuple(sorted(waiting, key=lambda story: story.priority))

    @property
    def complete(self) -> bool:
        """Every story is marked; a plan without stories is never complete by itself."""
        return bool(self.stories) and not self.open and bool(self.marked)

    def title(self, story_id: str) -> str:
        return next((story.title for story in self.stories if story.id == story_id), "")


class PlanChange(Struct, frozen=True):
    """What somebody did to a plan, by story id, in the order of the later plan."""

    marked: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()  # other words for what is to be done
    rehanded: tuple[str, ...] = ()  # another agent or model is wanted for it
    excused: tuple[str, ...] = ()  # now for a person to do: a way to an end without the work


def said(story: Story) -> tuple[str, ...]:
    """What a story asks for, without its state."""
    return (story.title, story.description, *story.criteria)


def compare(before: Plan, after: Plan) -> PlanChange:
    """What changed; a story added with its mark set counts as marked."""
    was_there, was_marked, is_there = before.ids, before.marked, after.ids
    words = {story.id: said(story) for story in before.stories}
    hands = {story.id: (story.agent, story.model) for story in before.stories}
    was_manual = {story.id for story in before.stories if story.manual}
    return PlanChange(
        marked=tuple(s.id for s in after.stories if s.passes and s.id not in was_marked),
        unmarked=tuple(s.id for s in after.stories if not s.passes and s.id in was_marked),
        added=tuple(s.id for s in after.stories if s.id not in was_there),
        removed=tuple(s.id for s in before.stories if s.id not in is_there),
        reworded=tuple(s.id for s in after.stories if words.get(s.id, said(s)) != said(s)),
        rehanded=tuple(s.id for s in after.stories if hands.get(s.id, (s.agent, s.model)) != (s.agent, s.model)),
        excused=tuple(s.id for s in after.stories if s.manual and s.id in was_there and s.id not in was_manual),
    )

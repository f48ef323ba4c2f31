"""Resolve what somebody wants to have run: place, branch, source, agent, rules, prompt. Nothing is written here."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.agents import table as agents
from ralphloop.api import notices
from ralphloop.api.trusting import Distrust, distrust_in
from ralphloop.config import Config, load
from ralphloop.core.errors import Problem
from ralphloop.core.policy import Policy
from ralphloop.core.ports import Agent, Finding, Source
from ralphloop.core.story import Plan
from ralphloop.engine import opening
from ralphloop.engine.desk import read_plan
from ralphloop.engine.permissions import environment_of, permissions
from ralphloop.engine.preflight import Preflight as Preflight
from ralphloop.engine.preflight import preflight
from ralphloop.host import git, glance, operations, sandbox
from ralphloop.host.files import read
from ralphloop.host.git import Repository
from ralphloop.host.places import Home, inside
from ralphloop.sources import table as sources

PROMPT_LIMIT = 16 << 20
LONGEST_FEATURE = 236  # bytes; the name of its archive is longer by a time and a number
RESERVED = ("archive", "config.yaml")


class Request(Struct, frozen=True):
    """What somebody wants to have run. `settings` are those of the configuration, as key -> (value, option)."""

    folder: str = "."
    settings: Mapping[str, tuple[Any, str]] = {}
    prompt: str = ""
    reset_circuit: bool = False
    skip_preflight: bool = False
    trust: bool = False  # run what the repository's configuration names, whether somebody has agreed to it or not


class Prepared(Struct, frozen=True):
    """All that a run is made of, resolved; nothing has been written or started."""

    home: Home
    repository: Repository
    feature: str
    config: Config
    source: Source
    agents: Mapping[str, Agent]  # the chain, the first choice first
    policy: Policy
    template: str
    taken: opening.Taken

    @property
    def agent(self) -> Agent:
        """The first choice."""
        return self.agents[self.config.chain[0]]

    def agent_named(self, name: str) -> Agent:
        """One of the chain, or another that a story wants."""
        return self.agents.get(name) or agents.named(name, self.config.agent_settings(name))

    def preflight(self) -> Preflight:
        protected = self.config.get("protected_branches")
        found = preflight(self.repository, self.feature, self.source, self.agent, protected)
        where = self.home, self.repository.worktree, self.feature
        findings = (*(notices.explained(finding, *where) for finding in found.findings), *self.permissions)
        findings += tuple(notices.strangers(self.plan(), self.config, self.repository.worktree))
        return replace(found, findings=findings, notices=self.notices)

    @property
    def kind(self) -> str:
        """What drives the agent: one of the kinds of the table."""
        return self.config.agent_kind(self.config.get("defaults.agent"))

    def plan(self) -> Plan | None:
        """The stories as they stand; None when they cannot be read."""
        try:
            return read_plan(self.source, self.repository.worktree)[1]
        except Problem:
            return None

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know before a run: what stands in the way of going on, what the project decides."""
        told = [self.taken.note] if self.taken.note else []
        return (*told, *notices.decided(self.config, self.repository.worktree), *notices.distrusted(self.distrust))

    @property
    def permissions(self) -> tuple[Finding, ...]:
        """What is to be said of what the agents of the chain may do unasked here, the same only once."""
        signs, root = sandbox.signs(), os.geteuid() == 0
        found = [
            finding
            for agent in self.agents.values()
            for finding in permissions(agent, self.policy, environment_of(agent, self.policy), signs, root=root)
        ]
        return tuple(dict.fromkeys(found))

    @property
    def withheld(self) -> tuple[str, ...]:
        """The names of those variables of this environment that no agent of the chain is handed."""
        handed = [environment_of(agent, self.policy).keys() for agent in self.agents.values()]
        return tuple(sorted(os.environ.keys() - set[str]().union(*handed)))

    @property
    def distrust(self) -> Distrust:
        """What the repository's configuration wants to run or allow, and nobody has agreed to."""
        return distrust_in(self.home, self.repository, self.config)


def prepare(request: Request) -> Prepared:
    """Resolve a request. Raises a Problem for everything that makes it impossible."""
    home = Home.usual()
    repository = git.find(str(Path(request.folder).absolute()))
    _nameable(repository)
    taken = opening.unfinished(home, repository.worktree)
    if taken.in_the_middle and taken.state is not None and not opening.left_by_the_user(home, repository, taken):
        # an agent may have left the worktree on another branch: the run's own is what counts
        repository = replace(repository, branch=taken.state.start.branch)
    else:
        _on_the_way(repository)
        repository = git.on_a_branch(repository)
        taken = opening.of_branch(home, repository, taken)
    feature = git.feature_of(repository.branch)
    config = load(home.root, Path(repository.worktree), request.settings)
    source = _source(config, repository.worktree, feature, taken)
    chain = {name: agents.named(name, config.agent_settings(name)) for name in config.chain}
    policy = _handed(config, chain, _wanted(source, repository.worktree))
    if not source.file.startswith(f".ralph/{feature}/"):
        policy = replace(policy, archive=False)
    return Prepared(
        home=home,
        repository=repository,
        feature=feature,
        config=config,
        source=source,
        agents=chain,
        policy=policy,
        template=_template(repository.worktree, feature, request.prompt),
        taken=taken,
    )


def _on_the_way(repository: Repository) -> None:
    """A branch that is missing because git is in the middle of something comes back with its end."""
    if not repository.branch and (operation := operations.unfinished(repository.git_dir)):
        raise Problem(f"Not on a branch: {operations.named(operation)} is unfinished", operations.way_out(operation))


def _nameable(repository: Repository) -> None:
    """Names go into the journal, which is UTF-8, and become a folder's name."""
    feature = git.feature_of(repository.branch)
    for what, name in (("the path", repository.worktree), ("the branch", repository.branch)):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise Problem(f"{what} {name!r} is not UTF-8", "rename it") from None
    if len(feature.encode()) > LONGEST_FEATURE:
        raise Problem(
            f"the name of branch {repository.branch[:60]}… is too long for a feature folder:"
            f" {len(feature.encode())} bytes, {LONGEST_FEATURE} are possible",
            "rename it: `git branch -m SHORTER`",
        )
    if feature in RESERVED:
        raise Problem(
            f"branch {repository.branch} cannot have the feature folder .ralph/{feature}: that name has another use",
            "rename the branch: `git branch -m NAME`",
        )


def _wanted(source: Source, worktree: str) -> tuple[str, ...]:
    """The agents that stories name."""
    try:
        return tuple({story.agent: None for story in read_plan(source, worktree)[1].open if story.agent})
    except Problem:
        return ()


def _handed(config: Config, chain: Mapping[str, Agent], wanted: tuple[str, ...]) -> Policy:
    """The rules, with whose account and which model each agent uses that may have its turn."""
    able = dict(chain)
    for name in wanted:
        with suppress(Problem):  # the preflight says so
            able.setdefault(name, agents.named(name, config.agent_settings(name)))
    return replace(
        config.policy(),
        agents=tuple(chain),
        accounts={name: _account(config, name, agent) for name, agent in able.items()},
        models={name: model for name in able if (model := _model(config, name))},
    )


def _model(config: Config, name: str) -> str:
    """`--model` is for the first choice, whichever that is."""
    setting = config.setting("claude.model")
    told = setting.value and setting.origin.startswith("command line")
    if told and name == config.chain[0]:
        return str(setting.value)
    own = config.agent_settings(name).get("model", "")
    return str(own or (setting.value if config.agent_kind(name) == "claude" and not told else ""))


def _account(config: Config, name: str, agent: Agent) -> str:
    """As configured; else the agent with the folder that says who is signed in."""
    own = config.agent_settings(name)
    if own.get("account"):
        return str(own["account"])
    if config.get("limits.account") and name == config.chain[0]:
        return str(config.get("limits.account"))
    variable, usual = agent.traits.folder
    given = dict(own.get("env") or {}).get(variable) or os.environ.get(variable, "") if variable else ""
    folder = Path(given or usual).expanduser().absolute()
    if folder == Path(usual).expanduser().absolute():
        return config.agent_kind(name) if variable else name
    return f"{config.agent_kind(name)}-{glance.digest(os.fsencode(folder))[:6]}"


def _source(config: Config, worktree: str, feature: str, taken: opening.Taken) -> Source:
    """What the configuration names; else the first that is there."""
    kind, file = config.get("source.kind"), config.get("source.file")
    if taken.in_the_middle and taken.state is not None and not file:
        file = taken.state.start.source
    found = {"prd": f".ralph/{feature}/prd.json", "tasks": f".ralph/{feature}/tasks.md"}
    if file:
        kind = kind if kind != "auto" else "prd" if file.endswith(".json") else "tasks"
        return sources.named(kind, file)
    if kind != "auto":
        return sources.named(kind, found[kind])
    for kind, path in (*found.items(), ("tasks", "tasks.md")):
        if os.path.lexists(Path(worktree, path)):
            return sources.named(kind, path)
    return sources.named("prd", found["prd"])


def _template(worktree: str, feature: str, given: str) -> str:
    """-p FILE, else the feature's prompt.md, else the one that ships with the package."""
    hint = "-p FILE names a text file with your own prompt" if given else "repair it, or move it away"
    path = Path(given) if given else inside(worktree, Path(worktree, ".ralph", feature, "prompt.md"))
    content = read(path, PROMPT_LIMIT, "the prompt file")
    if content is None and not given:
        path = Path(__file__).parent.parent / "templates" / "prompt-tdd.md"
        content = read(path, PROMPT_LIMIT)
    if content is None:
        raise Problem(f"the prompt file {path} does not exist", hint)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(f"the prompt file {path} is not UTF-8 text (byte {error.start + 1})", hint) from None
    if not text.strip() or "\0" in text:
        raise Problem(f"the prompt file {path} {'is binary' if text.strip() else 'is empty'}", hint)
    return text


def for_one_session(config: Config, name: str, agent: Agent) -> Policy:
    """The rules for an agent outside of a run, with its account and its model."""
    model = _model(config, name)
    return replace(
        config.policy(),
        agents=(name,),
        accounts={name: _account(config, name, agent)},
        models={name: model} if model else {},
    )

"""What an agent may do unasked, looked at before anything is spent: is this the place for it, will the agent agree."""

import os
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ralphloop.core.environment import OF_A_SESSION
from ralphloop.core.policy import Policy
from ralphloop.core.ports import Agent, Call, Command, Finding
from ralphloop.host.environment import handed_down
from ralphloop.host.sandbox import LOOKED_FOR

OF_CLAUDE = ("--dangerously-skip-permissions", "bypassPermissions", "--permission-mode=bypassPermissions")
SKIPPING = (
    *OF_CLAUDE, "--dangerously-bypass-approvals-and-sandbox", "--dangerously-allow-all", "--yolo", "yolo",
    "--approval-mode=yolo", "--allow-all-tools", "--trust-all-tools",
)  # fmt: skip


def skipped(agent: Agent, policy: Policy) -> bool:
    """Whether the agent is told to ask for nothing, by the rules or by words of its own."""
    usual = command_of(agent, replace(policy, skip_permissions=False))
    command = command_of(agent, policy)
    return command != usual or any(word in SKIPPING for word in command.argv)


def command_of(agent: Agent, policy: Policy) -> Command:
    """How it would be called."""
    return agent.command(
        Call("PROMPT", 1, policy.skip_permissions, policy.allowed_tools, policy.models.get(agent.name, ""))
    )


def environment_of(agent: Agent, policy: Policy, present: Mapping[str, str] | None = None) -> dict[str, str]:
    """What it would be handed."""
    command = command_of(agent, policy)
    keep = (*policy.environment, *agent.traits.variables)
    given = {**handed_down(keep, {**(os.environ if present is None else present), **command.env}), **command.env}
    return {name: value for name, value in given.items() if name not in (*OF_A_SESSION, *command.unset)}


def permissions(
    agent: Agent, policy: Policy, environment: Mapping[str, str], signs: tuple[str, ...], *, root: bool
) -> Iterator[Finding]:
    """`signs` are those of a sandbox, `environment` is the agent's."""
    command = command_of(agent, policy)
    if root and environment.get("IS_SANDBOX") != "1" and any(word in OF_CLAUDE for word in command.argv):
        yield Finding(
            "error",
            f"Agent {agent.name}: Claude Code refuses --dangerously-skip-permissions to root",
            advice=(
                'In a container, or on a machine you can lose: agents: {claude: {env: {IS_SANDBOX: "1"}}} in '
                "~/.ralph/config.yaml, or IS_SANDBOX=1 in the environment of ralph",
                "Without that option it works as root too: claude.allowed_tools says what it may do, for example "
                '"Read,Write,Edit,Bash"',
                "Or run ralph as another user.",
            ),
        )
    elif not signs and environment.get("IS_SANDBOX") != "1" and skipped(agent, policy):
        yield Finding(
            "warning",
            "Permissions are skipped, and this does not look like a sandbox",
            details=(
                "The agent may do all that you can do here, without asking: delete, send, push, spend.",
                f"Looked for: {LOOKED_FOR}. `ralph doctor` shows what was found.",
            ),
        )

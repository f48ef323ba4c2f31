"""The command line of `ralph` as a table: parsing, help and completion are all made from it."""

from ralphloop.cli.options import (
    AGENT_NAME,
    CHOICE,
    DURATION,
    FILE,
    FOLDER,
    NUMBER,
    RUN_NAME,
    SCOPED,
    TEXT,
    Argument,
    Command,
    Option,
    Program,
)

JSON = Option("json", "print JSON for programs, not text for people")
YES = Option("yes", "do it without asking", short="y")
RUN = Argument("RUN", "a run as `ralph list` names it; by default that of this worktree", kind=RUN_NAME)
OF_RUN = Option("run", "a run as `ralph list` names it", kind=RUN_NAME, metavar="RUN")
SHELLS = ("bash", "zsh", "fish")
USAGE_BY = ("day", "session", "model", "project", "agent", "story", "run")
ON_LIMIT = ("ask", "wait", "exit")

RUN_OPTIONS = (
    Option(
        "max-iterations", "at most so many iterations of the whole run, also those before a stop (default 20)",
        short="n", kind=NUMBER, metavar="COUNT", key="defaults.max_iterations",
    ),
    Option(
        "timeout", "minutes for an iteration, or 1h30m (default 15)",
        short="t", kind=DURATION, metavar="TIME", unit=60, key="defaults.timeout_minutes",
    ),
    Option(
        "rate-limit", "calls of the agent an hour, or off (default 100)",
        short="r", kind=NUMBER, metavar="CALLS", least=0, off=True, key="defaults.rate_limit_per_hour",
    ),
    Option("prompt", "a prompt of your own instead of the usual one", short="p", kind=FILE, metavar="FILE"),
    Option(
        "agent", "the agent to run (default claude), or several in turn, as claude,codex",
        kind=AGENT_NAME, metavar="NAME", key="defaults.agent",
    ),
    Option("model", "the model the first agent is told to use", kind=TEXT, metavar="NAME", key="claude.model"),
    Option(
        "max-cost", "dollars for the run; story=5,day=50 for a story, or the account's day",
        kind=SCOPED, metavar="DOLLARS", key="budget.SCOPE_cost",
    ),
    Option(
        "max-tokens", "tokens in and out for the run; story=COUNT, day=COUNT too",
        kind=SCOPED, metavar="COUNT", key="budget.SCOPE_tokens",
    ),
    Option(
        "max-time", "minutes of agents at work, or 8h, for the run; story=TIME, day=TIME too",
        kind=SCOPED, metavar="TIME", key="budget.SCOPE_minutes",
    ),
    Option(
        "pause", "seconds between iterations, or 2m (default 2)",
        kind=DURATION, metavar="TIME", least=0, key="defaults.pause_seconds",
    ),
    Option(
        "on-limit", "what to do at the usage limit (default ask)",
        kind=CHOICE, choices=ON_LIMIT, key="defaults.on_limit",
    ),
    Option("verbose", "show all that the agent says and does", short="v"),
    Option("json", "print one JSON object a line"),
    Option("monitor", "a dashboard in tmux: not in this version, ignored", hidden=True),
    Option("dry-run", "only say what would happen; write nothing"),
    Option("no-archive", "leave the feature folder in its place at the end", key="archive.on_done", sets=False),
    Option("reset-circuit", "set the circuit breaker's counters to zero"),
    Option("skip-preflight", "do not look at the files first"),
    Option("trust", "run what this repository's config.yaml names, this once, without asking"),
    Option(
        "dangerously-skip-permissions", "let the agent do anything without asking",
        key="claude.dangerously_skip_permissions",
    ),
)  # fmt: skip

COMMANDS = (
    Command(
        "run", "run the agent until the work is done, or go on with a run",
        options=RUN_OPTIONS,
        more="The feature folder comes from the branch: on feature/login it is .ralph/feature-login.",
        examples=(
            ("ralph run", "until every story passes, 20 iterations at most"),
            ("ralph run -n 5 -t 30", "5 iterations of 30 minutes at most"),
            ("ralph run --dry-run", "only show what would happen"),
            ("ralph run --on-limit wait", "sleep until the usage limit is over"),
            ("ralph run --max-cost 20,day=50", "at most $20 for this run, and $50 a day"),
        ),
    ),
    Command(
        "status", "show how the run of this worktree stands",
        options=(Option("all", "show every run on this machine that is going on"), JSON),
    ),
    Command(
        "stop", "stop a run after the iteration it is in",
        options=(Option("now", "end the agent at once; what it did is kept"), JSON),
        arguments=(RUN,),
        more="`ralph run` goes on with it later.",
    ),
    Command("pause", "let a run rest after the iteration it is in", options=(JSON,), arguments=(RUN,)),
    Command("resume", "let a run go on that was told to pause", options=(JSON,), arguments=(RUN,)),
    Command(
        "tell", "tell the agent something with its next prompt",
        options=(OF_RUN, JSON),
        arguments=(
            Argument("TEXT", "what to tell, - for stdin; several words need no quotes", required=True, many=True),
        ),
        examples=(('ralph tell use the new API', "heard from the next iteration on"),),
    ),
    Command(
        "log", "show what the agent said and did",
        options=(
            Option("follow", "go on as more is written", short="f"),
            Option("iteration", "one iteration only", short="n", kind=NUMBER, metavar="ITERATION"),
            Option("verbose", "show all that the agent said and did", short="v"),
            Option("raw", "the agent's output as it came"),
            JSON,
        ),
        arguments=(RUN,),
    ),
    Command(
        "list", "list the runs of this repository",
        options=(Option("all", "of every repository"), Option("names", "only their names, one a line"), JSON),
    ),
    Command(
        "usage", "show the tokens and the cost of every agent on this machine",
        options=(
            Option("since", "from this day or moment on, or so long ago", kind=TEXT, metavar="TIME"),
            Option("until", "up to this moment, or to the end of this day", kind=TEXT, metavar="TIME"),
            Option("today", "since midnight"),
            Option("week", "the last 7 days, today among them"),
            Option("month", "the last 30 days; so it is without any of these"),
            Option("by", "what makes a row (default day)", kind=CHOICE, choices=USAGE_BY, metavar="WHAT"),
            JSON,
        ),
        more=f"WHAT is one of {', '.join(USAGE_BY)}. Read from the session files of claude, codex, gemini, opencode,"
        " copilot and qwen, each answer counted once. Ends with 1 when a file cannot be read, and names it.",
        examples=(
            ("ralph usage", "the last 30 days, day by day"),
            ("ralph usage --since 2026-01-01 --by project", "where it went this year"),
            ("ralph usage --since 5h --by model", "the last five hours"),
            ("ralph usage --today --by story", "what each story of your runs took"),
        ),
    ),
    Command(
        "validate", "look at branch, feature folder and files, and run nothing",
        options=(JSON,),
        more="Ends with 1 when there is an error, with 0 when there are warnings only.",
    ),
    Command(
        "trust", "agree to what this repository's config.yaml runs and allows",
        options=(
            Option("list", "show every repository that something was agreed to for"),
            Option("remove", "agree no more: the next run asks again"),
            JSON,
        ),
        more="Without an option it shows the commands and permissions, and remembers that they are agreed to.",
    ),
    Command("archive", "move the finished feature folder into .ralph/archive", options=(YES, JSON)),
    Command(
        "undo", "put the worktree back to how it was before an iteration",
        options=(OF_RUN, Option("back", "take back the last undo"), YES, JSON),
        arguments=(Argument("ITERATION", "the iteration to take back; by default the last one", kind=NUMBER),),
        more="Nothing is lost: what is taken back is kept in a ref, and its name is printed.",
    ),
    Command(
        "config", "show every setting and where it comes from",
        options=(Option("agents", "only the names of the agents there are, one a line"), JSON),
    ),
    Command("agents", "list the agents there are, and what is known of each", options=(JSON,)),
    Command(
        "doctor", "look at all that a run needs, and say what to do",
        options=(Option("probe", "start the agents once and say what has drifted; costs a few cents"), YES, JSON),
        arguments=(Argument("AGENT", "the one to probe; by default every one that is installed", kind=AGENT_NAME),),
        more="Ends with 1 when something stands against a run.",
        examples=(("ralph doctor --probe claude", "is its stream still what is expected?"),),
    ),
    Command(
        "demo", "watch a small run with a scripted agent: no account, no cost",
        options=(Option("keep", "build it in this folder and leave it there", kind=FOLDER, metavar="DIR"),),
    ),
    Command(
        "completion", "print a script that completes commands and options",
        arguments=(Argument("SHELL", "the shell it is for: bash, zsh or fish", required=True, choices=SHELLS),),
        examples=(
            ('eval "$(ralph completion bash)"', "in ~/.bashrc"),
            ('eval "$(ralph completion zsh)"', "in ~/.zshrc, after compinit"),
            ("ralph completion fish | source", "in ~/.config/fish/config.fish"),
        ),
    ),
)  # fmt: skip

HELP_COMMAND = Command(
    "help", "show this help, or that of one command",
    options=(JSON,),
    arguments=(Argument("COMMAND", "the command to explain", choices=(*(one.name for one in COMMANDS), "help")),),
)  # fmt: skip

RALPH = Program(
    "ralph",
    "Runs a coding agent in a loop, a fresh session each time, until the work is verifiably done.",
    (*COMMANDS, HELP_COMMAND),
    (
        ("ralph demo", "see it work, without an account"),
        ("ralph validate", "are the branch and its files ready?"),
        ("ralph run", "work until every story passes"),
        ("ralph log -f", "watch it from another terminal"),
    ),
)

"""The only room that touches the machine: child processes, git, files."""

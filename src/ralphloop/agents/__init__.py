"""Agent CLIs: how each is called and how its stream is read. Text in, values out."""

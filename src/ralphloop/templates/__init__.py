"""Files that ship with the package: prompts, examples, the scripted agent and the demo."""

"""The session files that agents leave on disk: a table, and one file an agent."""

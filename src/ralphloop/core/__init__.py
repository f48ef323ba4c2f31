"""Pure nouns and verbs: no clock, disk, environment or child process here."""

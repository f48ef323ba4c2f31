"""Front ends for a terminal: parse, call, print."""

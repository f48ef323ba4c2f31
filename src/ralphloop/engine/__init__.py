"""The loop on this machine: decide, perform, write down."""

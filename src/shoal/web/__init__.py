"""The workbench: pages on this machine for people who do not program."""

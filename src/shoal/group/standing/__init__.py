"""Boxes and lists of a register: what was once shown of a person is never shown again more finely."""

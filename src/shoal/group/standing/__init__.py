"""Cells and lists of a register: what they all tell of a person is shared by k who did not move."""

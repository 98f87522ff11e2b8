"""Cells and lists of a register: what all of them tell of a person is shared by k who were there as long."""

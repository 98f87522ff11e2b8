"""The loops of nng: boxes around near rows, and the largest of them made smaller."""

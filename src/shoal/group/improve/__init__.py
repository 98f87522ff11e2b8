"""Improvement of any grouping whose objective is the total loss."""

"""Loops over tables that are cut into parts."""

"""Compiled loops: arrays in, arrays out, no messages, no randomness of their own."""

"""The values that travel between the rooms. Frozen, small, and without behaviour of their own."""

"""Boxes that stay: which covers a point, which is cheapest to join, who is inside."""

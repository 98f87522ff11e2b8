"""Databases, as those who read tables from them and those who write tables to them both need them."""

"""Groups improved block by block: local search, small pools of groups rebuilt, rows that change places."""

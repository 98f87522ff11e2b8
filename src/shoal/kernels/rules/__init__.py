"""Groups made to obey rules: how far off they are, and records exchanged, traded or cut until they do."""

"""The verbs in order, one file for each thing a user asks for."""

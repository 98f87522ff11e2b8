"""An independent judgement of a finished table. Imports nothing that helped make it."""

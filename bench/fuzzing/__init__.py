"""What `bench/fuzz.py` is made of: random tables and plans, and a judge of its own."""

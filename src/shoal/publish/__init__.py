"""The last verb: a judged table, its certificate and its receipt go to disk, or nothing does.

Import from its files: nobody who asks whether a file can be written waits for Polars.
"""

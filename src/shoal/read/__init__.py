"""From files to values: tables, hierarchies and plans. The only room that opens what a user names.

Import from its files: nobody who reads a table waits for YAML.
"""

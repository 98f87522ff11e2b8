"""What may be shown of rows of which something was shown before."""

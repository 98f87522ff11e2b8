"""What the methods of a family say of themselves and do alike."""

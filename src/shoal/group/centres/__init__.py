"""What gather, centre and cellular share: groups around centres, found, moved and eased."""

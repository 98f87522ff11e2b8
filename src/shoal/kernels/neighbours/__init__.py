"""Who stands near whom: rows in a tree of boxes, and the nearest of each row, exact or nearly so."""

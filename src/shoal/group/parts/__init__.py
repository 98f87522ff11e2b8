"""Tables that are grouped part by part: how they are cut, and what is done with a part."""

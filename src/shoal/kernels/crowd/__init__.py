"""The loops of crowd: all boxes worth a look, the cheapest crowd first, and the rows that are left over."""

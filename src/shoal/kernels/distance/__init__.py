"""What a set of codes gives up and how far rows are apart: the measures that all others stand on."""

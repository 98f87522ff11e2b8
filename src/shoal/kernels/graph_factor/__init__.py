"""The loops of pairs and triples: edges of least weight that give every record its degree."""

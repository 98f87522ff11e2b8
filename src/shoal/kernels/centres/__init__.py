"""The loops of gather, centre and cellular: groups around centres, and the duals that prove a bound."""

"""What only a lower bound needs: shares of rows, raised until the boxes can bear no more."""

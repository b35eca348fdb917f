"""Which words carry the bias: integrated gradients, their runs, tables and pictures."""

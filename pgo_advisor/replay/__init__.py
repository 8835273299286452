"""From the tables to a prediction: the recorded compiles, replayed with inputs declared dynamic."""

"""The storm: a demonstration that mail survives kills, rivals and crowds, and the proof that it did."""

"""Work-sync: does each member know its current work?"""

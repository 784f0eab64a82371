"""Compiling, specialising and calling what `adjit.transform` makes."""

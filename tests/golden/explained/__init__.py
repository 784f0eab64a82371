"""What `explain` says of a few programs, one text file a case: reviewed like code."""

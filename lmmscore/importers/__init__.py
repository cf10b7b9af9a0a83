"""What others have published or arranged, brought into our own formats."""

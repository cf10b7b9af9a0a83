"""Chat transcripts as dialogs."""

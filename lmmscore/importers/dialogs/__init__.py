"""Published prompts, transcripts and whole protocols, turned into dialogs that play their words."""

"""Published prompts and transcripts → dialogs that play their exact words."""

from lmmscore.importing.document import Draft, can_be_set, import_document

__all__ = ["Draft", "can_be_set", "import_document"]

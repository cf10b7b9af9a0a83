"""Published prompts and transcripts → dialogs that play their exact words."""

from lmmscore.importing.document import Draft, import_document

__all__ = ["Draft", "import_document"]

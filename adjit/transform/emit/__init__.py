"""IR as Python text.

In: a function. Out: `Emitted`: the text and the objects that it names.

    emit(function)                %y = call mul(%x, %x); return %y      ->      return x * x
"""

from adjit.transform.emit.emit import Emitted, emit, texts_of
from adjit.transform.emit.modules import module_text, not_importable
from adjit.transform.emit.source_record import recorded

__all__ = ["Emitted", "emit", "module_text", "not_importable", "recorded", "texts_of"]

"""What counts as an image id and as text, for every reader."""


def is_image_id(value) -> bool:
    """A whole number that fits 64 bits; True is none.

    >>> is_image_id(391895), is_image_id(True), is_image_id(2**70), is_image_id("7")
    (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def is_text(value) -> bool:
    """A string that can be written: half a surrogate pair cannot.

    >>> is_text("a man"), is_text(None), is_text(chr(0xD83D))
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False

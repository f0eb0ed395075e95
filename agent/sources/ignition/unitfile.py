"""What Ignition checks of a unit file before it believes in it: less than systemd, and in its own way.

The library behind Ignition reads through a buffer of 4096 bytes and looks only between two steps, and only
where the buffer happens to reach, whether the line ahead is too long. Which units are refused depends on
that, so it is followed here quirk by quirk. Reading kubelet.service as systemd does is done elsewhere.
"""

import re

_BUFFER = 4096
_LONGEST_LINE = 2048
_NEWLINE = re.compile(rb"[\r\n]")
_BEFORE_SECTION = re.compile(rb"[\[#;]")
_LINE = re.compile(rb"[^\r\n]+")
_BLANK_LINES = re.compile(rb"[ \t\r\n]+")
_AFTER_NAME = re.compile(rb"[=\r\n]")
# str.strip() alone would take the separators 0x1c to 0x1f for blanks too.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class NotAUnit(Exception):
    """The text says why."""


def sections(contents: str) -> frozenset[str]:
    """The sections that have an option. Raises NotAUnit."""
    # Half a character, which JSON can carry, is told of by whoever reads the document; here it is any other.
    reader = _Reader(contents.encode(errors="replace"))
    reader.read()
    return frozenset(reader.found)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._short_lines = all(line.end() - line.start() < _LONGEST_LINE for line in _LINE.finditer(data))
        self._buffered = len(data) if self._short_lines else 0
        """How far the buffer reaches, from `_at`. Where all lines are short it makes no difference."""
        self.found: set[str] = set()

    def read(self) -> None:
        if not self._first_section():
            return
        section = self._section()
        while True:
            self._look_ahead()
            before = self._at
            character = self._character()
            if not character:
                return
            if character in _BLANKS:
                self._skip_blank_lines()
                continue
            if character == "[":
                section = self._section()
            elif character in "#;":
                self._comment()
            else:
                self._at = before
                self._option(section)

    def _first_section(self) -> bool:
        """Anything may stand before the first section. Leaves the place behind its bracket."""
        while True:
            self._skip_to_sign()
            self._look_ahead()
            character = self._character()
            if not character:
                return False
            if character == "[":
                return True
            if character in "#;":
                self._comment()

    def _skip_to_sign(self) -> None:
        if self._short_lines:
            found = _BEFORE_SECTION.search(self._data, self._at)
            self._at = found.start() if found else len(self._data)

    def _skip_blank_lines(self) -> None:
        if self._short_lines and (found := _BLANK_LINES.match(self._data, self._at)):
            self._at = found.end()

    def _section(self) -> str:
        self._look_ahead()
        name, ended = self._through(b"]")
        if not ended:
            raise NotAUnit("a section's name has no closing bracket")
        self._look_ahead()
        if self._line().decode().strip(_BLANKS):
            raise NotAUnit("something follows a section's name on its line")
        return name[:-1].decode()

    def _comment(self) -> None:
        self._look_ahead()
        # Unlike in systemd, a backslash continues a comment.
        while self._line().removesuffix(b" ").endswith(b"\\"):
            pass

    def _option(self, section: str) -> None:
        self._look_ahead()
        end = _AFTER_NAME.search(self._data, self._at)
        if end is None or end[0] != b"=":
            raise NotAUnit("a line in a section has no equals sign")
        self._advance(end.end())
        continued = True
        while continued:
            self._look_ahead()
            line = self._line()
            continued = line.endswith(b"\\")
        self.found.add(section)

    def _look_ahead(self) -> None:
        if self._buffered - self._at < _LONGEST_LINE:
            return
        if not _NEWLINE.search(self._data, self._at, self._at + _LONGEST_LINE):
            raise NotAUnit(f"a line is longer than the {_LONGEST_LINE} bytes that systemd reads")

    def _character(self) -> str:
        """The next one, or nothing at the end."""
        if self._at >= len(self._data):
            return ""
        first = self._data[self._at]
        length = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        self._advance(self._at + length)
        return self._data[self._at - length : self._at].decode()

    def _advance(self, to: int) -> None:
        """Goes on character by character; the buffer is filled whenever the next one isn't whole in it."""
        while self._buffered < to:
            start = max(self._buffered, self._at)
            while start > self._at and self._data[start] & 0xC0 == 0x80:
                start -= 1
            self._buffered = min(len(self._data), start + _BUFFER)
        self._at = to

    def _line(self) -> bytes:
        """The rest of the line without its end. Of a CR LF the CR stays, as in Ignition."""
        line, ended = self._through(b"\n")
        return line[:-1] if ended else line.removesuffix(b"\r")

    def _through(self, mark: bytes) -> tuple[bytes, bool]:
        """Everything up to a mark, with it; and whether the mark was there."""
        start = self._at
        while True:
            found = self._data.find(mark, self._at, self._buffered)
            if found >= 0:
                self._at = found + 1
                return self._data[start : self._at], True
            if self._buffered - self._at >= _BUFFER:
                self._at = self._buffered
                continue
            reach = min(len(self._data), self._at + _BUFFER)
            if reach == self._buffered:
                self._at = reach
                return self._data[start:], False
            self._buffered = reach

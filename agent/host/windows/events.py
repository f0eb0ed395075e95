"""The Application log."""

import win32evtlog

from agent.host.event_sources import EventSources, kept_text
from agent.host.port import EventLevel
from agent.host.windows.failure import telling


class WindowsEventLog(EventSources):
    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        with telling("write to the event log as", source):
            log = win32evtlog.RegisterEventSource(None, source)
            try:
                # The text takes the place of %1 in the source's message of that number.
                win32evtlog.ReportEvent(log, level.value, 0, event_id, None, [kept_text(text)], None)
            finally:
                win32evtlog.DeregisterEventSource(log)

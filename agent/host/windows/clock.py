"""Time."""

import time

from agent.host.windows.api.clock import started_at


class WindowsClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def boot(self) -> int:
        return started_at()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

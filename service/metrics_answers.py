"""The resident service's answers on the port for metrics."""

import threading
import time
from collections.abc import Callable

from agent.host.port import Host
from service.keeping import Wishes
from service.metrics import CONTENT_TYPE, Metrics, text
from service.metrics_port import METRICS_PORT
from service.scraping import ADDRESS, Answer, Scraping, health
from service.signals import Signals
from service.telling import Event, Telling

_PORT_AGAIN_SECONDS = 30.0


def answer_on(port: int, host: Host, signals: Signals, telling: Telling, wishes: Wishes | None) -> None:
    """Answer from now on, or as soon as the port is free."""
    found = Metrics(host, telling, wishes)

    def told() -> Answer:
        return Answer(200, text(found.all()), CONTENT_TYPE)

    def tell(fault: OSError) -> None:
        fault_text = (
            f"who asks for metrics at port {port} has no answer for a while: {fault.strerror or fault}"
        )
        telling.tell_once((METRICS_PORT, "answers"), Event.TROUBLE, fault_text)

    def is_had() -> bool:
        answers = {"/metrics": told, "/healthz": lambda: health(signals)}
        try:
            Scraping(port, answers, tell)
        except OSError as fault:
            fault_text = (
                f"no metrics yet: port {port} of {ADDRESS} cannot be had ({fault.strerror});"
                f" free it, or give another by: {host.called} daemon install {METRICS_PORT} N"
            )
            telling.tell_once(METRICS_PORT, Event.TROUBLE, fault_text)
            return False
        if telling.is_over(METRICS_PORT):
            telling.note(f"metrics can be asked for at port {port} now")
        return True

    if not is_had():
        threading.Thread(target=_repeat, args=(is_had,), daemon=True).start()


def _repeat(is_done: Callable[[], bool]) -> None:
    """Try until it succeeds: Windows does not report that another program gives up a port."""
    while not is_done():
        time.sleep(_PORT_AGAIN_SECONDS)

"""Growing pauses between attempts."""

from agent.backoff import Backoff


def test_each_pause_is_twice_as_long_up_to_the_longest_until_an_attempt_succeeds() -> None:
    backoff = Backoff(1.0, 5.0)
    assert [backoff.next() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.reset()
    assert (backoff.pause, backoff.next()) == (1.0, 1.0)

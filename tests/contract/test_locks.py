"""Whether somebody has a lock."""

from __future__ import annotations

import os
import subprocess

from contract.world import World

HOLDER = """
import os
with host.processes.exclusive("contract") as held:
    print(held, flush=True)
    print(os.getpid(), flush=True)
    input()
"""


def test_a_lock_that_is_held_is_told_and_not_taken(world: World) -> None:
    processes = world.host.processes
    assert not processes.is_held("contract")
    with processes.exclusive("contract"):
        assert processes.is_held("contract")
        assert not processes.is_held("contract-2")
    assert not processes.is_held("contract")
    with processes.exclusive("contract") as again:
        assert again


def test_another_process_holds_it(world: World) -> None:
    words = world.other_process(HOLDER)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"True"
        assert world.host.processes.is_held("contract")
        assert world.host.processes.holder("contract") == int(holder.stdout.readline())
        holder.kill()
        holder.wait()
    assert not world.host.processes.is_held("contract")
    assert world.host.processes.holder("contract") is None


def test_what_a_power_cut_left_of_a_lock_is_held_by_nobody(world: World) -> None:
    processes = world.host.processes
    world.leave_lock("contract")
    assert not processes.is_held("contract")
    assert processes.holder("contract") is None
    with processes.exclusive("contract") as held:
        assert held
        assert processes.is_held("contract")
        assert processes.holder("contract") == os.getpid()
    assert not processes.is_held("contract")

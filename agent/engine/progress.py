"""Whom the engine tells what it is doing."""

from agent.engine.journal import Step
from agent.engine.planning import Change, Plan
from agent.engine.target import Target


class Progress:
    def waiting(self, line: str) -> None:
        """For another process to let go of this machine, before anything else."""

    def planned(self, plan: Plan) -> None: ...
    def resuming(self, steps: int) -> None:
        """A run that was interrupted after so many steps is finished."""

    def pausing(self, target: Target) -> None: ...
    def changing(self, change: Change) -> None: ...
    def taking_back(self, step: Step) -> None: ...


class Silent(Progress):
    """For whoever only wants the result."""

"""Which wmcb.exe is to keep the node. Nothing of the node itself, and so no kind."""

from agent.sources.forms import Checking, Fields, number, text
from agent.sources.node_configuration.kinds.artifacts import SIGNER, SOURCE, signer, source
from agent.sources.node_configuration.kinds.kind import Given
from agent.sources.node_configuration.kinds.values import SHA256, seconds_form
from agent.sources.node_configuration.model import OwnProgram
from agent.sources.report import Origin, Place

_HOUR = 3600
_WITHIN_SECONDS = 300.0

FORM = Fields(
    {
        "source": SOURCE,
        "sha256": SHA256,
        "signer": SIGNER,
        "withinSeconds": seconds_form(
            "How long it has until it follows the ConfigMap, 300 if nothing is said. Else the one before it"
            " is put back, and this one is not tried again until the ConfigMap is another.",
            most=_HOUR,
            least=5,
        ),
    },
    "The wmcb.exe, as it is shipped, that is to keep the node in place of the one that does. It counts where"
    " a ConfigMap is followed, and takes its turn by rollout.",
    needed=("source", "sha256"),
)


def own_program(checking: Checking, given: Given, place: Place, origin: Origin) -> OwnProgram:
    return OwnProgram(
        source(checking, given, place),
        text(given["sha256"]).lower(),
        signer(given),
        number(given.get("withinSeconds"), _WITHIN_SECONDS),
        origin,
    )

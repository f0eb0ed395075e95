"""What commands say to programs: JSON with a format number.

Within one number fields are added, never taken away or given another meaning. A command that ends with a
failure says, in place of its own document,

    format      1
    error       kind ("usage", "input", "refused", "failed", "interrupted", or "unexpected" for a fault of
                wmcb's own), message, where (an option, a place in a document, a file or the id of a check;
                null if it is nowhere in particular), exit_code, details (lines of a program's log),
                others (message and where of what else was found wrong)
"""

import json

from agent.cli.failure import Failure
from agent.redaction import Redacted, redacted_document

FORMAT = 1


def document(**fields: object) -> Redacted:
    return Redacted(json.dumps(redacted_document({"format": FORMAT, **fields}), indent=2))


def error_document(failure: Failure) -> Redacted:
    return document(
        error={
            "kind": failure.kind,
            **_told(failure),
            "exit_code": failure.exit_code,
            "details": list(failure.details),
            "others": [_told(other) for other in failure.others],
        }
    )


def _told(failure: Failure) -> dict[str, str | None]:
    return {"message": str(failure), "where": failure.where or None}

"""What Microsoft Defender answers when it is asked for its exclusions."""


def is_refusal(answer: str) -> bool:
    r"""No path, but a sentence, as "N/A: Must be an administrator to view exclusions".

    A path has a colon after its drive at most; but one for some scans alone ends as \:{ScanTrigger:OnAccess}.
    """
    beginning, _, _ = answer.partition("\\")
    return ":" in beginning[len("C:") :]

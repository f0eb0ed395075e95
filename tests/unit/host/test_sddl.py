from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import protection
from agent.host.sddl import (
    ADMINISTRATORS,
    EVERYONE,
    FILE_ALL,
    FILE_EXECUTE,
    FILE_READ,
    FILE_WRITE,
    OWNER_RIGHTS,
    READ_CONTROL,
    SYSTEM,
    USERS,
    WRITE_DAC,
    Ace,
    AceFlags,
    AceKind,
    BadSddl,
    SecurityDescriptor,
)

SOMEBODY = "S-1-5-21-1-2-3-1001"

sids = st.sampled_from(
    [SYSTEM, ADMINISTRATORS, USERS, EVERYONE, OWNER_RIGHTS, SOMEBODY, "LA", "S-1-5-84-0-0-0-0-0"]
)
simple_aces = st.builds(
    Ace,
    st.sampled_from([AceKind.ALLOW, AceKind.DENY]),
    st.integers(0, 0x1F).map(AceFlags),
    st.integers(0, 0xFFFF_FFFF),
    sids,
)
other_aces = st.sampled_from(
    [
        "AU;SAFA;FA;;;WD",
        "OA;;CR;ab721a53-1e2f-11d0-9819-00aa0040529b;;PS",
        'XA;;FX;;;WD;(@User.T=="(" && (1))',
    ]
).map(lambda text: Ace(AceKind.OTHER, AceFlags(0), 0, "", text))
descriptors = st.builds(
    SecurityDescriptor,
    st.none() | sids,
    st.none() | sids,
    st.none() | st.lists(simple_aces | other_aces, max_size=6).map(tuple),
    st.booleans(),
)


@given(descriptors)
def test_what_is_written_is_read_back_the_same(descriptor: SecurityDescriptor) -> None:
    assert SecurityDescriptor.parse(str(descriptor)) == descriptor


@given(descriptors)
def test_a_descriptor_protects_as_itself(descriptor: SecurityDescriptor) -> None:
    assert descriptor.equivalent(descriptor)


@given(st.text('OGDSPABIWY:();-0123456789xFRC"', max_size=40))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        SecurityDescriptor.parse(text)
    except BadSddl as refused:
        assert 0 <= refused.place <= len(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("O:BAG:SYD:P(A;OICI;FA;;;SY)", "O:BAG:SYD:P(A;OICI;FA;;;SY)", id="as-we-write"),
        pytest.param(
            "O:S-1-5-32-544D:PAI(A;;FA;;;S-1-5-18)", "O:BAD:P(A;;FA;;;SY)", id="sids-and-auto-inherited"
        ),
        pytest.param("D:ARAI(A;CIOI;GRGX;;;BU)", "D:(A;OICI;0xa0000000;;;BU)", id="flags-in-another-order"),
        pytest.param("D:(A;;0X1F01FF;;;WD)", "D:(A;;FA;;;WD)", id="mask-in-hexadecimal"),
        pytest.param("D:(A;;2032127;;;WD)", "D:(A;;FA;;;WD)", id="mask-in-decimal"),
        pytest.param("D:(A;;07600777;;;WD)", "D:(A;;FA;;;WD)", id="mask-in-octal"),
        pytest.param(
            "D:(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;WD)", "D:(A;;0xf01ff;;;WD)", id="directory-service-rights"
        ),
        pytest.param("D:(A;;FRFX;;;BU)", "D:(A;;0x1200a9;;;BU)", id="two-rights"),
        pytest.param("", "D:NO_ACCESS_CONTROL", id="nothing-is-no-dacl"),
        pytest.param("D:", "D:", id="empty-dacl"),
        pytest.param("O:LAD:", "O:LAD:", id="account-of-the-machine"),
        pytest.param("O:S-1-0x5-32-544", "O:BAD:NO_ACCESS_CONTROL", id="authority-in-hexadecimal"),
        pytest.param("D:(A;;FA;;;s-1-1-0)", "D:(A;;FA;;;WD)", id="sid-in-small-letters"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert str(SecurityDescriptor.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "place", "fault"),
    [
        pytest.param("O:BAX", 4, "expected O:, G: or D:", id="rubbish-after"),
        pytest.param("D:O:BA", 2, "expected O:, G: or D:", id="wrong-order"),
        pytest.param("O:QQ", 2, "expected a SID", id="unknown-alias"),
        pytest.param("O:S-1-5", 2, "expected a SID", id="sid-without-parts"),
        pytest.param("O:S-1-5-4294967296", 2, "larger than 32 bits", id="sid-part-too-large"),
        pytest.param("D:(A;XX;FA;;;SY)", 5, "expected OI", id="unknown-flag"),
        pytest.param("D:(A;;ZZ;;;SY)", 6, "expected a right", id="unknown-right"),
        pytest.param("D:(A;;0x123456789;;;SY)", 16, "expected ;;;", id="mask-too-long"),
        pytest.param("D:(A;;4294967296;;;SY)", 6, "32 bits", id="mask-too-large"),
        pytest.param("D:(A;;089;;;SY)", 6, "octal", id="no-octal-digit"),
        pytest.param("D:(A;;FA;;SY)", 8, "expected ;;;", id="field-missing"),
        pytest.param("D:(A;;FA;;;SY", 13, "expected )", id="unclosed"),
        pytest.param("D:(XA;;FX;;;WD;(a", 3, "never closed", id="condition-unclosed"),
        pytest.param("D:(a;;FA;;;SY)", 3, "expected A;", id="small-letter-kind"),
        pytest.param("D:NO_ACCESS_CONTROL(A;;FA;;;SY)", 31, "no room", id="null-with-entries"),
        pytest.param("D:S:(AU;SAFA;FA;;;WD)", 2, "audit entries", id="audit"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, place: int, fault: str) -> None:
    with pytest.raises(BadSddl, match="character") as refused:
        SecurityDescriptor.parse(text)
    assert (refused.value.place, fault in str(refused.value)) == (place, True)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param(
            "O:BAD:P(A;;FA;;;SY)", "O:S-1-5-32-544D:PAI(A;;0x1f01ff;;;S-1-5-18)", True, id="aliases"
        ),
        pytest.param("O:BAG:SYD:", "O:BAG:BUD:", True, id="group-counts-for-nothing"),
        pytest.param(
            "D:(A;;FA;;;SY)(A;;FR;;;BU)", "D:(A;;FR;;;BU)(A;;FA;;;SY)", True, id="order-among-allows"
        ),
        pytest.param(
            "D:(D;;FW;;;BU)(A;;FA;;;WD)", "D:(A;;FA;;;WD)(D;;FW;;;BU)", False, id="deny-after-allow"
        ),
        pytest.param("D:(A;;GA;;;SY)", "D:(A;;FA;;;SY)", True, id="generic"),
        pytest.param("D:(A;;FR;;;BU)(A;;FX;;;BU)", "D:(A;;FRFX;;;BU)", True, id="one-grant-in-two-entries"),
        pytest.param(
            "D:(A;OICI;GA;;;SY)", "D:(A;;FA;;;SY)(A;OICIIO;GA;;;SY)", True, id="inheritable-split-by-windows"
        ),
        pytest.param("D:(A;OICI;FA;;;SY)", "D:(A;OI;FA;;;SY)(A;CIIO;FA;;;SY)", True, id="inheritance-split"),
        pytest.param("D:(A;OICI;FA;;;SY)", "D:(A;;FA;;;SY)", False, id="inheritance-missing"),
        pytest.param("D:(A;OICI;FA;;;SY)", "D:(A;OICINP;FA;;;SY)", False, id="inheritance-not-passed-on"),
        pytest.param("D:(A;ID;FA;;;SY)", "D:(A;;FA;;;SY)", True, id="where-it-came-from"),
        pytest.param("D:P(A;;FA;;;SY)", "D:(A;;FA;;;SY)", False, id="not-protected"),
        pytest.param("O:BAD:", "O:SYD:", False, id="another-owner"),
        pytest.param("D:", "", False, id="nobody-and-everybody"),
        pytest.param("D:(A;;FA;;;SY)(A;;FR;;;WD)", "D:(A;;FA;;;SY)", False, id="one-grant-more"),
        pytest.param("D:(A;;FA;;;SY)(XA;;FR;;;WD;(1))", "D:(A;;FA;;;SY)", False, id="a-condition-more"),
    ],
)
def test_equivalent(left: str, right: str, same: bool) -> None:
    one, other = SecurityDescriptor.parse(left), SecurityDescriptor.parse(right)
    assert (one.equivalent(other), other.equivalent(one)) == (same, same)


OWNERS = READ_CONTROL | WRITE_DAC


@pytest.mark.parametrize(
    ("text", "sids", "mask"),
    [
        pytest.param("O:BAD:(A;;FR;;;BU)", {USERS}, FILE_READ, id="granted"),
        pytest.param("O:BAD:(A;;FR;;;BU)", {EVERYONE}, 0, id="to-somebody-else"),
        pytest.param("O:BAD:", {USERS}, 0, id="empty-dacl"),
        pytest.param("O:BAD:NO_ACCESS_CONTROL", {USERS}, FILE_ALL, id="no-dacl"),
        pytest.param(
            "O:BAD:(D;;FW;;;BU)(A;;FA;;;WD)", {USERS, EVERYONE}, FILE_ALL & ~FILE_WRITE, id="denied-before"
        ),
        pytest.param("O:BAD:(A;;FA;;;WD)(D;;FW;;;BU)", {USERS, EVERYONE}, FILE_ALL, id="denied-too-late"),
        pytest.param("O:BAD:(A;;GR;;;BU)(A;;GX;;;BU)", {USERS}, FILE_READ | FILE_EXECUTE, id="generic"),
        pytest.param("O:BAD:(A;OICIIO;FA;;;BU)", {USERS}, 0, id="for-what-is-below-only"),
        pytest.param("O:BUD:", {USERS}, OWNERS, id="owner"),
        pytest.param("O:BUD:(D;;FA;;;BU)", {USERS}, OWNERS, id="owner-cannot-be-denied"),
        pytest.param("O:BUD:(A;;FR;;;OW)", {USERS}, FILE_READ, id="owner-rights-in-place-of-the-owner's"),
        pytest.param("O:BUD:(A;;RC;;;OW)", {EVERYONE}, 0, id="owner-rights-are-the-owner's-only"),
        pytest.param("O:BUD:(A;IO;FR;;;OW)", {USERS}, OWNERS, id="owner-rights-for-what-is-below"),
        pytest.param("O:BAD:(XA;;FA;;;BU;(1))", {USERS}, 0, id="conditions-are-not-judged"),
    ],
)
def test_granted(text: str, sids: set[str], mask: int) -> None:
    assert SecurityDescriptor.parse(text).granted(sids) == mask


ANYBODY = {USERS, EVERYONE, "S-1-5-11", "S-1-5-4"}


@pytest.mark.parametrize(
    ("descriptor", "for_anybody"),
    [
        pytest.param(protection.PRIVATE_FILE, 0, id="private-file"),
        pytest.param(protection.PRIVATE_DIRECTORY, 0, id="private-directory"),
        pytest.param(protection.PROGRAM_FILE, FILE_READ | FILE_EXECUTE, id="program-file"),
        pytest.param(protection.PROGRAM_DIRECTORY, FILE_READ | FILE_EXECUTE, id="program-directory"),
    ],
)
def test_what_our_descriptors_grant(descriptor: SecurityDescriptor, for_anybody: int) -> None:
    assert descriptor.owner == ADMINISTRATORS
    assert descriptor.protected
    assert descriptor.granted(ANYBODY) == for_anybody
    assert descriptor.granted({SYSTEM}) == descriptor.granted({ADMINISTRATORS}) == FILE_ALL


@pytest.mark.parametrize("descriptor", [protection.PRIVATE_DIRECTORY, protection.PROGRAM_DIRECTORY], ids=str)
def test_what_is_made_in_our_folders_is_as_protected(descriptor: SecurityDescriptor) -> None:
    inherits = AceFlags.OBJECT_INHERIT | AceFlags.CONTAINER_INHERIT
    assert all(ace.flags == inherits for ace in descriptor.aces or ())

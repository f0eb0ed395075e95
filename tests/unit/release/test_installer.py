"""What an installer may be called; tests/windows installs one."""

from __future__ import annotations

from pathlib import Path

import pytest

from releasing import ReleaseError, installer


@pytest.mark.parametrize("release", ["1.2", "1.2.3.4", "1.2.3rc1", "v1.2.3", "256.0.0", "1.2.65536", ""])
def test_a_release_that_windows_installer_has_no_number_for_is_refused(release: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no version for Windows Installer"):
        installer.build(tmp_path / "wmcb.exe", tmp_path / "wmcb.msi", release)


def test_each_release_is_another_product_of_one_family() -> None:
    codes = {installer.product_code(release) for release in ("1.2.3", "1.2.4", "1.2.3")}
    assert len(codes) == 2
    assert all(code.startswith("{") and code == code.upper() for code in codes)

"""The release that this source tree is, and the commit that a built exe came from."""

RELEASE = "0.1.0"

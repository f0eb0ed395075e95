//go:build commands

package lab

import (
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/windows/win-bridge"
	_ "github.com/containernetworking/plugins/plugins/main/windows/win-overlay"
)

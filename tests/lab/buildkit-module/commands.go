//go:build commands

package lab

import (
	_ "github.com/docker/buildx/cmd/buildx"
	_ "github.com/google/go-containerregistry/cmd/registry"
	_ "github.com/moby/buildkit/cmd/buildkitd"
)

//go:build commands

package lab

import _ "github.com/rhysd/actionlint/cmd/actionlint"

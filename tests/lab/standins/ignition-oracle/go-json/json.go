// Package json is what github.com/ajeddeloh/go-json became.
package json

import real "github.com/coreos/go-json"

type (
	Node               = real.Node
	SyntaxError        = real.SyntaxError
	UnmarshalTypeError = real.UnmarshalTypeError
)

func Unmarshal(data []byte, v any) error { return real.Unmarshal(data, v) }

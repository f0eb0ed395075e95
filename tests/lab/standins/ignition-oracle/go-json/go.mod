module github.com/ajeddeloh/go-json

go 1.26

require github.com/coreos/go-json v0.0.0-20230131223807-18775e0fb4fb

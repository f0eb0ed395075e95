module lab/ignition-oracle

go 1.26

require (
	github.com/coreos/ignition v0.35.0
	github.com/coreos/ignition/v2 v2.24.0
	github.com/coreos/vcontext v0.0.0-20230201181013-d72178a18687
	github.com/vincent-petithory/dataurl v1.0.0
)

require (
	github.com/ajeddeloh/go-json v0.0.0 // indirect
	github.com/aws/aws-sdk-go-v2 v1.39.2 // indirect
	github.com/coreos/go-json v0.0.0-20230131223807-18775e0fb4fb // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd v0.0.0-20191104093116-d3cd4ed1dbcf // indirect
	github.com/coreos/go-systemd/v22 v22.6.0 // indirect
	go4.org v0.0.0-20260112195520-a5071408f32f // indirect
)

replace github.com/ajeddeloh/go-json => ./go-json

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Behaviour is read once, at the start: first what the program's own file ends with, which goes wherever it is
// copied to; then kubelet.exe.behaviour.json beside it. With neither it is a healthy kubelet.
type Behaviour struct {
	// What it answers to --version.
	Version string `json:"version"`
	// Where each start is written down, in place of kubelet.exe.starts.
	Starts string `json:"starts"`
	// A file that each start and stop is told in as well, a line each: "start kubelet.exe". Several may share it.
	Turns string `json:"turns"`
	// Where healthz and the commands of http.go are served.
	Address string `json:"address"`
	// Said on stderr, where the real kubelet writes its log, as soon as it starts.
	Says string `json:"says"`
	// Exit with this code before anything else: no talk with the Service Control Manager.
	ExitAtOnce *int `json:"exit_at_once"`
	// The file that it waits for while START_PENDING, and whether to report checkpoints meanwhile or to fall silent.
	StartUntil       string `json:"start_until"`
	StartCheckpoints bool   `json:"start_checkpoints"`
	// The file that it waits for while STOP_PENDING.
	StopUntil string `json:"stop_until"`
	// What a pending start and stop name as the time they need at most.
	WaitHintMilliseconds uint32 `json:"wait_hint_milliseconds"`
	// Exit while STOP_PENDING without saying STOPPED, as the real kubelet does.
	VanishOnStop bool `json:"vanish_on_stop"`
	// The exit code of a stop, and the service's own one if that is ERROR_SERVICE_SPECIFIC_ERROR (1066).
	StopCode uint32 `json:"stop_code"`
	// Start, and then answer neither healthz nor a stop.
	Hang bool `json:"hang"`
	// Start and stop as it should, and answer healthz with 500.
	Unwell bool `json:"unwell"`
}

// Put together when it starts, so that it is nowhere in the program but where it was put.
var mark = append([]byte("\n-- "), "behaviour: "...)

func readBehaviour(program string) (Behaviour, error) {
	behaviour := Behaviour{Address: "127.0.0.1:10248", Version: "1.36.3", Starts: program + ".starts"}
	own, err := os.ReadFile(program)
	if err != nil {
		return behaviour, err
	}
	if _, said, found := bytes.Cut(own, mark); found {
		if err := json.Unmarshal(said, &behaviour); err != nil {
			return behaviour, err
		}
	}
	beside, err := os.ReadFile(program + ".behaviour.json")
	if errors.Is(err, fs.ErrNotExist) {
		return behaviour, nil
	}
	if err != nil {
		return behaviour, err
	}
	return behaviour, json.Unmarshal(beside, &behaviour)
}

// until looks for a file ten times a second, and says each time that it is not there yet; no name is no waiting.
func until(file string, notYet func()) {
	for file != "" {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(time.Second / 10)
		notYet()
	}
}

// A stand-in for kubelet.exe: starts within milliseconds, does nothing, and fails in every way that it is told to.
//
// It is written in Go, and with golang.org/x/sys/windows/svc, because the real kubelet is: towards the Service
// Control Manager it then behaves as that does, down to what the package does on its own.
//
// It takes any arguments, as it gets the real kubelet's, and heeds only --windows-service (or containerd's --run-service, for whom it stands, too) and --version. What it is to do stands in a file beside it (behaviour.go).
// Each start appends a line of JSON to a second file beside it: arguments, environment and all else that a test may
// want to know of how it was started.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
)

// Start is what one start leaves in kubelet.exe.starts.
type Start struct {
	Arguments []string  `json:"arguments"`
	Environ   []string  `json:"environ"`
	Folder    string    `json:"folder"`
	Pid       int       `json:"pid"`
	Service   bool      `json:"service"`
	Elevated  bool      `json:"elevated"`
	Time      time.Time `json:"time"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet stand-in:", err)
		os.Exit(1)
	}
}

func run() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	behaviour, err := readBehaviour(program)
	if err != nil {
		return err
	}
	if slices.Contains(os.Args, "--version") {
		fmt.Printf("Kubernetes v%s\n", behaviour.Version)
		return nil
	}
	// As the real kubelet has it. x/sys can find out by itself whether it is a service, but not under Wine.
	service := slices.Contains(os.Args, "--windows-service") || slices.Contains(os.Args, "--run-service")
	if err := record(behaviour.Starts, service); err != nil {
		return err
	}
	if err := tell(behaviour.Turns, "start"); err != nil {
		return err
	}
	fmt.Fprint(os.Stderr, behaviour.Says)
	if behaviour.ExitAtOnce != nil {
		os.Exit(*behaviour.ExitAtOnce)
	}
	kubelet := newKubelet(behaviour)
	if service {
		return svc.Run("", &handler{kubelet: kubelet})
	}
	listener, err := kubelet.listen()
	if err != nil {
		return err
	}
	return kubelet.serve(listener)
}

func record(path string, service bool) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	line, err := json.Marshal(Start{
		Arguments: os.Args,
		Environ:   os.Environ(),
		Folder:    folder,
		Pid:       os.Getpid(),
		Service:   service,
		Elevated:  windows.GetCurrentProcessToken().IsElevated(),
		Time:      time.Now(),
	})
	if err != nil {
		return err
	}
	return appendLine(path, line)
}

// tell writes a turn of this program's into the file for them, if there is one.
func tell(path, turn string) error {
	if path == "" {
		return nil
	}
	return appendLine(path, []byte(turn+" "+filepath.Base(os.Args[0])))
}

func appendLine(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(line, '\n'))
	return err
}

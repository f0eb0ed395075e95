// A stand-in for the hns service of Windows, the Host Networking Service: networks, endpoints, namespaces and load
// balancers as documents, with the checks and error codes of the real one, and no network behind them.
//
// computenetwork.dll and vmcompute.dll (the C sources beside this) hand each call on to it, as Windows' own do. So what
// it knows is shared by all programs, and goes where the real one's goes: with its process, or with a reboot.
//
// hns.exe is the service; `hns.exe call NAME GUID JSON [NETWORK]` makes one call, for a test that plays a container
// runtime. Under the name flanneld.exe it plays Flannel's daemon (flannel.go).
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/windows/svc"
)

const folder = `C:\ProgramData\Microsoft\Windows\HNS`

func main() {
	if playsFlannel() {
		fmt.Fprintln(os.Stderr, "flanneld:", flannel())
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == "call" {
		words := append(os.Args[2:], "", "", "")
		answer, err := ask(strings.Join([]string{words[0], words[1], words[3], words[2]}, "\x00"))
		if err != nil {
			fmt.Fprintln(os.Stderr, "hns:", err)
			os.Exit(1)
		}
		fmt.Print(strings.ReplaceAll(answer, "\x00", " "))
		return
	}
	if err := svc.Run("hns", handler{}); err != nil {
		fmt.Fprintln(os.Stderr, "hns:", err)
		os.Exit(1)
	}
}

type handler struct{}

// Execute is called by x/sys once the Service Control Manager is listening.
func (handler) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	status <- svc.Status{State: svc.StartPending}
	kept, err := load(folder)
	if err != nil {
		return false, 1
	}
	if err := serve(&service{kept: kept}); err != nil {
		return false, 2
	}
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for request := range requests {
		switch request.Cmd {
		case svc.Interrogate:
			status <- request.CurrentStatus
		case svc.Stop, svc.Shutdown:
			return false, 0
		}
	}
	return false, 0
}

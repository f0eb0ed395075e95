package main

import (
	"os"

	"golang.org/x/sys/windows/svc"
)

type handler struct {
	kubelet *kubelet
}

// Execute is called by x/sys once the Service Control Manager is listening.
func (h *handler) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	behaviour := h.kubelet.behaviour
	h.start(status)
	// Before it runs: who sees the service running finds healthz answering.
	listener, err := h.kubelet.listen()
	if err != nil { // its port is taken: the real kubelet ends as well
		return false, 1
	}
	failed := make(chan error, 1)
	go func() { failed <- h.kubelet.serve(listener) }()
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for {
		select {
		case <-failed:
			return false, 1
		case request := <-requests:
			switch request.Cmd {
			case svc.Interrogate:
				status <- request.CurrentStatus
			case svc.Stop, svc.Shutdown:
				if h.kubelet.hanging.Load() {
					continue
				}
				if tell(behaviour.Turns, "stop") != nil {
					return false, 1
				}
				stopping := svc.Status{State: svc.StopPending, WaitHint: behaviour.WaitHintMilliseconds}
				status <- stopping
				status <- stopping // taken only when the first has been told
				until(behaviour.StopUntil, func() {})
				if behaviour.VanishOnStop {
					os.Exit(0)
				}
				return false, behaviour.StopCode
			}
		}
	}
}

func (h *handler) start(status chan<- svc.Status) {
	behaviour := h.kubelet.behaviour
	pending := svc.Status{State: svc.StartPending, WaitHint: behaviour.WaitHintMilliseconds}
	status <- pending
	until(behaviour.StartUntil, func() {
		if behaviour.StartCheckpoints {
			pending.CheckPoint++
			status <- pending
		}
	})
}

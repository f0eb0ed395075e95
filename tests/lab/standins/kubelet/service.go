package main

import (
	"os"
	"time"

	"golang.org/x/sys/windows/svc"
)

// How often a pending start reports a checkpoint.
const checkpointEvery = 100 * time.Millisecond

type handler struct {
	kubelet *kubelet
}

// Execute is called by x/sys once the Service Control Manager is listening.
func (h *handler) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	behaviour := h.kubelet.behaviour
	h.start(status)
	failed := make(chan error, 1)
	go func() { failed <- h.kubelet.serve() }()
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for {
		select {
		case <-failed: // its port is taken: the real kubelet ends as well
			return false, 1
		case request := <-requests:
			switch request.Cmd {
			case svc.Interrogate:
				status <- request.CurrentStatus
			case svc.Stop, svc.Shutdown:
				if h.kubelet.hanging.Load() {
					continue
				}
				stopping := svc.Status{State: svc.StopPending, WaitHint: behaviour.WaitHintMilliseconds}
				status <- stopping
				status <- stopping // taken only when the first has been told
				time.Sleep(milliseconds(behaviour.StopMilliseconds))
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
	for ready := time.Now().Add(milliseconds(behaviour.StartMilliseconds)); time.Now().Before(ready); {
		time.Sleep(min(checkpointEvery, time.Until(ready)))
		if behaviour.StartCheckpoints {
			pending.CheckPoint++
			status <- pending
		}
	}
}

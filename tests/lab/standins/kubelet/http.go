package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
)

// kubelet is what goes on whether it is a service or a console program.
type kubelet struct {
	behaviour Behaviour
	hanging   atomic.Bool
}

func newKubelet(behaviour Behaviour) *kubelet {
	k := &kubelet{behaviour: behaviour}
	k.hanging.Store(behaviour.Hang)
	return k
}

func (k *kubelet) listen() (net.Listener, error) {
	return net.Listen("tcp", k.behaviour.Address)
}

// serve answers /healthz, and takes orders: /hang, /heal, and /crash?code=N.
func (k *kubelet) serve(listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(answer http.ResponseWriter, request *http.Request) {
		if k.hanging.Load() {
			<-request.Context().Done()
			return
		}
		if k.behaviour.Unwell {
			http.Error(answer, "unwell", http.StatusInternalServerError)
			return
		}
		fmt.Fprint(answer, "ok")
	})
	mux.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) { k.hanging.Store(true) })
	mux.HandleFunc("/heal", func(http.ResponseWriter, *http.Request) { k.hanging.Store(false) })
	mux.HandleFunc("/crash", func(answer http.ResponseWriter, request *http.Request) {
		code, err := strconv.Atoi(request.URL.Query().Get("code"))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		os.Exit(code)
	})
	return http.Serve(listener, mux)
}

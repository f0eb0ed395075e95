// Command cri is a container runtime that runs nothing and keeps account of everything.
//
// A kubelet under Wine has no containerd beside it. This program answers the kubelet over CRI as containerd would:
// sandboxes and containers are made, started, stopped and removed, images pulled and removed, all in a state file that
// outlives it. Over its control port a test asks what is there and what was asked, and tells it to be down, slow, or
// to answer with errors.
package main

import (
	"flag"
	"log"
	"net/http"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:3735", "the address to speak CRI on")
	control := flag.String("control", "127.0.0.1:3736", "the address to be told what to do on")
	state := flag.String("state", "cri.json", "the file that sandboxes, containers and images are kept in")
	flag.Parse()

	store, err := OpenStore(*state)
	if err != nil {
		log.Fatal(err)
	}
	door := NewDoor(*listen, NewServer(store))
	if err := door.Open(); err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr:              *control,
		Handler:           NewControl(store, door),
		ReadHeaderTimeout: 10 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}

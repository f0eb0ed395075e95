package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NewControl is what a test talks to:
//
//	GET  /state                       sandboxes, containers and images
//	GET  /calls                       how often each method was asked for
//	PUT  /faults                      replaces all faults (see Faults)
//	POST /reboot                      nothing runs any more, as after a restart of the machine
//	POST /containers/{name}/exit?code a container's program ends by itself
func NewControl(store *Store, door *Door) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, store.Read(func(c *Contents) error { return json.NewEncoder(w).Encode(c) }))
	})
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, json.NewEncoder(w).Encode(door.Calls()))
	})
	mux.HandleFunc("PUT /faults", func(w http.ResponseWriter, r *http.Request) {
		faults, err := ReadFaults(r.Body)
		if err != nil {
			answer(w, status.Errorf(codes.InvalidArgument, "faults: %v", err))
			return
		}
		answer(w, door.Misbehave(faults))
	})
	mux.HandleFunc("POST /reboot", func(w http.ResponseWriter, _ *http.Request) { answer(w, store.Reboot()) })
	mux.HandleFunc("POST /containers/{name}/exit", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.ParseInt(r.URL.Query().Get("code"), 10, 32)
		if err != nil {
			answer(w, status.Errorf(codes.InvalidArgument, "code: %v", err))
			return
		}
		answer(w, store.Exit(r.PathValue("name"), int32(code)))
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err == nil {
		return
	}
	code := http.StatusInternalServerError
	switch status.Code(err) {
	case codes.InvalidArgument:
		code = http.StatusBadRequest
	case codes.NotFound:
		code = http.StatusNotFound
	}
	w.WriteHeader(code)
	fmt.Fprintln(w, err)
}

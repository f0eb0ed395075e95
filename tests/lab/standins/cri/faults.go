package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// everyMethod stands in Faults for all methods that are not named.
const everyMethod = "*"

// Faults is what the runtime was told to do wrong. The zero value is a runtime in good health.
type Faults struct {
	Down   bool                  `json:"down"`   // connections are ended and refused
	Delays map[string]float64    `json:"delays"` // seconds by method, before anything else is done
	Errors map[string]codes.Code `json:"errors"` // by method, in place of an answer
}

// ReadFaults reads Faults and refuses what would never have an effect: a misspelt method is a test that proves nothing.
func ReadFaults(from io.Reader) (Faults, error) {
	var faults Faults
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&faults); err != nil {
		return Faults{}, err
	}
	known := methods()
	for _, named := range slices.Concat(slices.Collect(maps.Keys(faults.Delays)), slices.Collect(maps.Keys(faults.Errors))) {
		if named != everyMethod && !slices.Contains(known, named) {
			return Faults{}, fmt.Errorf("CRI has no method %q", named)
		}
	}
	return faults, nil
}

func methods() []string {
	var names []string
	for _, service := range []grpc.ServiceDesc{v1.RuntimeService_ServiceDesc, v1.ImageService_ServiceDesc} {
		for _, method := range service.Methods {
			names = append(names, method.MethodName)
		}
	}
	return names
}

func named[V any](table map[string]V, method string) (V, bool) {
	if value, ok := table[method]; ok {
		return value, true
	}
	value, ok := table[everyMethod]
	return value, ok
}

// Door is where kubelets come in: it counts what they ask, and does to them what it was told.
type Door struct {
	address string
	service *Server

	mutex  sync.Mutex
	faults Faults
	calls  map[string]int
	server *grpc.Server
}

func NewDoor(address string, service *Server) *Door {
	return &Door{address: address, service: service, calls: map[string]int{}}
}

// Open begins to listen; an open door stays as it is.
func (d *Door) Open() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(d.pass))
	v1.RegisterRuntimeServiceServer(server, d.service)
	v1.RegisterImageServiceServer(server, d.service)
	d.server = server
	go func() { _ = server.Serve(listener) }() // it ends when the door is closed, and says no more than that
	return nil
}

// Close ends every connection and refuses new ones.
func (d *Door) Close() {
	d.mutex.Lock()
	server := d.server
	d.server = nil
	d.mutex.Unlock()
	if server != nil {
		server.Stop() // waits for the calls under way, which want the mutex
	}
}

// Misbehave replaces all faults by these.
func (d *Door) Misbehave(faults Faults) error {
	d.mutex.Lock()
	d.faults = faults
	d.mutex.Unlock()
	if faults.Down {
		d.Close()
		return nil
	}
	return d.Open()
}

// Calls says how often each method was asked for since the program was started.
func (d *Door) Calls() map[string]int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return maps.Clone(d.calls)
}

func (d *Door) pass(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := path.Base(info.FullMethod)
	d.mutex.Lock()
	d.calls[method]++
	delay, _ := named(d.faults.Delays, method)
	code, _ := named(d.faults.Errors, method)
	d.mutex.Unlock()

	select {
	case <-time.After(time.Duration(delay * float64(time.Second))):
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if code != codes.OK {
		return nil, status.Errorf(code, "%s fails because the runtime was told so", method)
	}
	return handle(ctx, request)
}

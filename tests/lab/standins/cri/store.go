package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Kept is a protocol message as it stands in the state file: encoding/json alone would get enums and oneofs wrong.
type Kept[T any, M interface {
	*T
	proto.Message
}] struct{ Message M }

func (k Kept[T, M]) MarshalJSON() ([]byte, error) { return protojson.Marshal(k.Message) }

func (k *Kept[T, M]) UnmarshalJSON(data []byte) error {
	k.Message = new(T)
	return protojson.Unmarshal(data, k.Message)
}

type Sandbox struct {
	ID             string                                          `json:"id"`
	Config         Kept[v1.PodSandboxConfig, *v1.PodSandboxConfig] `json:"config"`
	RuntimeHandler string                                          `json:"runtime_handler"`
	CreatedAt      int64                                           `json:"created_at"`
	Ready          bool                                            `json:"ready"`
	IP             string                                          `json:"ip"`
}

type Container struct {
	ID         string                                        `json:"id"`
	SandboxID  string                                        `json:"sandbox_id"`
	Config     Kept[v1.ContainerConfig, *v1.ContainerConfig] `json:"config"`
	ImageID    string                                        `json:"image_id"`
	State      v1.ContainerState                             `json:"state"`
	CreatedAt  int64                                         `json:"created_at"`
	StartedAt  int64                                         `json:"started_at"`
	FinishedAt int64                                         `json:"finished_at"`
	ExitCode   int32                                         `json:"exit_code"`
	Reason     string                                        `json:"reason"`
}

type Image struct {
	ID       string   `json:"id"`
	Names    []string `json:"names"`
	PulledAt int64    `json:"pulled_at"`
}

// Contents is all that the runtime knows, as it stands in the state file.
type Contents struct {
	PodCIDR     string                `json:"pod_cidr"`
	LastAddress string                `json:"last_address"`
	Sandboxes   map[string]*Sandbox   `json:"sandboxes"`
	Containers  map[string]*Container `json:"containers"`
	Images      map[string]*Image     `json:"images"`
}

// Store keeps Contents in memory and in a file. A change that the file does not have yet was never answered, so that
// the runtime can be killed at any moment.
type Store struct {
	mutex    sync.Mutex
	path     string
	contents Contents
}

func OpenStore(path string) (*Store, error) {
	store := &Store{path: path}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(data, &store.contents); err != nil {
			return nil, fmt.Errorf("the state file %s is damaged (remove it to start afresh): %w", path, err)
		}
	}
	store.contents.fill()
	return store, nil
}

func (c *Contents) fill() {
	if c.PodCIDR == "" {
		// What a runtime uses until the kubelet has told it the node's pod CIDR.
		c.PodCIDR = "10.88.0.0/16"
	}
	if c.Sandboxes == nil {
		c.Sandboxes = map[string]*Sandbox{}
	}
	if c.Containers == nil {
		c.Containers = map[string]*Container{}
	}
	if c.Images == nil {
		c.Images = map[string]*Image{}
	}
}

// Read runs look with the contents held still.
func (s *Store) Read(look func(*Contents) error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return look(&s.contents)
}

// Change runs change and keeps what it left. A change that fails must have changed nothing.
func (s *Store) Change(change func(*Contents) error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := change(&s.contents); err != nil {
		return err
	}
	return s.save()
}

func (s *Store) save() error {
	data, err := json.MarshalIndent(&s.contents, "", " ")
	if err != nil {
		return err
	}
	unfinished := s.path + ".new"
	if err := os.WriteFile(unfinished, data, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, s.path)
}

// Reboot is what a runtime finds after its machine was restarted: nothing runs any more, and no exit code is known.
func (s *Store) Reboot() error {
	return s.Change(func(c *Contents) error {
		for _, sandbox := range c.Sandboxes {
			sandbox.Ready = false
		}
		for _, container := range c.Containers {
			container.exit(255, "Unknown")
		}
		return nil
	})
}

// Exit ends the running containers of a name, as if their program had ended by itself.
func (s *Store) Exit(name string, code int32) error {
	return s.Change(func(c *Contents) error {
		found := false
		for _, container := range c.Containers {
			if container.Config.Message.GetMetadata().GetName() == name && container.running() {
				container.exit(code, reasonFor(code))
				found = true
			}
		}
		if !found {
			return status.Errorf(codes.NotFound, "no running container is called %q", name)
		}
		return nil
	})
}

func (c *Container) running() bool { return c.State == v1.ContainerState_CONTAINER_RUNNING }

func (c *Container) exit(code int32, reason string) {
	if !c.running() {
		return
	}
	c.State = v1.ContainerState_CONTAINER_EXITED
	c.FinishedAt = now()
	c.ExitCode = code
	c.Reason = reason
}

func reasonFor(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}

// containersOf lists the containers of a sandbox.
func (c *Contents) containersOf(sandbox string) []*Container {
	var found []*Container
	for _, container := range c.Containers {
		if container.SandboxID == sandbox {
			found = append(found, container)
		}
	}
	return found
}

func (c *Contents) sandbox(id string) (*Sandbox, error) {
	sandbox, ok := c.Sandboxes[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no sandbox %q", id)
	}
	return sandbox, nil
}

func (c *Contents) container(id string) (*Container, error) {
	container, ok := c.Containers[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no container %q", id)
	}
	return container, nil
}

// image finds an image by its id or by any name that it was pulled under; nil is an answer, not a failure, in CRI.
func (c *Contents) image(reference string) *Image {
	if image, ok := c.Images[reference]; ok {
		return image
	}
	for _, image := range c.Images {
		if slices.Contains(image.Names, normal(reference)) {
			return image
		}
	}
	return nil
}

// nextAddress gives the address after the last one given, beginning again where the pod CIDR is used up.
func (c *Contents) nextAddress() (string, error) {
	prefix, err := netip.ParsePrefix(c.PodCIDR)
	if err != nil {
		return "", status.Errorf(codes.FailedPrecondition, "pod CIDR %q: %v", c.PodCIDR, err)
	}
	used := map[string]bool{}
	for _, sandbox := range c.Sandboxes {
		if sandbox.Ready {
			used[sandbox.IP] = true
		}
	}
	// The network's first address is its name, and the second its gateway.
	first := prefix.Masked().Addr().Next().Next()
	address, err := netip.ParseAddr(c.LastAddress)
	if err != nil || !prefix.Contains(address) {
		address = first.Prev()
	}
	for range len(used) + 1 {
		address = address.Next()
		if !prefix.Contains(address) {
			address = first
		}
		if !used[address.String()] {
			c.LastAddress = address.String()
			return c.LastAddress, nil
		}
	}
	return "", status.Errorf(codes.ResourceExhausted, "pod CIDR %s has no free address", c.PodCIDR)
}

// normal gives a reference the tag that it means, so that "a" and "a:latest" are one image.
func normal(reference string) string {
	last := reference[strings.LastIndex(reference, "/")+1:]
	if strings.ContainsAny(last, ":@") {
		return reference
	}
	return reference + ":latest"
}

func imageID(reference string) string {
	sum := sha256.Sum256([]byte(normal(reference)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func newID() string {
	var id [32]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(id[:])
}

func now() int64 { return time.Now().UnixNano() }
